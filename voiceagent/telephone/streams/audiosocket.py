"""Asterisk's AudioSocket: frames of a type, a length and a payload, over TCP. Asterisk plays audio as it comes, so we send it
at the pace of the clock. Asterisk does not report what it played and cannot drop it, so we send little ahead. AudioSocket has
no keys. The listener is on loopback, or takes calls only from the addresses that are configured."""

from __future__ import annotations

import asyncio
import logging
import struct
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from enum import IntEnum

from typing_extensions import override

from voiceagent.errors import ConfigError, MediaError
from voiceagent.server.calls.calls import Calls, StartCall
from voiceagent.server.calls.draining import Draining
from voiceagent.server.calls.quotas import Client
from voiceagent.server.http.problems import Problem
from voiceagent.settings.telephone import AudioSocket
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.messages import Audio, AudioFormat, CallFacts, Encoding, Message, Other, Started, Stopped, Stream
from voiceagent.telephone.streams.dialects import digit
from voiceagent.telephone.streams.stream_leg import StreamLeg
from voiceagent.telephone.streams.vendors import STREAM_LIMITS, StreamLimits

log = logging.getLogger(__name__)


# --- frames -----------------------------------------------------------------------------------------------------------

HEAD_BYTES = 3
MAX_PAYLOAD_BYTES = 8_192
"""A quarter of a second at 16 kHz; Asterisk sends 20 ms."""


class FrameKind(IntEnum):
    """A frame's type."""

    HANGUP = 0x00
    UUID = 0x01
    DTMF = 0x03
    AUDIO_8K = 0x10
    AUDIO_16K = 0x12
    AUDIO_24K = 0x13
    ERROR = 0xFF


HUNG_UP = 0x01
PROBLEMS = {0x02: "a frame could not be forwarded", 0x04: "it is out of memory"}
"""The codes of an error frame."""
RATES_HZ: dict[int, int] = {FrameKind.AUDIO_8K: 8_000, FrameKind.AUDIO_16K: 16_000, FrameKind.AUDIO_24K: 24_000}


def head(data: bytes) -> tuple[int, int]:
    """The type and the payload's length of a frame's first three bytes. Raises MediaError for one that is too long."""
    kind, length = struct.unpack(">BH", data)
    if length > MAX_PAYLOAD_BYTES:
        raise MediaError(f"a frame of {length} bytes; expected at most {MAX_PAYLOAD_BYTES}")
    return kind, length


def frame(kind: FrameKind, payload: bytes = b"") -> bytes:
    """One frame as bytes."""
    return struct.pack(">BH", kind, len(payload)) + payload


def problem(payload: bytes) -> str:
    """The text of an error frame. Empty if the caller hung up, which is one of its codes."""
    code = payload[0] if payload else 0
    return "" if code == HUNG_UP else PROBLEMS.get(code, f"an error of code 0x{code:02x}")


def call_id(payload: bytes) -> str:
    """The id that the dialplan gave the call. Raises MediaError if it is no UUID."""
    if len(payload) != 16:
        raise MediaError(f"an id of {len(payload)} bytes; expected a UUID of 16")
    return str(uuid.UUID(bytes=payload))


def audio_format(kind: int) -> AudioFormat:
    """The format of an audio frame. Raises MediaError for an unknown type."""
    rate_hz = RATES_HZ.get(kind)
    if rate_hz is None:
        raise MediaError(f"a frame of type 0x{kind:02x}; expected audio of 8, 16 or 24 kHz (0x10, 0x12, 0x13)")
    return AudioFormat(Encoding.L16, rate_hz)


class AudioSocketStream(Stream):
    """One call's frames, whole. AudioSocket has no marks, and cannot drop what was sent. Pure."""

    def __init__(self, kind: FrameKind) -> None:
        """`kind` is the type of audio frames in both directions."""
        self._kind = kind

    @override
    def read(self, message: str | bytes) -> Message:
        assert isinstance(message, bytes)
        kind, payload = message[0], message[HEAD_BYTES:]
        if kind == self._kind:
            return Audio(payload, None)
        if kind == FrameKind.DTMF:
            return digit(payload.decode("ascii", errors="replace"))
        if kind == FrameKind.HANGUP:
            return Stopped()
        if kind == FrameKind.ERROR:
            return Stopped(problem(payload))
        if kind in RATES_HZ:
            raise MediaError(f"a frame of type 0x{kind:02x} in a call of 0x{self._kind:02x}; expected one rate for all of it")
        return Other()

    @override
    def audio(self, payload: bytes) -> str | bytes:
        return frame(self._kind, payload)


# --- the listener -----------------------------------------------------------------------------------------------------

CLIENT = Client("telephone asterisk", is_telephone=True)


class AudioSocketServer:
    """Takes connections while it is open."""

    def __init__(
        self,
        settings: AudioSocket,
        calls: Calls,
        draining: Draining,
        start_call: Callable[[], StartCall],
        limits: StreamLimits = STREAM_LIMITS,
    ) -> None:
        """`start_call` raises Problem while the engines are not there."""
        self.port = 0
        """The port on which it listens."""
        self._settings = settings
        self._calls = calls
        self._draining = draining
        self._start_call = start_call
        self._limits = limits
        self._starting: dict[asyncio.Task[object], _Wire] = {}
        """The connections whose calls have not begun."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Listen. Raises ConfigError if that is not possible."""
        host, port = self._settings.host, self._settings.port
        try:
            server = await asyncio.start_server(self._connected, host, port, limit=MAX_PAYLOAD_BYTES)
        except OSError as error:
            raise ConfigError(
                f"telephony.audiosocket: cannot listen on {host}:{port} ({error.strerror}); choose another address"
            ) from error
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            server.close()
            for wire in self._starting.values():
                await wire.close()
            if self._starting:
                await asyncio.wait(tuple(self._starting), timeout=self._limits.close_s)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = str((writer.get_extra_info("peername") or ("",))[0])
        wire = _Wire(writer, self._limits.close_s)
        try:
            if self._settings.peers and peer not in self._settings.peers:
                raise MediaError("it is not in telephony.audiosocket_peers")
            if len(self._starting) >= self._limits.starting:
                raise MediaError(f"{self._limits.starting} others are about to begin")
            await self._carry(reader, wire)
        except (MediaError, Problem) as error:
            log.warning("an AudioSocket call from %s was refused: %s", peer, error)
            if isinstance(error, Problem):
                self._calls.metrics.calls_refused.add(error.code)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            await wire.close()

    async def _carry(self, reader: asyncio.StreamReader, wire: _Wire) -> None:
        caller = _Caller(reader)
        try:
            await self._begin(caller, wire)
            await caller.reading
        finally:
            await caller.close()

    async def _begin(self, caller: _Caller, wire: _Wire) -> None:
        """Begin the call. It takes a place only once its peer has sent an id and audio. Raises MediaError and Problem."""
        task = asyncio.current_task()
        assert task is not None
        self._starting[task] = wire
        try:
            with self._draining.offer():
                start_call = self._start_call()
                started, stream = await _beginning(caller.reader, self._limits.start_s)
                is_awaited = bool(self._draining.reason)  # draining began meanwhile, and waits for this call
                caller.begin()

                async def make_leg() -> StreamLeg:
                    caller.leg = StreamLeg(wire, stream, started, has_marks=False, limits=self._limits)
                    return caller.leg

                def is_there() -> bool:
                    return wire.is_open and not caller.reading.done() and (is_awaited or not self._draining.reason)

                await self._calls.begin(make_leg, {}, start_call, CLIENT, is_there)
        finally:
            del self._starting[task]


class _Caller:
    """The rest of a connection, after its first audio. While the call waits for its place, the audio is read and left out."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.reader = reader
        self.leg: StreamLeg | None = None
        self._tasks = TaskOwner()
        self.reading: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the caller has gone, or the call is over."""

    def begin(self) -> None:
        """Read from now on."""
        self.reading = self._tasks.start(self._read(), "AudioSocket call")

    async def _read(self) -> None:
        try:
            while self.leg is None or not self.leg.end_reason:
                message = await _frame(self.reader)
                if self.leg is not None:
                    self.leg.receive(message)
                elif message[0] in (FrameKind.HANGUP, FrameKind.ERROR):
                    return
        except MediaError as error:
            log.warning("an AudioSocket call was ended: it sent %s", error)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass

    async def close(self) -> None:
        """End the call, if there is one."""
        self.reading.cancel()
        await asyncio.wait((self.reading,))
        if self.leg is not None:
            self.leg.gone()


async def _frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame, whole."""
    start = await reader.readexactly(HEAD_BYTES)
    _, length = head(start)
    return start + await reader.readexactly(length)


async def _beginning(reader: asyncio.StreamReader, timeout_s: float) -> tuple[Started, AudioSocketStream]:
    """The call's id, and its rate, which its first audio reveals. Raises MediaError."""
    try:
        async with asyncio.timeout(timeout_s):
            first = await _frame(reader)
            if first[0] != FrameKind.UUID:
                raise MediaError(f"its first frame is of type 0x{first[0]:02x}; expected the call's id (0x01)")
            facts = CallFacts(vendors_id=call_id(first[HEAD_BYTES:]))
            audio = await _frame(reader)
    except TimeoutError as error:
        raise MediaError(f"it told no id and no audio within {timeout_s:g} s") from error
    return Started(audio_format(audio[0]), facts), AudioSocketStream(FrameKind(audio[0]))


class _Wire:
    """Implements the leg's `Wire`."""

    def __init__(self, writer: asyncio.StreamWriter, close_s: float) -> None:
        self._writer = writer
        self._close_s = close_s

    @property
    def is_open(self) -> bool:
        """True until it is closed."""
        return not self._writer.is_closing()

    async def send(self, message: str | bytes) -> None:
        """Send a frame. Raises ConnectionError when the connection is closed."""
        if self._writer.is_closing():
            raise ConnectionResetError("the connection is closed")
        assert isinstance(message, bytes)
        self._writer.write(message)
        await self._writer.drain()

    async def close(self) -> None:
        """Send the hang-up, and close. May be called twice."""
        if not self._writer.is_closing():
            self._writer.write(frame(FrameKind.HANGUP))
            self._writer.close()
            asyncio.get_running_loop().call_later(self._close_s, self._writer.transport.abort)
