"""The audio of a SIP call. Session descriptions between us and a gateway settle which telephone codec both sides support, and
the keys; a re-INVITE changes only who sends. RTP packets of G.711 and of keys become frames and keys, which the ears of a leg
pass to the call, or to the other end of a bridge in the call's place. Frames become G.711."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from aiortc.rtcrtpparameters import RTCRtpCodecParameters
from numpy.typing import NDArray

from voiceagent.audio import g711
from voiceagent.audio.format import HEARD_HZ, PLAYED_HZ
from voiceagent.audio.jitter_buffer import CLOCK_HZ as BUFFER_HZ
from voiceagent.audio.resample import ShortResampler
from voiceagent.errors import MediaError
from voiceagent.media.audio_receiver import AudioReceiver, Deliver
from voiceagent.media.inbound_frames import InboundFrames
from voiceagent.media.rtp import RtpPacket
from voiceagent.media.webrtc.offered_sections import read_sections
from voiceagent.media.webrtc.session_description import MAX_SDP_CHARS
from voiceagent.telephone.codec import PhoneDecoder
from voiceagent.telephone.messages import AudioFormat, Encoding
from voiceagent.telephone.telephone_events import CLOCK_HZ, KeyReader

# --- session descriptions ---------------------------------------------------------------------------------------------

PCMU, PCMA = 0, 8
ENCODINGS = {PCMU: Encoding.MULAW, PCMA: Encoding.ALAW}
NAMES = {PCMU: "audio/PCMU", PCMA: "audio/PCMA"}
KEYS_TYPE = 101
"""The payload type of keys, if we choose it."""
_ANSWERS = {"sendrecv": "sendrecv", "sendonly": "recvonly", "recvonly": "sendonly", "inactive": "inactive"}
"""The direction that answers each direction (RFC 3264 §6.1)."""
_DIRECTIONS = tuple(f"a={name}" for name in _ANSWERS)
_AUDIO = re.compile(r"m=audio (?P<port>\d+) \S+ (?P<types>[\d ]+)")
_RTPMAP = re.compile(r"a=rtpmap:(\d+) (\S+)")


@dataclass(frozen=True, slots=True)
class PhoneAudio:
    """The audio format that a description settles for the call."""

    payload_type: int
    keys_type: int | None
    """The payload type of keys; None if the other side takes no keys."""

    @property
    def encoding(self) -> Encoding:
        """The encoding of the samples."""
        return ENCODINGS[self.payload_type]


def phone_codec(payload_type: int) -> RTCRtpCodecParameters:
    """PCMU or PCMA."""
    return RTCRtpCodecParameters(NAMES[payload_type], CLOCK_HZ, channels=1, payloadType=payload_type)


def audio_alone(offer: str) -> tuple[str, Callable[[str], str]]:
    """The offer's first audio section alone, and what makes the answer to it that to the whole offer. Raises MediaError."""
    sections = read_sections(offer)
    places = [place for place, section in enumerate(sections.sections) if section.kind == "audio"][:1]
    return sections.only(places, opus_alone=False), partial(sections.answered, places)


def read_audio(text: str) -> PhoneAudio:
    """The codec that its side likes best of those that we speak, and its keys. Raises MediaError."""
    if len(text) > MAX_SDP_CHARS:
        raise MediaError(f"the gateway's SDP is {len(text)} characters long; expected at most {MAX_SDP_CHARS}")
    lines = text.splitlines()
    found = next(filter(None, map(_AUDIO.match, lines)), None)
    if found is None or found["port"] == "0":
        raise MediaError("the call has no audio; expected an m=audio section")
    types = [int(each) for each in found["types"].split()]
    ours = next((each for each in types if each in ENCODINGS), None)
    if ours is None:
        raise MediaError(f"the call speaks neither PCMU nor PCMA (it offers {found['types']}); expected one of them")
    maps = {int(each[1]): each[2].lower() for each in map(_RTPMAP.match, lines) if each}
    keys = next((each for each in types if maps.get(each) == "telephone-event/8000"), None)
    return PhoneAudio(ours, keys)


def with_keys(text: str, keys_type: int | None) -> str:
    """Our description with keys."""
    if keys_type is None:
        return text
    lines: list[str] = []
    for line in text.splitlines():
        if _AUDIO.match(line):
            line = f"{line.rstrip()} {keys_type}"
        lines.append(line)
        if line.startswith("a=rtcp-mux"):  # there is one, and codecs may stand anywhere in their section
            lines += [f"a=rtpmap:{keys_type} telephone-event/8000", f"a=fmtp:{keys_type} 0-15"]
    return "\r\n".join(lines) + "\r\n"


def direction(text: str) -> str:
    """The direction of audio in the description."""
    return next((line.strip()[2:] for line in text.splitlines() if line.strip() in _DIRECTIONS), "sendrecv")


def is_hold(text: str) -> bool:
    """True if an offer holds the call: its side does not want to hear us (RFC 3264 §8.4). The old form, the address 0.0.0.0 (RFC
    2543), counts, too."""
    return direction(text) in ("sendonly", "inactive") or "c=IN IP4 0.0.0.0" in text


def updated_description(ours: str, offer: str) -> str:
    """Our description as the answer to a re-INVITE."""
    answer = f"a={_ANSWERS[direction(offer)]}"
    return "\r\n".join(answer if line in _DIRECTIONS else line for line in ours.splitlines()) + "\r\n"


_SCALE = BUFFER_HZ // CLOCK_HZ


# --- both directions --------------------------------------------------------------------------------------------------


class LateEncoder:
    """Makes payloads, once it is known of what kind: nothing is sent before. All mixing is done here, at the telephone's rate."""

    def __init__(self, beside: Callable[[NDArray[np.int16]], NDArray[np.int16] | None]) -> None:
        """`beside` is asked in each frame for further audio, and given the agent's voice in it: mono 8 kHz, shape (160,)."""
        self._beside = beside
        self._resampler = ShortResampler(PLAYED_HZ, CLOCK_HZ)
        self._is_alaw = False

    def use(self, encoding: Encoding) -> None:
        """It is settled."""
        self._is_alaw = encoding is Encoding.ALAW

    def encode(self, pcm: NDArray[np.int16]) -> bytes:
        """A frame's payload, from the agent's voice: mono 24 kHz, shape (480,)."""
        voice = self._resampler.process(pcm)
        beside = self._beside(voice)
        return g711.encode(voice if beside is None else mixed(voice, beside), alaw=self._is_alaw)


def mixed(one: NDArray[np.int16], other: NDArray[np.int16]) -> NDArray[np.int16]:
    """Both at once, of the same shape; their sum is cut off where it is too loud."""
    both: NDArray[np.int16] = np.clip(one.astype(np.int32) + other, -32_768, 32_767).astype(np.int16)
    return both


class SipReceiver:
    """Takes the RTP packets of a call. Keys come in the same sequence as audio (RFC 4733 §2.1): they are counted out of it, so
    that the jitter buffer misses nothing where they were."""

    def __init__(
        self,
        audio: PhoneAudio,
        deliver: Deliver,
        press: Callable[[str], None],
        rate_hz: int = HEARD_HZ,
        keys: KeyReader | None = None,
    ) -> None:
        """`keys` is the reader of the receiver before it: a key may be held meanwhile."""
        self._audio = audio
        self._press = press
        self._reader = keys or KeyReader()
        self._receiver = AudioReceiver(rate_hz, deliver, decoder=PhoneDecoder(AudioFormat(audio.encoding), rate_hz))
        self._others = 0
        """Packets of the sequence that hold no audio."""
        self._sequence = 0
        """The number of the packet that arrived last, without its wrap."""
        self._timestamp: int | None = None
        self._long_timestamp = 0

    def receive(self, packet: RtpPacket) -> None:
        """Take a packet that arrived now."""
        self._sequence += (packet.sequence_number - self._sequence + 0x8000 & 0xFFFF) - 0x8000
        if packet.payload_type in ENCODINGS:
            self._reader.pass_audio(self._sequence)
            sequence = packet.sequence_number - self._others & 0xFFFF
            timestamp = self._unwrapped(packet.timestamp) * _SCALE & 0xFFFF_FFFF
            self._receiver.receive(RtpPacket(0, 0, sequence, timestamp, packet.ssrc, self._in_our_law(packet)))
            return
        self._others += 1
        if packet.payload_type == self._audio.keys_type:
            key = self._reader.read(packet.payload, packet.timestamp, self._sequence, is_marked=bool(packet.marker))
            if key:
                self._press(key)

    def _in_our_law(self, packet: RtpPacket) -> bytes:
        """The payload, in the code that was settled: some phones go over to the other one in the middle of a call."""
        if packet.payload_type == self._audio.payload_type:
            return packet.payload
        samples = g711.decode(packet.payload, alaw=packet.payload_type == PCMA)
        return g711.encode(samples, alaw=self._audio.payload_type == PCMA)

    def take_jitter_ms(self) -> float | None:
        """See `Jitter.take_ms`."""
        return self._receiver.arrivals.take_ms()

    @property
    def counters(self) -> dict[str, int]:
        """See `Leg.counters`."""
        return self._receiver.counters

    def close(self) -> None:
        """Stop delivering audio."""
        self._receiver.close()

    def _unwrapped(self, timestamp: int) -> int:
        """The timestamp without its wrap, which comes at another time on the buffer's clock."""
        if self._timestamp is not None:
            ahead = (timestamp - self._timestamp + 0x8000_0000 & 0xFFFF_FFFF) - 0x8000_0000
            self._long_timestamp += ahead
        self._timestamp = timestamp
        return self._long_timestamp


# --- the ears of a leg ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bridge:
    """The other end of a bridge, which hears and speaks to the other side in the call's place. Audio is mono 8 kHz, 20 ms, shape
    (160,)."""

    hear: Callable[[NDArray[np.int16]], None]
    """Takes what the other side says."""
    say: Callable[[NDArray[np.int16]], NDArray[np.int16] | None]
    """Given the agent's voice of a frame, gives what else the other side hears; None: nothing."""
    key: Callable[[str], None]
    """Takes a key that the other side pressed."""


class SipEars:
    """The ears of one leg. They hear nothing before `begin`."""

    def __init__(self, press: Callable[[str], None], inbound: InboundFrames) -> None:
        """`press` takes the keys that are for the call, `inbound` its frames."""
        self._inbound = inbound
        self.bridge: Bridge | None = None
        self.is_held = False
        """True while the other side has put us on hold: nothing is said to it, and its audio is not heard."""
        self.last_s = 0.0
        """The time of the last packet, on the loop's clock."""
        self._press = press
        self._loop = asyncio.get_running_loop()
        self._audio: PhoneAudio | None = None
        self._receiver: SipReceiver | None = None
        self._keys = KeyReader()
        self._counted: dict[str, int] = {}
        """The counts of earlier receivers."""

    def begin(self, audio: PhoneAudio) -> None:
        """The audio format has been negotiated; start receiving."""
        self._audio = audio
        if self.bridge is None:
            self._receiver = SipReceiver(audio, self._on_frame, self._on_key, keys=self._keys)
        else:
            self._receiver = SipReceiver(audio, self._on_relayed, self._on_key, CLOCK_HZ, self._keys)

    def receive(self, packet: RtpPacket) -> None:
        """Take a packet that arrived now."""
        self.last_s = self._loop.time()
        if self._receiver is not None:
            self._receiver.receive(packet)

    def connect(self, bridge: Bridge | None) -> None:
        """Have the other side of a bridge hear, or the call again (None)."""
        rate_changes = (bridge is None) is not (self.bridge is None)
        self.bridge = bridge
        if self._receiver is None or self._audio is None or not rate_changes:
            return
        self._counted = self.counters
        self._receiver.close()
        self.begin(self._audio)

    def take_jitter_ms(self) -> float | None:
        """See `Jitter.take_ms`."""
        return None if self._receiver is None else self._receiver.take_jitter_ms()

    @property
    def counters(self) -> dict[str, int]:
        """See `Leg.counters`."""
        counters = self._receiver.counters if self._receiver is not None else {}
        return {name: count + self._counted.get(name, 0) for name, count in counters.items()}

    def close(self) -> None:
        """Hear nothing more."""
        if self._receiver is not None:
            self._receiver.close()

    def _on_frame(self, pcm: NDArray[np.int16], received_ms: float, concealed: bool) -> None:
        if not self.is_held:
            self._inbound.put(pcm, received_ms, concealed)

    def _on_relayed(self, pcm: NDArray[np.int16], received_ms: float, concealed: bool) -> None:
        if self.bridge is not None and not self.is_held:
            self.bridge.hear(pcm)

    def _on_key(self, key: str) -> None:
        if self.bridge is not None:
            self.bridge.key(key)
        else:
            self._press(key)
