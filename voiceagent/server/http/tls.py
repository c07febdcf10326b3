"""TLS by files: the server's certificate, which is read again when its files change, and handshakes. A handshake costs the event
loop a millisecond and waits for its client, so each address gets few, and none holds up the acceptance of others."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509

from voiceagent.errors import ConfigError
from voiceagent.server.http.connection import peer_of
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.task_owner import TaskOwner
from voiceagent.token_bucket import TokenBucket

LOOK_S = 10.0
"""The interval at which the files are looked at."""
SOON = timedelta(days=14)
"""A certificate that ends within this time is reported."""
REMIND_S = 86_400.0
HANDSHAKE_S = 5.0
SHUTDOWN_S = 2.0
MAX_HANDSHAKES = 128
"""Handshakes at a time. One more takes the place of the oldest of the address with most of them."""
HANDSHAKES_PER_S, HANDSHAKES_AT_ONCE = 20.0, 100.0
"""Handshakes of one address; further connections of it are closed unread."""
MAX_PEERS = 1024
_ADVICE = "expected a PEM file, such as certbot's fullchain.pem and privkey.pem"

log = logging.getLogger(__name__)


class Certificate:
    """A certificate and its private key."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read the files. Raises ConfigError."""
        self._files = (certificate, key)
        self._seen = self._state()
        self.context = self._read()
        """The context of new connections. It is replaced when the files change."""
        self._reminded_s = float("-inf")

    def ends(self) -> datetime:
        """The time at which the certificate ends. Raises ConfigError."""
        return _end_of(self._files[0])

    async def watch(self) -> None:
        """Read the files again when they change, for ever."""
        while True:
            await self._remind()
            await asyncio.sleep(LOOK_S)
            await self.look()

    async def look(self) -> None:
        """Read the files if they have changed. Files that cannot be used change nothing, and are logged once."""
        state = await asyncio.to_thread(self._state)
        if state == self._seen:
            return
        self._seen = state
        try:
            self.context = await asyncio.to_thread(self._read)
        except ConfigError as error:
            log.error("the certificate stays as it was: %s", error)
            return
        self._reminded_s = float("-inf")
        log.warning("%s was read again; new connections get this certificate", self._files[0])

    async def _remind(self) -> None:
        now_s = asyncio.get_running_loop().time()
        if now_s - self._reminded_s < REMIND_S:
            return
        self._reminded_s = now_s
        try:
            ends = await asyncio.to_thread(self.ends)
        except ConfigError:
            return  # reported when it was read
        left = ends - datetime.now(UTC)
        if left < SOON:
            day = f"{ends:%Y-%m-%d %H:%M} UTC"
            log.warning(
                "the certificate in %s %s; renew it",
                self._files[0],
                f"ended on {day}" if left < timedelta() else f"ends on {day}",
            )

    def _read(self) -> ssl.SSLContext:
        certificate, key = self._files
        _end_of(certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.set_alpn_protocols(["http/1.1"])
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except ssl.SSLError as error:
            if "MISMATCH" in str(error.reason):
                raise ConfigError(
                    f"{key}: is not the key of the certificate in {certificate}; name the two that belong together"
                ) from error
            raise ConfigError(f"{key}: holds no private key that can be read; {_ADVICE}") from error
        except OSError as error:
            raise _unreadable(key, error) from error
        return context

    def _state(self) -> object:
        return [_file_state(path) for path in self._files]


class Handshakes:
    """Takes accepted sockets to connections, each in a task of its own."""

    def __init__(self, connect: Callable[[socket.socket, ssl.SSLContext], Awaitable[object]], metrics: Metrics) -> None:
        self._connect = connect
        self._metrics = metrics
        self._tasks = TaskOwner()
        self._by_peer: dict[str, dict[asyncio.Task[None], None]] = {}
        """The handshakes of each address, in the order in which they began."""
        self._count = 0
        self._begun: OrderedDict[str, TokenBucket] = OrderedDict()

    def begin(self, connection: socket.socket, address: object, context: ssl.SSLContext) -> None:
        """Begin the handshake of a connection, or close it if its address begins too many."""
        peer = peer_of(address)
        if not self._bucket(peer).take(1.0, asyncio.get_running_loop().time()):
            self._metrics.connections_let_go.add("too_many_handshakes")
            connection.close()
            return
        if self._count >= MAX_HANDSHAKES:
            crowded = max(self._by_peer, key=lambda each: len(self._by_peer[each]))
            next(iter(self._by_peer[crowded])).cancel()
        task = self._tasks.start(self._shake_hands(connection, context), "tls handshake")
        self._by_peer.setdefault(peer, {})[task] = None
        self._count += 1
        task.add_done_callback(lambda done: self._over(peer, done))

    async def close(self) -> None:
        """End all handshakes."""
        await self._tasks.close()

    async def _shake_hands(self, connection: socket.socket, context: ssl.SSLContext) -> None:
        try:
            await self._connect(connection, context)
        except (OSError, TimeoutError):  # the client has gone, is slow, or speaks no TLS
            self._metrics.connections_let_go.add("tls_handshake")
            connection.close()
        except asyncio.CancelledError:
            connection.close()
            raise
        except Exception:
            log.exception("a connection could not be taken")
            connection.close()

    def _over(self, peer: str, task: asyncio.Task[None]) -> None:
        self._count -= 1
        tasks = self._by_peer[peer]
        del tasks[task]
        if not tasks:
            del self._by_peer[peer]

    def _bucket(self, peer: str) -> TokenBucket:
        bucket = self._begun.pop(peer, None) or TokenBucket(HANDSHAKES_PER_S, HANDSHAKES_AT_ONCE)
        self._begun[peer] = bucket
        while len(self._begun) > MAX_PEERS:
            self._begun.popitem(last=False)
        return bucket


def certificate_of(certificate: str, key: str, base_dir: Path) -> Certificate | None:
    """The certificate of the settings; None: HTTP without TLS. Without `key`, the file of the certificate holds it, too. Raises
    ConfigError."""
    if key and not certificate:
        raise ConfigError(f"a private key is named ({key}), but no certificate; name it by --tls-cert or http.tls_cert")
    if not certificate:
        return None
    return Certificate(base_dir / certificate, base_dir / (key or certificate))


def _end_of(path: Path) -> datetime:
    """The end of the first certificate in a file. Raises ConfigError."""
    try:
        return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise ConfigError(f"{path}: holds no certificate that can be read; {_ADVICE}") from error


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{path}: cannot be read ({error.strerror}); {_ADVICE}, readable by the server's user")


def _no_password() -> bytes:
    raise ConfigError("the private key is locked with a passphrase; write it without one: openssl pkey -in KEY -out NEW")


def _file_state(path: Path) -> object:
    try:
        status = path.stat()
    except OSError as error:
        return error.errno
    return status.st_mtime_ns, status.st_ino, status.st_size
