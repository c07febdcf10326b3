"""Reads an SDP offer (RFC 8866, RFC 9429) and says in one line what is wrong with it; finishes the answer.

What comes out of `read_offer` holds only the sections that are served (`offered_sections.py`), with few candidates, and only such
as can be used as they are. Names that would need multicast DNS, TCP candidates, addresses where no caller is and ports that do
not exist are removed. So is end-of-candidates, since a peer may be reachable from an address that it did not list."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from aiortc import sdp
from aiortc.rtcrtpparameters import RTCRtpCodecParameters

from voiceagent.audio import opus
from voiceagent.errors import MediaError
from voiceagent.media.webrtc.offered_sections import OfferedSections, read_sections

MAX_SDP_CHARS = 65_536
MAX_CANDIDATES = 8
"""Addresses of the offer that are tried; the others are learned from the peer's own checks (RFC 8445 §7.3.1.3)."""
MAX_PORT = 65_535

_CANDIDATE = re.compile(r"a=candidate:\S+ \d+ (?P<transport>\S+) \d+ (?P<host>\S+) (?P<port>\d{1,5}) ")
_LOWER_PREFERENCE = 1 << 8
"""One less of a candidate's local preference (RFC 8445 §5.1.2.1)."""
_UFRAG = re.compile(r"[A-Za-z0-9+/]{4,256}")
_PASSWORD = re.compile(r"[A-Za-z0-9+/]{22,256}")
"""RFC 8839 §5.4."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def _check_head(text: str) -> None:
    if len(text) > MAX_SDP_CHARS:
        raise MediaError(f"the SDP is {len(text)} characters long; expected at most {MAX_SDP_CHARS}")
    if not text.lstrip().startswith("v=0"):
        start = text.strip().splitlines()[0][:40] if text.strip() else ""
        raise MediaError(f"the SDP starts with {start!r}; expected a session description that starts with 'v=0'")


def parse_description(text: str) -> sdp.SessionDescription:
    """The description in aiortc's form. Raises MediaError for what it cannot read."""
    try:
        return sdp.SessionDescription.parse(text)
    except (ValueError, KeyError, IndexError, AttributeError, AssertionError, TypeError, StopIteration) as error:
        detail = f" ({error})" if str(error) else ""
        raise MediaError(f"the SDP is malformed{detail}; expected an offer as RTCPeerConnection.createOffer makes it") from error


@dataclass(frozen=True, slots=True)
class Offer:
    """An offer that can be served."""

    text: str
    """The sections that are served, for aiortc to read."""
    sections: OfferedSections
    served: tuple[int, ...]
    """The places of the served sections among all."""
    opus_type: int
    """The payload type of Opus that the caller likes best."""

    def answered(self, answer: str) -> str:
        """The answer to the whole offer, from the answer to `text`."""
        return self.sections.answered(self.served, answer)


def read_offer(text: str, *, private_candidates: bool = False) -> Offer:
    """The offer, ready for aiortc. It keeps the candidates on the Internet, and with `private_candidates` others too. Raises
    MediaError when it is malformed, has no audio, no Opus, or lacks the ICE and DTLS parameters."""
    _check_head(text)
    sections = read_sections(text)
    served = sections.served()
    audio_and_data = sections.only(served)
    for media in parse_description(audio_and_data).media:
        if media.ice is None or not media.ice.usernameFragment or not media.ice.password:
            raise MediaError(f"the offer's {media.kind} section has no a=ice-ufrag and a=ice-pwd; expected a WebRTC offer")
        if media.dtls is None or not media.dtls.fingerprints:
            raise MediaError(f"the offer's {media.kind} section has no a=fingerprint; expected a WebRTC offer")
        _check_credential("ice-ufrag", media.ice.usernameFragment, _UFRAG, 4)
        _check_credential("ice-pwd", media.ice.password, _PASSWORD, 22)
    opus_type = next(int(section.opus_types[0]) for place in served if (section := sections.sections[place]).kind == "audio")
    return Offer(_with_usable_candidates(audio_and_data, private_candidates), sections, tuple(served), opus_type)


def _check_credential(name: str, value: str | None, allowed: re.Pattern[str], least: int) -> None:
    if value is not None and not allowed.fullmatch(value):
        raise MediaError(
            f"the offer's a={name} has {len(value)} characters, {value[:40]!r}; expected {least} to 256 letters, digits, + and /"
        )


def is_usable_host(host: str, private_candidates: bool) -> bool:
    """True when an offer may make us send to `host`: an address of the Internet, or with `private_candidates` any address of one
    host (RFC 6890). An IPv4 address inside an IPv6 one is judged as the IPv4 address."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inner:
            return is_usable_host(str(inner), private_candidates)
    if address.is_multicast or address.is_unspecified:
        return False
    if address.is_global:
        return not address.is_reserved
    is_no_host = address.version == 4 and address.packed[0] in (0, *range(240, 256))
    return private_candidates and not is_no_host


def _with_usable_candidates(text: str, private_candidates: bool) -> str:
    lines = []
    addresses: set[tuple[str, int]] = set()
    for line in text.strip().splitlines():
        if line.strip() == "a=end-of-candidates":
            continue
        if line.startswith("a=candidate:"):
            match = _CANDIDATE.match(line)
            if match is None or match["transport"].lower() != "udp" or not is_usable_host(match["host"], private_candidates):
                continue
            if not 0 < int(match["port"]) <= MAX_PORT:  # asyncio closes a socket that sends to a higher port
                continue
            address = (match["host"], int(match["port"]))
            if address not in addresses and len(addresses) >= MAX_CANDIDATES:
                continue
            addresses.add(address)
        lines.append(line)
    return "\r\n".join(lines) + "\r\n"


def opus_codec(payload_type: int = 96) -> RTCRtpCodecParameters:
    """Opus, with what we want to receive (RFC 7587 §6.1): in-band error correction, mono speech."""
    wanted: dict[str, int | str | None] = {"minptime": 10, "useinbandfec": 1, "usedtx": 0, "stereo": 0}
    return RTCRtpCodecParameters("audio/opus", opus.RTP_CLOCK_HZ, channels=2, payloadType=payload_type, parameters=wanted)


def with_address(text: str, address: str) -> str:
    """The description with a candidate at `address` before each of the machine's own of that family, at the same port: what a NAT
    or a container's host forwards. As it is where `address` is empty."""
    if not address:
        return text
    version = ipaddress.ip_address(address).version
    told: set[str] = set()
    lines = []
    for line in text.splitlines():
        if line.startswith("m="):
            told.clear()
        match = _CANDIDATE.match(line)
        if match is not None and " typ host" in line and ipaddress.ip_address(match["host"]).version == version:
            foundation, component, transport, priority, _, rest = line.removeprefix("a=candidate:").split(" ", 5)
            if f"{component} {match['port']}" not in told:  # several of the machine's own may have the same port
                lines.append(f"a=candidate:n{foundation[1:]} {component} {transport} {priority} {address} {rest}")
            told.add(f"{component} {match['port']}")
            line = line.replace(f" {priority} ", f" {int(priority) - _LOWER_PREFERENCE} ", 1)
        lines.append(line)
    return "\r\n".join(lines) + "\r\n"


def read_answer(text: str) -> str:
    """The answer to our own offer. Raises MediaError when it is malformed or takes no audio."""
    _check_head(text)
    description = parse_description(text)
    if not any(media.kind == "audio" and media.port != 0 for media in description.media):
        raise MediaError("the server's answer takes no audio; expected an m=audio section")
    return text
