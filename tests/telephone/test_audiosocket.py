"""Asterisk's AudioSocket, by a peer written from its document: it sends 20 ms at a time, and plays what it is sent at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from tests.server_process import complaints
from tests.telephone.conftest import EchoServer
from tests.telephone.sip_parts import until
from tests.telephone.test_streams import fill, loud, peak_hz, tone
from voiceagent.errors import ConfigError, MediaError
from voiceagent.server.http.app import CALLS, DRAINING, READINESS
from voiceagent.settings.telephone import AudioSocket
from voiceagent.telephone.application import ASTERISK
from voiceagent.telephone.streams import audiosocket as audiosocket_server
from voiceagent.telephone.streams.audiosocket import AudioSocketServer, AudioSocketStream, FrameKind
from voiceagent.telephone.streams.vendors import StreamLimits

CALL = uuid.UUID("12345678-1234-5678-1234-567812345678")


def frame(kind: int, payload: bytes = b"") -> bytes:
    return struct.pack(">BH", kind, len(payload)) + payload


class Asterisk:
    """One call."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: int) -> None:
        self.reader, self.writer, self.kind = reader, writer, kind
        self.rate_hz = {0x10: 8_000, 0x12: 16_000, 0x13: 24_000}[kind]
        self.microphone = np.zeros(0, np.int16)
        self.heard: list[np.ndarray] = []
        self.arrived: list[float] = []
        self.sizes: set[int] = set()
        self.hung_up = False
        self.changed = asyncio.Event()

    async def speak(self) -> None:
        loop, size = asyncio.get_running_loop(), self.rate_hz // 50
        due = loop.time()
        while True:
            piece, self.microphone = self.microphone[:size], self.microphone[size:]
            self.writer.write(frame(self.kind, np.pad(piece, (0, size - len(piece))).astype("<i2").tobytes()))
            due += 0.02
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def listen(self) -> None:
        while True:
            kind, length = struct.unpack(">BH", await self.reader.readexactly(3))
            payload = await self.reader.readexactly(length)
            if kind == 0:
                self.hung_up = True
            else:
                assert kind == self.kind
                self.sizes.add(length)
                self.heard.append(np.frombuffer(payload, "<i2"))
                self.arrived.append(asyncio.get_running_loop().time())
            self.changed.set()

    async def wait(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(6):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    @property
    def pcm(self) -> np.ndarray:
        return np.concatenate([np.zeros(0, np.int16), *self.heard])


@asynccontextmanager
async def asterisk(echo: EchoServer, kind: int = 0x10) -> AsyncIterator[Asterisk]:
    reader, writer = await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port)
    peer = Asterisk(reader, writer, kind)
    writer.write(frame(1, CALL.bytes))
    jobs = [asyncio.create_task(peer.speak()), asyncio.create_task(peer.listen())]
    try:
        yield peer
    finally:
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)
        writer.close()


@pytest.mark.parametrize("kind", [0x10, 0x12, 0x13])
async def test_a_tone_goes_to_the_agent_and_comes_back_at_the_pace_of_the_clock(echo: EchoServer, kind: int) -> None:
    async with asterisk(echo, kind) as peer:
        peer.microphone = tone(440, peer.rate_hz, 1.0)
        await peer.wait(lambda: len(loud(peer.pcm)) >= 0.98 * peer.rate_hz)
    assert abs(peak_hz(loud(peer.pcm), peer.rate_hz) - 440) < 3
    assert peer.sizes == {peer.rate_hz // 25}
    assert np.median(np.diff(peer.arrived)) == pytest.approx(0.02, abs=0.004)
    assert echo.calls[0].leg.facts.vendors_id == str(CALL)


async def test_keys_are_typed_and_what_was_sent_is_heard_by_the_clock(echo: EchoServer) -> None:
    echo.echoes = False
    async with asterisk(echo) as peer:
        await echo.begun.wait()
        for key in b"42#":
            peer.writer.write(frame(3, bytes([key])))
        call = echo.calls[0]
        call.say(tone(440, 24_000, 0.5))
        began = asyncio.get_running_loop().time()
        while (2, 0, 500.0) not in call.sent or len(call.typed) < 3:
            assert asyncio.get_running_loop().time() < began + 5
            await asyncio.sleep(0.01)
        assert asyncio.get_running_loop().time() - began >= 0.4, "not before it can have been played"
    assert json.loads(call.typed[1])["item"]["content"][0]["text"] == "42"
    assert call.leg.counters["marks_missing"] == 0


async def test_asterisks_hang_up_ends_the_call_and_ours_is_told(echo: EchoServer) -> None:
    async with asterisk(echo) as peer:
        await echo.begun.wait()
        peer.writer.write(frame(0))
        await echo.app[CALLS].over()
    assert echo.calls[0].ended == "hangup"
    echo.begun.clear()
    async with asterisk(echo) as peer:
        await echo.begun.wait()
        echo.calls[1].hang_up("farewell")
        await peer.wait(lambda: peer.hung_up)
    await echo.app[CALLS].over()
    assert echo.calls[1].ended == "farewell"


@pytest.mark.parametrize(
    ("code", "ended", "said"),
    [(1, "hangup", ""), (2, "lost", "a frame could not be forwarded"), (9, "lost", "an error of code 0x09")],
)
async def test_an_error_that_asterisk_tells_is_logged_unless_it_is_a_hang_up(
    echo: EchoServer, code: int, ended: str, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with asterisk(echo) as peer:
        await echo.begun.wait()
        peer.writer.write(frame(0xFF, bytes([code])))
        await echo.app[CALLS].over()
    assert echo.calls[0].ended == ended
    told = [record.getMessage() for record in caplog.records if "ended by its peer" in record.getMessage()]
    assert told == ([f"a telephone call was ended by its peer: {said}"] if said else [])


class Held:
    """Keeps a call waiting for its place."""

    def __init__(self, echo: EchoServer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.let_in = asyncio.Event()
        self.waits = asyncio.Event()
        self.is_there: Callable[[], bool] = lambda: True
        self.frames_read = 0
        admission = echo.app[CALLS]._admission
        admit, read = admission.admit, audiosocket_server._frame

        async def held(is_there: Callable[[], bool], *counts: Any, **kind: Any) -> None:
            self.is_there = is_there
            self.waits.set()
            await self.let_in.wait()
            await admit(is_there, *counts, **kind)

        async def counted(reader: asyncio.StreamReader) -> bytes:
            found = await read(reader)
            self.frames_read += 1
            return found

        monkeypatch.setattr(admission, "admit", held)
        monkeypatch.setattr(audiosocket_server, "_frame", counted)


async def test_what_is_said_while_a_call_waits_for_its_place_is_left_out(
    echo: EchoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(echo, monkeypatch)
    _, writer = await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port)
    writer.write(frame(1, CALL.bytes) + frame(0x10, bytes(320)))
    await held.waits.wait()
    before = held.frames_read
    for _ in range(1500):  # half a minute: more than a call may send at once
        writer.write(frame(0x10, np.full(160, 8_000, "<i2").tobytes()))
    await until(lambda: held.frames_read == before + 1500)
    held.let_in.set()
    await echo.begun.wait()
    for _ in range(20):
        writer.write(frame(0x10, np.full(160, 2_000, "<i2").tobytes()))
    call = echo.calls[0]
    await until(lambda: any(pcm.max() > 1_500 for pcm in call.heard))
    assert max(pcm.max() for pcm in call.heard) < 4_000
    writer.close()
    await echo.app[CALLS].over()
    assert call.ended == "hangup"


@pytest.mark.parametrize("how", ["a frame", "the connection's end"])
async def test_a_caller_who_hangs_up_while_the_call_waits_takes_no_place(
    echo: EchoServer, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(echo, monkeypatch)
    reader, writer = await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port)
    writer.write(frame(1, CALL.bytes) + frame(0x10, bytes(320)))
    await held.waits.wait()
    assert held.is_there()
    if how == "a frame":
        writer.write(frame(0))
    else:
        writer.write_eof()
    await until(lambda: not held.is_there())
    held.let_in.set()
    async with asyncio.timeout(5):
        await reader.read()
    writer.close()
    assert not echo.calls
    assert echo.app[CALLS]._admission._admitted == 0


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (frame(0x10, bytes(320)), "its first frame is of type 0x10; expected the call's id (0x01)"),
        (frame(1, b"short"), "an id of 5 bytes; expected a UUID of 16"),
        (frame(1, CALL.bytes) + frame(0x11, bytes(480)), "a frame of type 0x11; expected audio of 8, 16 or 24 kHz"),
        (b"\x01\xff\xff", "a frame of 65535 bytes; expected at most 8192"),
    ],
)
async def test_a_connection_that_begins_wrong_is_closed_in_one_line(
    echo: EchoServer, sent: bytes, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port)
    writer.write(sent)
    assert await reader.read() == frame(0)
    writer.close()
    (line,) = complaints(caplog)
    assert said in line
    assert not echo.calls
    async with asterisk(echo):
        await echo.begun.wait()


@pytest.mark.parametrize("limits", [StreamLimits(send_s=0.3, close_s=0.3)], ids=["impatient"])
async def test_a_connection_that_is_not_read_is_closed_all_the_same(echo: EchoServer) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port, limit=1024)
    writer.write(frame(1, CALL.bytes) + frame(0x10, bytes(320)))
    await echo.begun.wait()
    call = echo.calls[0]
    with pytest.raises((ConnectionError, TimeoutError)):
        await fill(call.leg)
    call.hang_up("farewell")
    writer.write(frame(0x10, bytes(320)))
    await echo.app[CALLS].over()
    wire: Any = call.leg._wire
    async with asyncio.timeout(3):
        with contextlib.suppress(ConnectionError):
            await wire._writer.wait_closed()
    writer.close()


async def test_draining_waits_for_a_call_that_is_about_to_begin(echo: EchoServer) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port)
    writer.write(frame(1, CALL.bytes))
    draining = echo.app[DRAINING]
    await until(lambda: draining._offers > 0)
    draining.begin()
    drained = asyncio.create_task(draining.wait())
    await asyncio.wait((drained,), timeout=0.1)
    assert not drained.done()
    writer.write(frame(0x10, bytes(320)))
    await echo.begun.wait()
    assert not drained.done()
    writer.close()
    await asyncio.wait_for(drained, 5)
    assert echo.calls[0].ended == "hangup"


async def test_a_server_that_drains_takes_no_call_of_asterisk_and_counts_that(echo: EchoServer) -> None:
    echo.app[DRAINING].begin()
    reader, writer = await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port)
    assert await reader.read() == frame(0)
    writer.close()
    assert not echo.calls
    assert echo.app[CALLS].metrics.calls_refused == {"draining": 1}


async def test_no_call_begins_at_a_listener_that_is_closed(echo: EchoServer) -> None:
    settings = AudioSocket("127.0.0.1", 0)
    listener = AudioSocketServer(settings, echo.app[CALLS], echo.app[DRAINING], echo.app[READINESS].start_call)
    async with listener.open():
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        await until(lambda: echo.app[DRAINING]._offers > 0)
    async with asyncio.timeout(5):
        assert await reader.read() == frame(0)
    writer.close()
    assert not listener._starting
    assert not echo.calls


@pytest.mark.parametrize("limits", [StreamLimits(starting=3)], ids=["few"])
async def test_connections_that_say_nothing_take_no_place_and_their_number_has_a_limit(
    echo: EchoServer, caplog: pytest.LogCaptureFixture
) -> None:
    admission = echo.app[CALLS]._admission
    silent = [await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port) for _ in range(2)]
    silent[0][1].write(frame(1, CALL.bytes))  # an id alone is no call yet
    await until(lambda: len(echo.app[ASTERISK]._starting) == 2)
    assert admission._admitted == 0
    async with asterisk(echo):
        await echo.begun.wait()
        assert admission._admitted == 1
    silent.append(await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port))
    await until(lambda: len(echo.app[ASTERISK]._starting) == 3)
    reader, writer = await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port)
    assert await reader.read() == frame(0)
    assert "3 others are about to begin" in caplog.text
    for _, one in [*silent, (reader, writer)]:
        one.close()
    await echo.app[CALLS].over()


@pytest.mark.parametrize("limits", [StreamLimits(start_s=0.05)], ids=["impatient"])
async def test_a_connection_that_never_begins_is_closed_and_gives_nothing_back(
    echo: EchoServer, caplog: pytest.LogCaptureFixture
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", echo.app[ASTERISK].port)
    assert await reader.read() == frame(0)
    writer.close()
    assert "it told no id and no audio within 0.05 s" in caplog.text
    assert echo.app[CALLS]._admission._admitted == 0


async def test_a_machine_that_is_not_named_is_refused(echo: EchoServer, caplog: pytest.LogCaptureFixture) -> None:
    settings = AudioSocket("127.0.0.1", 0, ("192.0.2.5",))
    listener = AudioSocketServer(settings, echo.app[CALLS], echo.app[DRAINING], lambda: pytest.fail("it was let in"))
    async with listener.open():
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        assert await reader.read() == frame(0)
        writer.close()
    assert "it is not in telephony.audiosocket_peers" in caplog.text


async def test_a_busy_port_is_one_clear_line(echo: EchoServer) -> None:
    settings = AudioSocket("127.0.0.1", echo.app[ASTERISK].port)
    with pytest.raises(ConfigError, match=r"telephony.audiosocket: cannot listen on 127.0.0.1:\d+ \(.*\); choose another"):
        async with AudioSocketServer(settings, echo.app[CALLS], echo.app[DRAINING], lambda: pytest.fail("it listens")).open():
            pass


def test_another_rate_in_the_middle_of_a_call_is_no_audio() -> None:
    stream = AudioSocketStream(FrameKind.AUDIO_8K)
    with pytest.raises(MediaError, match=r"a frame of type 0x12 in a call of 0x10"):
        stream.read(frame(0x12, bytes(640)))
