"""Reads an SDP offer (RFC 8866, RFC 9429) and says in one line what is wrong with it; finishes the answer.

What comes out of `read_offer` holds only candidates that can be used as they are, and few of them. Names that would need
multicast DNS, TCP candidates, addresses where no caller is and ports that do not exist are removed. So is end-of-candidates,
since a peer may be reachable from an address that it did not list. Media without a direction get `sendrecv`: that is what a
missing direction means (RFC 8866 §6.7), and aiortc wants it written."""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Iterator

from aiortc import sdp

from voiceagent.errors import MediaError

MAX_SDP_CHARS = 65_536
MAX_SECTIONS = 8
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
_DIRECTION = re.compile(r"a=(sendrecv|sendonly|recvonly|inactive)\s*$")
_OPUS = re.compile(r"^a=rtpmap:(\d+) opus/48000", re.IGNORECASE | re.MULTILINE)


def _parse(text: str) -> sdp.SessionDescription:
    if len(text) > MAX_SDP_CHARS:
        raise MediaError(f"the SDP is {len(text)} characters long; expected at most {MAX_SDP_CHARS}")
    if not text.lstrip().startswith("v=0"):
        start = text.strip().splitlines()[0][:40] if text.strip() else ""
        raise MediaError(f"the SDP starts with {start!r}; expected a session description that starts with 'v=0'")
    try:
        return sdp.SessionDescription.parse(text)
    except (ValueError, KeyError, IndexError, AttributeError, AssertionError, TypeError, StopIteration) as error:
        detail = f" ({error})" if str(error) else ""
        raise MediaError(f"the SDP is malformed{detail}; expected an offer as RTCPeerConnection.createOffer makes it") from error


def read_offer(text: str, *, private_candidates: bool = False) -> str:
    """The offer, ready for aiortc. It keeps the candidates on the Internet, and with `private_candidates` others too. Raises
    MediaError when it is malformed, has no audio, no Opus, or lacks the ICE and DTLS parameters."""
    description = _parse(text)
    if len(description.media) > MAX_SECTIONS:
        raise MediaError(f"the offer has {len(description.media)} media sections; expected at most {MAX_SECTIONS}")
    audio = [media for media in description.media if media.kind == "audio" and media.port != 0]
    if not audio:
        found = ", ".join(media.kind for media in description.media) or "nothing"
        raise MediaError(f"the offer has no audio (it offers {found}); expected one m=audio section: add a microphone track")
    if len(audio) > 1:
        raise MediaError(f"the offer has {len(audio)} audio sections; expected one")
    codecs = [codec.mimeType.removeprefix("audio/") for codec in audio[0].rtp.codecs]
    if "opus" not in (codec.lower() for codec in codecs):
        raise MediaError(f"the offer has no Opus (it offers {', '.join(codecs) or 'no codec'}); expected opus/48000")
    mids = [media.rtp.muxId for media in description.media]
    if len(set(mids)) != len(mids):
        raise MediaError(f"the offer's sections are named {', '.join(mids)}; expected a different a=mid for each")
    for group in description.group:
        unknown = [str(item) for item in group.items if item not in mids]
        if group.semantic == "BUNDLE" and unknown:
            raise MediaError(f"the offer bundles {', '.join(unknown)}, which it does not hold; expected only its own a=mid names")
    for media in description.media:
        if media.kind not in ("audio", "application"):
            continue
        if media.ice is None or not media.ice.usernameFragment or not media.ice.password:
            raise MediaError(f"the offer's {media.kind} section has no a=ice-ufrag and a=ice-pwd; expected a WebRTC offer")
        if media.dtls is None or not media.dtls.fingerprints:
            raise MediaError(f"the offer's {media.kind} section has no a=fingerprint; expected a WebRTC offer")
    for media in description.media:
        if media.ice is not None:
            _check_credential("ice-ufrag", media.ice.usernameFragment, _UFRAG, 4)
            _check_credential("ice-pwd", media.ice.password, _PASSWORD, 22)
    return _with_usable_candidates(text, private_candidates)


def _check_credential(name: str, value: str | None, allowed: re.Pattern[str], least: int) -> None:
    if value is not None and not allowed.fullmatch(value):
        raise MediaError(
            f"the offer's a={name} has {len(value)} characters, {value[:40]!r}; expected {least} to 256 letters, digits, + and /"
        )


def is_usable_host(host: str, private_candidates: bool) -> bool:
    """Whether an offer may make us send to `host`: an address of the Internet, or with `private_candidates` any address of one
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
    return "\r\n".join(_with_directions(lines)) + "\r\n"


def _with_directions(lines: list[str]) -> Iterator[str]:
    starts = [index for index, line in enumerate(lines) if line.startswith("m=")]
    default = next(filter(_DIRECTION.match, lines[: starts[0]]), "a=sendrecv")
    yield from lines[: starts[0]]
    for start, end in itertools.pairwise([*starts, len(lines)]):
        yield from lines[start:end]
        if not lines[start].startswith("m=application") and not any(map(_DIRECTION.match, lines[start:end])):
            yield default


def opus_payload_type(text: str) -> int:
    """The payload type of Opus. Raises MediaError when there is none."""
    match = _OPUS.search(text)
    if match is None:
        raise MediaError("the SDP has no Opus; expected a=rtpmap:<type> opus/48000/2")
    return int(match[1])


def with_opus_parameters(text: str) -> str:
    """The description with what we want to receive (RFC 7587 §6.1): in-band error correction, mono speech."""
    payload_type = opus_payload_type(text)
    lines = []
    for line in text.splitlines():
        if line.startswith(f"a=fmtp:{payload_type} "):
            continue
        lines.append(line)
        if line.lower().startswith(f"a=rtpmap:{payload_type} opus/"):
            lines.append(f"a=fmtp:{payload_type} minptime=10;useinbandfec=1;usedtx=0;stereo=0")
    return "\r\n".join(lines) + "\r\n"


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
    description = _parse(text)
    if not any(media.kind == "audio" and media.port != 0 for media in description.media):
        raise MediaError("the server's answer takes no audio; expected an m=audio section")
    return text
