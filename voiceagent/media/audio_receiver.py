"""RTP packets in, 20 ms frames of PCM out: jitter buffer, decoder and the timer that ends a wait. Used at both ends of a call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio import opus
from voiceagent.audio.format import FRAME_MS
from voiceagent.audio.jitter_buffer import AudioPacket, JitterBuffer, Slot, SlotKind
from voiceagent.errors import MediaError
from voiceagent.media.jitter import Jitter
from voiceagent.media.rtp import RtpPacket
from voiceagent.token_bucket import Meter, TokenBucket

CLOCK_DRIFT = 1.1
"""Seconds of audio a second. Sound cards' clocks differ from ours, by far less than this."""
BURST_S = 5.0
"""Audio in seconds that a stalled network may deliver at once."""
PATIENCE_S = 20.0
"""Audio in seconds beyond that which is only left out; more is abuse."""
PATIENCE_REGAINED = 0.2
"""Seconds of `PATIENCE_S` that are regained each second."""


def audio_meter() -> Meter:
    """The meter of one connection, in seconds of audio. Audio comes at the pace of the clock, except what a network held back
    and then delivers at once. A faster sender is cut to that pace, and a sender that goes on is an abuser. A sender whose
    timestamps leap is one, too: each leap is a pause that would be filled with silence."""
    return Meter(TokenBucket(CLOCK_DRIFT, BURST_S), TokenBucket(PATIENCE_REGAINED, PATIENCE_S))


_QUIET_BYTES = 2
"""An Opus packet this short holds no audio: the sender is in DTX (RFC 6716 §2.1.9)."""


Deliver = Callable[[NDArray[np.int16], float, bool], None]
"""Called with 20 ms of PCM (mono, shape (rate_hz / 50,)), the time at which the packet that completed it arrived (milliseconds of
`time.monotonic`), and whether any of it was lost."""


class AudioDecoder(Protocol):
    """Makes one stream's packets audio, mono at one rate."""

    def packet_samples(self, payload: bytes) -> int:
        """The length of a packet, in samples of the 48 kHz RTP clock; 0 when it holds no audio."""
        ...

    def decode(self, payload: bytes) -> NDArray[np.int16]:
        """Its audio. Raises MediaError."""
        ...

    def conceal(self, samples: int) -> NDArray[np.int16]:
        """A guess at so much lost audio."""
        ...

    def recover(self, next_payload: bytes, samples: int) -> NDArray[np.int16]:
        """The lost audio just before a packet, as far as that tells. Raises MediaError."""
        ...


class AudioReceiver:
    """Decodes one RTP stream; `deliver` is called with each frame, on the event loop. Call `close` to stop its timer."""

    def __init__(
        self, rate_hz: int, deliver: Deliver, *, payload_type: int | None = None, decoder: AudioDecoder | None = None
    ) -> None:
        """With `payload_type`, packets of other types are ignored (and counted). `decoder` gives audio at `rate_hz`; left out, it
        is Opus'."""
        self.rate_hz = rate_hz
        self.jitter = JitterBuffer()
        self.payload_type = payload_type
        self.arrivals = Jitter()
        self.ignored = 0
        """Packets that hold no audio for the decoder."""
        self.allowance = audio_meter()
        """Measures how much audio was too much, in seconds."""
        self._deliver = deliver
        self._decoder: AudioDecoder = decoder or opus.Decoder(rate_hz)
        self._frame_samples = rate_hz * FRAME_MS // 1000
        self._rest = np.zeros(0, dtype=np.int16)
        self._rest_concealed = False
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    def receive(self, packet: RtpPacket) -> None:
        """Take an RTP packet that arrived now."""
        if self._closed:
            return
        now_ms = time.monotonic() * 1000.0
        samples = self._decoder.packet_samples(packet.payload)
        if (packet.payload and not samples) or self.payload_type not in (None, packet.payload_type):
            self.ignored += 1
            return
        self.arrivals.add(now_ms, packet.timestamp * 1000.0 / opus.RTP_CLOCK_HZ)
        self._make(
            self.jitter.push(
                AudioPacket(
                    ssrc=packet.ssrc,
                    sequence=packet.sequence_number,
                    timestamp=packet.timestamp,
                    samples=samples,
                    payload=packet.payload,
                    arrival_ms=now_ms,
                    quiet=0 < len(packet.payload) <= _QUIET_BYTES,
                )
            )
        )
        self._arm()

    def close(self) -> None:
        """Deliver nothing more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self) -> None:
        deadline_ms = self.jitter.deadline_ms
        if deadline_ms is None or self._closed:
            return
        when_s = self._loop.time() + deadline_ms / 1000.0 - time.monotonic()
        if self._timer is not None:
            # A timer that fires too early only looks again: that is cheaper than a new timer for each packet.
            if self._timer.when() <= when_s:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(when_s, self._on_timer)

    @property
    def counters(self) -> dict[str, int]:
        """The packets by their fate, under the names of `Leg.counters`."""
        jitter = self.jitter.stats
        return {
            "packets_received": jitter.received,
            "packets_lost": jitter.lost,
            "packets_late": jitter.late,
            "packets_duplicate": jitter.duplicate,
            "packets_reordered": jitter.reordered,
            "packets_ignored": self.ignored,
            "stream_resets": jitter.resets,
            "stream_stalls": jitter.stalls,
            "audio_ms_refused": round(self.allowance.refused * 1000.0),
        }

    def _on_timer(self) -> None:
        self._timer = None
        now_ms = time.monotonic() * 1000.0
        deadline_ms = self.jitter.deadline_ms
        if deadline_ms is not None and now_ms >= deadline_ms:
            self._make(self.jitter.poll(now_ms))
        self._arm()

    def _make(self, slots: list[Slot]) -> None:
        now_s = self._loop.time()
        for slot in slots:
            if self.allowance.admit(slot.samples / opus.RTP_CLOCK_HZ, now_s):
                self._slice(self._decode(slot), slot)

    def _decode(self, slot: Slot) -> NDArray[np.int16]:
        samples = slot.samples * self.rate_hz // opus.RTP_CLOCK_HZ
        if slot.kind is SlotKind.SILENCE:
            return np.zeros(samples, dtype=np.int16)
        if slot.kind is SlotKind.CONCEAL:
            return self._decoder.conceal(samples)
        try:
            if slot.kind is SlotKind.RECOVER:
                return self._decoder.recover(slot.payload, samples)
            return self._decoder.decode(slot.payload)
        except MediaError:
            self.ignored += 1
            return np.zeros(samples, dtype=np.int16)

    def _slice(self, pcm: NDArray[np.int16], slot: Slot) -> None:
        size = self._frame_samples
        if not len(self._rest) and len(pcm) == size:
            self._deliver(pcm, slot.received_ms, slot.lost)
            return
        joined = np.concatenate((self._rest, pcm))
        concealed = self._rest_concealed or slot.lost
        whole = len(joined) // size * size
        for start in range(0, whole, size):
            self._deliver(joined[start : start + size], slot.received_ms, concealed)
            concealed = slot.lost
        self._rest = joined[whole:]
        self._rest_concealed = concealed and len(self._rest) > 0
