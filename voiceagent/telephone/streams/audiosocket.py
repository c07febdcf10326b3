"""A TCP listener for calls of Asterisk's AudioSocket. AudioSocket has no keys. It listens on loopback, or takes calls only from
the addresses that are configured."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from voiceagent.errors import ConfigError, MediaError
from voiceagent.server.calls.calls import Calls, StartCall
from voiceagent.server.calls.draining import Draining
from voiceagent.server.calls.quotas import Client
from voiceagent.server.http.problems import Problem
from voiceagent.settings.telephone import AudioSocket
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.messages import CallFacts, Started
from voiceagent.telephone.streams import audiosocket_frames as audiosocket
from voiceagent.telephone.streams.audiosocket_frames import AudioSocketStream, FrameKind
from voiceagent.telephone.streams.stream_leg import StreamLeg
from voiceagent.telephone.streams.stream_limits import STREAM_LIMITS, StreamLimits

log = logging.getLogger(__name__)

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
            server = await asyncio.start_server(self._connected, host, port, limit=audiosocket.MAX_PAYLOAD_BYTES)
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
    head = await reader.readexactly(audiosocket.HEAD_BYTES)
    _, length = audiosocket.head(head)
    return head + await reader.readexactly(length)


async def _beginning(reader: asyncio.StreamReader, timeout_s: float) -> tuple[Started, AudioSocketStream]:
    """The call's id, and its rate, which its first audio reveals. Raises MediaError."""
    try:
        async with asyncio.timeout(timeout_s):
            first = await _frame(reader)
            if first[0] != FrameKind.UUID:
                raise MediaError(f"its first frame is of type 0x{first[0]:02x}; expected the call's id (0x01)")
            facts = CallFacts(vendors_id=audiosocket.call_id(first[audiosocket.HEAD_BYTES :]))
            audio = await _frame(reader)
    except TimeoutError as error:
        raise MediaError(f"it told no id and no audio within {timeout_s:g} s") from error
    return Started(audiosocket.audio_format(audio[0]), facts), AudioSocketStream(FrameKind(audio[0]))


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
            self._writer.write(audiosocket.frame(FrameKind.HANGUP))
            self._writer.close()
            asyncio.get_running_loop().call_later(self._close_s, self._writer.transport.abort)
