"""The telephone leg: one call's WebSocket to a vendor. The vendor's messages come in through `receive`. Audio goes out at the
pace of the clock, and counts as heard when the vendor's marks say that it was played."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from typing import Protocol

from typing_extensions import override

from voiceagent.audio.format import HEARD_HZ, PLAYED_HZ
from voiceagent.audio.jitter_buffer import CLOCK_HZ
from voiceagent.errors import MediaError
from voiceagent.media.audio_receiver import AudioReceiver
from voiceagent.media.rtp import RtpPacket
from voiceagent.telephone.codec import PhoneDecoder, PhoneEncoder
from voiceagent.telephone.messages import Audio, Digit, Flow, MarkReached, Started, Stopped, Stream
from voiceagent.telephone.phone_leg import NO_TRANSFERS, TRANSFERRED, ColleagueBriefing, PhoneLeg
from voiceagent.telephone.streams.dialects import JsonStream
from voiceagent.telephone.streams.player import MarkLedger, StreamPlayer
from voiceagent.telephone.streams.vendors import STREAM_LIMITS, StreamLimits
from voiceagent.telephone.telephone_events import check_keys
from voiceagent.telephone.transfer.stream_transfers import StreamTransfer
from voiceagent.token_bucket import Meter, TokenBucket

log = logging.getLogger(__name__)


PAUSE_S = 0.5
"""The pause that `w` among keys stands for."""
MAX_MALFORMED = 20
MALFORMED_FORGIVEN_PER_S = 0.1
"""Messages that cannot be read are left out. More than 20 at once, or in the long run more than one in 10 s, end the call."""


class Wire(Protocol):
    """The WebSocket."""

    async def send(self, message: str | bytes) -> None:
        """Send one message; waits where the peer does not read. Raises ConnectionError when it is closed."""
        ...

    async def close(self) -> None:
        """Close it. May be called twice."""
        ...


def messages_meter() -> Meter:
    """The limits of one call, in messages. Audio is 50 messages a second. A network that stalled for 5 s delivers another 250."""
    return Meter(TokenBucket(200.0, 500.0), TokenBucket(100.0, 500.0))


class StreamLeg(PhoneLeg):
    """Implements `Leg`. Made when the vendor's start message has come; `close` frees it."""

    def __init__(
        self,
        wire: Wire,
        stream: Stream,
        started: Started,
        *,
        chunk_frames: int = 1,
        has_marks: bool = True,
        transfer: StreamTransfer | None = None,
        limits: StreamLimits = STREAM_LIMITS,
    ) -> None:
        """`chunk_frames` of 20 ms go out together. Without marks, audio counts as heard when its time is over. Without
        `transfer`, the vendor cannot transfer the call."""
        super().__init__(started.facts)
        self.malformed = 0
        self._transfer = transfer
        self._limits = limits
        self._wire = wire
        self._stream = stream
        decoder = PhoneDecoder(started.format, HEARD_HZ)
        self._receiver = AudioReceiver(HEARD_HZ, self._inbound.put, decoder=decoder)
        self._numbers = _Numbers(decoder)
        encoder = PhoneEncoder(started.format, PLAYED_HZ)
        marks = MarkLedger(come_back=has_marks)
        self._player = StreamPlayer(self.playout, stream, encoder, self._send, marks, chunk_frames, self.cleaner)
        self._meter = messages_meter()
        self._malformed_left = TokenBucket(MALFORMED_FORGIVEN_PER_S, MAX_MALFORMED)
        self._last_s = self._loop.time()
        self._held_s: float | None = None
        """Since when the peer takes no audio."""
        self._tasks.start_alone(self._play(), "telephone stream")
        self._keep_watch()

    def receive(self, message: str | bytes) -> None:
        """Take a message of the vendor. A message that cannot be read is counted, and the first one is logged."""
        if self._end_reason:
            return
        self._last_s = self._loop.time()
        if not self._meter.admit(1.0, self._last_s):
            if self._meter.exhausted:
                self.end("abuse")
            return
        try:
            self._take(message)
        except MediaError as error:
            self._on_malformed(error)

    @property
    def presses_keys(self) -> bool:
        """True if `press` can work."""
        return isinstance(self._stream, JsonStream) and self._stream.presses_keys

    async def press(self, keys: str) -> None:
        """Press keys of the telephone; `w` waits half a second. Raises ValueError for what is none, ConnectionError."""
        check_keys(keys)
        if not isinstance(self._stream, JsonStream):
            return
        for part in re.findall("[wW]|[^wW]+", keys):
            if part in "wW":
                await asyncio.sleep(PAUSE_S)
            else:
                await self._send(self._stream.keys(part))

    @property
    def can_transfer(self) -> bool:
        """See `PhoneLeg`."""
        return self._transfer is not None

    async def transfer(self, name: str, briefing: ColleagueBriefing) -> str:
        """See `PhoneLeg`. A vendor's transfer is blind: the stream ends, and the vendor dials."""
        if self._transfer is None:
            return NO_TRANSFERS
        why = self._transfer.prepare(name, self.facts)
        if not why:
            self.end(TRANSFERRED)
        return why

    def gone(self, *, is_closed: bool = True) -> None:
        """The connection has ended; `is_closed`: the peer closed it, in place of losing it."""
        if not is_closed and not self._end_reason:
            log.warning("a telephone stream broke off: its connection was lost")
        self.end("hangup" if is_closed else "lost")

    @override
    def take_jitter_ms(self) -> tuple[float | None, float | None]:
        return self._receiver.arrivals.take_ms(), None

    @property
    def counters(self) -> dict[str, int]:
        """See `Leg.counters`."""
        marks = self._player.marks
        return {
            **super().counters,
            **self._receiver.counters,
            "packets_refused": self._meter.refusals,
            "packets_malformed": self.malformed,
            "marks_stale": marks.stale,
            "marks_missing": marks.missing,
        }

    async def wait_connected(self) -> bool:
        """It is from the start."""
        return not self._end_reason

    async def close(self) -> None:
        """End the connection and free its tasks. May be called twice."""
        self.end("closed")
        await self._tasks.close()
        if self._end_reason == "closed":
            with contextlib.suppress(ConnectionError, TimeoutError):
                for message in self._stream.hang_up():
                    await self._send(message)
        await self._wire.close()

    def _take(self, message: str | bytes) -> None:
        said = self._stream.read(message)
        match said:
            case Audio():
                packet = self._numbers.packet(said)
                if packet is None:
                    raise MediaError(f"audio of {len(said.payload)} bytes; expected whole samples of at most a second")
                self._receiver.receive(packet)
                if self._receiver.allowance.exhausted:
                    self.end("abuse")
            case MarkReached(name):
                self._player.reached(name)
            case Flow(may_send):
                self._held_s = None if may_send else self._held_s or self._loop.time()
                self._player.hold(held=not may_send)
            case Digit(key):
                self.client.keys.press(key)
            case Stopped(problem):
                if problem:
                    log.warning("a telephone call was ended by its peer: %s", problem)
                self.end("lost" if problem else "hangup")

    def _on_malformed(self, error: MediaError) -> None:
        self.malformed += 1
        if self.malformed == 1:
            log.warning("a telephone stream sent %s; it is left out", error)
        if not self._malformed_left.take(1.0, self._last_s):
            self.end("abuse")

    async def _send(self, message: str | bytes) -> None:
        async with asyncio.timeout(self._limits.send_s):
            await self._wire.send(message)

    async def _play(self) -> None:
        try:
            await self._player.run()
        except (ConnectionError, TimeoutError):
            self.end("lost")
        except Exception:
            log.exception("a telephone stream broke")
            self.end("lost")

    @override
    def _look(self, now_s: float) -> None:
        if now_s - self._last_s >= self._limits.silence_s:
            self.end("lost")
        if self._held_s is not None and now_s - self._held_s >= self._limits.hold_s:
            log.warning("a telephone stream was ended: its peer has taken no audio for %.0f s", self._limits.hold_s)
            self.end("lost")

    def _stop(self) -> None:
        self._receiver.close()


class _Numbers:
    """Gives a stream's pieces the numbers and times by which the jitter buffer orders them. It uses the vendor's numbers, if
    there are any. If not, the pieces come in order."""

    def __init__(self, decoder: PhoneDecoder) -> None:
        self._decoder = decoder
        self._last: int | None = None
        self._next_timestamp = 0
        self._samples = CLOCK_HZ // 50

    def packet(self, audio: Audio) -> RtpPacket | None:
        """The packet of a piece; None if it holds no audio."""
        samples = self._decoder.packet_samples(audio.payload)
        if not samples:
            return None
        last = self._last
        chunk = audio.chunk if audio.chunk is not None else (0 if last is None else last + 1)
        ahead = 1 if last is None else chunk - last
        timestamp = self._next_timestamp + (ahead - 1) * self._samples
        if ahead > 0:
            self._last, self._samples = chunk, samples
            self._next_timestamp = timestamp + samples
        return RtpPacket(0, 0, chunk & 0xFFFF, timestamp & 0xFFFF_FFFF, 0, audio.payload)
