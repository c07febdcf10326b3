"""Session descriptions between us and a SIP gateway: which telephone codec both sides support, the keys, and the answer to a
re-INVITE, which changes only who sends."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from aiortc.rtcrtpparameters import RTCRtpCodecParameters

from voiceagent.errors import MediaError
from voiceagent.media.webrtc.offered_sections import read_sections
from voiceagent.media.webrtc.session_description import MAX_SDP_CHARS
from voiceagent.telephone.messages import Encoding
from voiceagent.telephone.telephone_events import CLOCK_HZ

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


def updated(ours: str, offer: str) -> str:
    """Our description as the answer to a re-INVITE."""
    answer = f"a={_ANSWERS[direction(offer)]}"
    return "\r\n".join(answer if line in _DIRECTIONS else line for line in ours.splitlines()) + "\r\n"
