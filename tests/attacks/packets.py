"""What attackers on the network and in a call have at hand: a server of media alone, sockets that no one knows, forged packets,
and a caller whose data channel sends what it likes."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psutil
from aioice import stun

from tests.media.conftest import Behaviour, MediaServer, listen

MAX_LOG_BYTES = 10_240


@asynccontextmanager
async def serving(behaviour: Behaviour = listen, **options: Any) -> AsyncIterator[MediaServer]:
    """A server that answers calls with `behaviour`; `options` are those of `WebRtcLeg.answer`."""
    server = MediaServer()
    server.behaviour, server.options = behaviour, options
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


class Log(logging.Handler):
    """All that is logged at INFO or above, as text, tracebacks too; and what asyncio's tasks left unhandled."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text += logging.Formatter().format(record) + "\n"


@contextmanager
def short_log() -> Iterator[Log]:
    """Within it no more may be logged than `MAX_LOG_BYTES` by libraries at WARNING and us at INFO, and no traceback."""
    log = Log()
    root, ours = logging.getLogger(), logging.getLogger("voiceagent")
    levels = root.level, ours.level
    root.addHandler(log)
    root.setLevel(logging.WARNING)
    ours.setLevel(logging.INFO)
    try:
        yield log
    finally:
        root.removeHandler(log)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
    assert "Traceback" not in log.text, log.text[:5000]
    assert len(log.text.encode()) <= MAX_LOG_BYTES, log.text[:5000]


def record(kind: int, body: bytes, *, epoch: int = 0, version: int = 0xFEFD, number: int = 0) -> bytes:
    """A DTLS record (RFC 6347 §4.1)."""
    return struct.pack("!BHHHIH", kind, version, epoch, 0, number, len(body)) + body


def handshake(kind: int, body: bytes) -> bytes:
    """A DTLS record with one handshake message (RFC 6347 §4.2.2)."""
    size = len(body).to_bytes(3, "big")
    return record(22, bytes([kind]) + size + b"\0\0" + b"\0\0\0" + size + body, version=0xFEFF)


CLIENT_HELLO = handshake(1, b"\xfe\xfd" + bytes(32) + b"\0\0" + b"\0\x02\xc0\x2b" + b"\x01\0")
SERVER_HELLO = handshake(2, b"\xfe\xfd" + bytes(32) + b"\0\xc0\x2b\0")
FATAL_ALERT = record(21, b"\x02\x28")
CLOSE_NOTIFY = record(21, b"\x01\0")
CHANGE_CIPHER_SPEC = record(20, b"\x01")
FORGED_RECORDS = {
    "client hello": CLIENT_HELLO,
    "fatal alert": FATAL_ALERT,
    "close_notify": CLOSE_NOTIFY,
    "close_notify later": record(21, b"\x01\0", number=9),
    "fatal alert, encrypted": record(21, bytes(32), epoch=1),
    "change cipher spec": CHANGE_CIPHER_SPEC,
    "application data in clear": record(23, b"hello"),
    "garbage in a handshake record": record(22, bytes(range(40))),
    "a message of no known type": handshake(99, bytes(8)),
    "a message beyond its length": record(22, b"\x0b\0\0\x04\0\0\0\0\x09\0\0\x04" + bytes(4)),
    "cut short": CLIENT_HELLO[:20],
    "an empty record": record(22, b""),
    "of no known version": record(22, bytes(16), version=0x0303),
}


def stun_request(username: str, password: str) -> bytes:
    """A connectivity check signed with `password`."""
    message = stun.Message(stun.Method.BINDING, stun.Class.REQUEST)
    message.attributes.update({"USERNAME": username, "PRIORITY": 1, "ICE-CONTROLLING": 1, "USE-CANDIDATE": None})
    message.add_message_integrity(password.encode())
    return bytes(message)


def stun_with(attribute: int, value: bytes) -> bytes:
    """A STUN request that has one attribute."""
    body = struct.pack("!HH", attribute, len(value)) + value + bytes(-len(value) % 4)
    return struct.pack("!HHI12s", 1, len(body), 0x2112A442, b"x" * 12) + body


def foreign_packet(chance: random.Random) -> bytes:
    """A packet as someone sends who knows nothing of the call but its port."""
    noise = chance.randbytes(chance.choice((1, 3, 19, 20, 28, 60, 200, 1200)))
    length = struct.pack("!HHI", chance.choice((1, 0x101, 0x111)), chance.choice((0, 4, 8, 65_535)), 0x2112A442)
    return chance.choice(
        (
            b"",
            *FORGED_RECORDS.values(),
            SERVER_HELLO,
            noise,
            length + chance.randbytes(12) + noise[:8],
            stun_with(chance.choice((0x0006, 0x0008, 0x0009, 0x0020, 0x0024, 0x8028, 0x802A)), noise[: chance.randrange(9)]),
            stun_request("a:b", "c" * 22),
            bytes([chance.randrange(4)]) + noise,
            bytes([0x80, 111]) + noise,  # RTP
            bytes([0x81, 201]) + noise,  # RTCP
            bytes([chance.randrange(64, 80)]) + noise,  # TURN's channels
        )
    )


class Foreigners:
    """Sends foreign packets to every UDP port of a process, from sockets of its own, until it is left."""

    def __init__(self, pid: int, seed: int) -> None:
        self.sent = 0
        self._process = psutil.Process(pid)
        self._chance = random.Random(seed)
        self._done = threading.Event()
        self._sockets = [socket.socket(family, socket.SOCK_DGRAM) for family in (socket.AF_INET, socket.AF_INET6)]
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Foreigners:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()
        for one in self._sockets:
            one.close()

    def _run(self) -> None:
        own = {one.fileno() for one in self._sockets}
        while not self._done.wait(0.001) and self.sent < 100_000:
            for port in self._process.net_connections("udp"):
                if (port.fd in own and self._process.pid == psutil.Process().pid) or not port.laddr:
                    continue
                sender = self._sockets[port.family == socket.AF_INET6]
                try:
                    sender.sendto(foreign_packet(self._chance), tuple(port.laddr))
                except OSError:
                    continue  # link-local ports want a scope; others close meanwhile
                self.sent += 1


async def unhandled_errors() -> list[dict[str, Any]]:
    """What asyncio finds no one to tell, from now on."""
    errors: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
    return errors
