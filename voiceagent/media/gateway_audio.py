"""The audio of a SIP call, both ways: RTP packets of G.711 and of keys in, frames and keys out; frames in, G.711 out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from aiortc.rtp import RtpPacket
from numpy.typing import NDArray

from voiceagent.audio.jitter_buffer import CLOCK_HZ as BUFFER_HZ
from voiceagent.media.audio_receiver import AudioReceiver, Deliver
from voiceagent.media.gateway_description import PhoneAudio
from voiceagent.media.phone_codec import PhoneDecoder, PhoneEncoder
from voiceagent.media.playout import RATE_HZ
from voiceagent.telephony.messages import AudioFormat, Encoding
from voiceagent.telephony.telephone_events import CLOCK_HZ, KeyReader

HEARD_RATE_HZ = 16_000
_SCALE = BUFFER_HZ // CLOCK_HZ


class LateEncoder:
    """Makes payloads, once it is known of what kind: nothing is sent before."""

    def __init__(self) -> None:
        self._encoder = PhoneEncoder(AudioFormat(), RATE_HZ)

    def use(self, encoding: Encoding) -> None:
        """It is settled."""
        self._encoder = PhoneEncoder(AudioFormat(encoding), RATE_HZ)

    def encode(self, pcm: NDArray[np.int16]) -> bytes:
        """A frame's payload."""
        return self._encoder.encode(pcm)


class GatewayReceiver:
    """Takes the RTP packets of a call. Keys come in the same sequence as audio (RFC 4733 §2.1): they are counted out of it, so
    that the jitter buffer misses nothing where they were."""

    def __init__(self, audio: PhoneAudio, deliver: Deliver, press: Callable[[str], None]) -> None:
        self._audio = audio
        self._press = press
        self._reader = KeyReader()
        self._receiver = AudioReceiver(HEARD_RATE_HZ, deliver, decoder=PhoneDecoder(AudioFormat(audio.encoding), HEARD_RATE_HZ))
        self._others = 0
        """Packets of the sequence that hold no audio."""
        self._timestamp: int | None = None
        self._long_timestamp = 0

    def receive(self, packet: RtpPacket) -> None:
        """Take a packet that arrived now."""
        if packet.payload_type == self._audio.payload_type:
            sequence = packet.sequence_number - self._others & 0xFFFF
            timestamp = self._unwrapped(packet.timestamp) * _SCALE & 0xFFFF_FFFF
            self._receiver.receive(RtpPacket(0, 0, sequence, timestamp, packet.ssrc, packet.payload))
            return
        self._others += 1
        if packet.payload_type == self._audio.keys_type:
            key = self._reader.read(packet.payload, packet.timestamp)
            if key:
                self._press(key)

    @property
    def counters(self) -> dict[str, int]:
        """See `Leg.counters`."""
        jitter = self._receiver.jitter.stats
        return {
            "packets_received": jitter.received,
            "packets_lost": jitter.lost,
            "packets_late": jitter.late,
            "packets_duplicate": jitter.duplicate,
            "packets_reordered": jitter.reordered,
            "packets_ignored": self._receiver.ignored,
            "stream_resets": jitter.resets,
            "stream_stalls": jitter.stalls,
            "audio_ms_refused": round(self._receiver.allowance.refused * 1000.0),
        }

    def close(self) -> None:
        """Deliver nothing more."""
        self._receiver.close()

    def _unwrapped(self, timestamp: int) -> int:
        """The timestamp without its wrap, which comes at another time on the buffer's clock."""
        if self._timestamp is not None:
            ahead = (timestamp - self._timestamp + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000
            self._long_timestamp += ahead
        self._timestamp = timestamp
        return self._long_timestamp
