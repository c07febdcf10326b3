"""The telephone leg: one call's WebSocket of a vendor that carries telephone calls. Its messages come in through `receive`; what
is to be said goes out paced, and counts as heard when the vendor's marks say that it was played."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from typing import Protocol

from aiortc.rtp import RtpPacket

from voiceagent.audio.jitter_buffer import CLOCK_HZ
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_receiver import AudioReceiver
from voiceagent.media.inbound_frames import InboundFrames
from voiceagent.media.leg import InboundFrame
from voiceagent.media.marks import Marks
from voiceagent.media.phone_client import PhoneClient
from voiceagent.media.phone_codec import PhoneDecoder, PhoneEncoder
from voiceagent.media.playout import RATE_HZ, Playout
from voiceagent.media.stream_player import StreamPlayer
from voiceagent.telephony.messages import Audio, Digit, Flow, MarkReached, Started, Stopped
from voiceagent.telephony.vendors import Stream
from voiceagent.token_bucket import Meter, TokenBucket

log = logging.getLogger(__name__)

HEARD_RATE_HZ = 16_000
SILENCE_TIMEOUT_S = 20.0
"""Vendors send silence too: when nothing comes for so long the call is lost."""
SEND_TIMEOUT_S = 8.0
"""A vendor that reads nothing for so long is gone."""
WATCH_S = 0.5
MAX_MALFORMED = 20
"""Messages that cannot be read are left out; after so many the call ends."""


class Wire(Protocol):
    """The WebSocket."""

    async def send(self, message: str | bytes) -> None:
        """Send one message; waits where the peer does not read. Raises ConnectionError when it is closed."""
        ...

    async def close(self) -> None:
        """Close it. May be called twice."""
        ...


def messages_meter() -> Meter:
    """Of one call, in messages: audio is 50 a second, what a stalled network held back for 5 s another 250."""
    return Meter(TokenBucket(200.0, 500.0), TokenBucket(100.0, 500.0))


class StreamLeg:
    """Implements `Leg`. Made when the vendor's start message has come; `close` frees it."""

    def __init__(self, wire: Wire, stream: Stream, started: Started, *, chunk_frames: int = 1, has_marks: bool = True) -> None:
        """`chunk_frames` of 20 ms go out together. Without marks what was sent is heard by the clock."""
        self.playout = Playout()
        self.kind = LegKind.TELEPHONE
        self.malformed = 0
        self.facts = started.facts
        self.client = PhoneClient()
        self._wire = wire
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        decoder = PhoneDecoder(started.format, HEARD_RATE_HZ)
        self._inbound = InboundFrames()
        self._receiver = AudioReceiver(HEARD_RATE_HZ, self._inbound.put, decoder=decoder)
        self._numbers = _Numbers(decoder)
        encoder = PhoneEncoder(started.format, RATE_HZ)
        self._player = StreamPlayer(self.playout, stream, encoder, self._send, Marks(come_back=has_marks), chunk_frames)
        self._meter = messages_meter()
        self._end_reason = ""
        self._last_s = self._loop.time()
        self._playing = asyncio.create_task(self._play(), name="telephone stream")
        self._watch = self._loop.call_later(WATCH_S, self._on_watch)

    def receive(self, message: str | bytes) -> None:
        """Take a message of the vendor's. One that cannot be read is counted, the first is logged."""
        if self._end_reason:
            return
        self._last_s = self._loop.time()
        if not self._meter.admit(1.0, self._last_s):
            if self._meter.exhausted:
                self._end("abuse")
            return
        try:
            self._take(message)
        except MediaError as error:
            self._on_malformed(error)

    def gone(self) -> None:
        """The WebSocket was closed by the vendor."""
        self._end("hangup")

    def frames(self) -> AsyncIterator[InboundFrame]:
        """See `Leg.frames`."""
        return self._inbound.read()

    def client_events(self) -> AsyncIterator[str]:
        """What the caller keyed in."""
        return self.client.events()

    def send_event(self, event: JsonObject) -> None:
        """A telephone shows no events."""

    @property
    def end_reason(self) -> str:
        """Why the connection ended: hangup (the vendor closed it), closed (we did), lost, abuse. Empty while it is up."""
        return self._end_reason

    @property
    def counters(self) -> dict[str, int]:
        """See `Leg.counters`."""
        jitter, marks = self._receiver.jitter.stats, self._player.marks
        return {
            "packets_received": jitter.received,
            "heard_frames_dropped": self._inbound.dropped,
            "packets_lost": jitter.lost,
            "packets_late": jitter.late,
            "packets_duplicate": jitter.duplicate,
            "packets_reordered": jitter.reordered,
            "packets_ignored": self._receiver.ignored,
            "packets_refused": self._meter.refusals,
            "audio_ms_refused": round(self._receiver.allowance.refused * 1000.0),
            "stream_resets": jitter.resets,
            "stream_stalls": jitter.stalls,
            "events_dropped_in": self.client.dropped,
            "packets_malformed": self.malformed,
            "marks_stale": marks.stale,
            "marks_missing": marks.missing,
        }

    @property
    def drops(self) -> dict[str, int]:
        """See `Leg.drops`."""
        return {"heard frames": self._inbound.dropped, "client events": self.client.dropped}

    async def wait_connected(self) -> bool:
        """It is from the start."""
        return not self._end_reason

    async def close(self) -> None:
        """End the connection and free its tasks. May be called twice."""
        self._end("closed")
        self._playing.cancel()
        await asyncio.gather(self._playing, return_exceptions=True)
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
                    self._end("abuse")
            case MarkReached(name):
                self._player.reached(name)
            case Flow(may_send):
                self._player.hold(held=not may_send)
            case Digit(key):
                self.client.keys.press(key)
            case Stopped():
                self._end("hangup")

    def _on_malformed(self, error: MediaError) -> None:
        self.malformed += 1
        if self.malformed == 1:
            log.warning("a telephone stream sent %s; it is left out", error)
        if self.malformed >= MAX_MALFORMED:
            self._end("abuse")

    async def _send(self, message: str | bytes) -> None:
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await self._wire.send(message)

    async def _play(self) -> None:
        try:
            await self._player.run()
        except (ConnectionError, TimeoutError):
            self._end("lost")
        except Exception:
            log.exception("a telephone stream broke")
            self._end("lost")

    def _on_watch(self) -> None:
        now_s = self._loop.time()
        if now_s - self._last_s >= SILENCE_TIMEOUT_S:
            self._end("lost")
        if not self._end_reason:
            self._watch = self._loop.call_later(WATCH_S, self._on_watch)

    def _end(self, reason: str) -> None:
        if self._end_reason:
            return
        self._end_reason = reason
        self._watch.cancel()
        self.client.end()
        self._receiver.close()
        self._inbound.end()


class _Numbers:
    """Gives a stream's pieces the numbers and times that the jitter buffer puts them in order by. Where a vendor numbers its
    pieces, those are it; else they come in order."""

    def __init__(self, decoder: PhoneDecoder) -> None:
        self._decoder = decoder
        self._last: int | None = None
        self._next_timestamp = 0
        self._samples = CLOCK_HZ // 50

    def packet(self, audio: Audio) -> RtpPacket | None:
        """None for what holds no audio."""
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
