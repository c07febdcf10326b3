"""The other side's description of a session, read as far as a `Peer` needs it: one section of audio, at most one of a data
channel, and the transports that carry them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aiortc import RTCDtlsParameters, RTCIceCandidate, RTCIceParameters, RTCSctpCapabilities, sdp

from voiceagent.errors import MediaError
from voiceagent.media.webrtc.session_description import parse_description

NAME_EXTENSION = "urn:ietf:params:rtp-hdrext:sdes:mid"
"""The header extension that names a packet's section (RFC 9143 §15)."""
DRAFT_PROFILE = "DTLS/SCTP"
"""A data channel in the form of its standard's drafts."""

_REVERSED = {"sendrecv": "sendrecv", "sendonly": "recvonly", "recvonly": "sendonly", "inactive": "inactive"}
"""The direction that answers each direction (RFC 3264 §6.1)."""
_SCTP_PORT = 5000


@dataclass(frozen=True, slots=True)
class RemoteTransport:
    """Parameters with which one transport of the other side is connected to."""

    ice: RTCIceParameters
    candidates: Sequence[RTCIceCandidate]
    all_known: bool
    """True when no further candidate will be learned."""
    dtls: RTCDtlsParameters


@dataclass(frozen=True, slots=True)
class RemoteAudio:
    """The section of audio."""

    mid: str
    direction: str
    """As it is answered, or was answered: seen from here."""
    name_extension: int
    """The number of the header extension that names the section; 0 if it was not offered."""


@dataclass(frozen=True, slots=True)
class RemoteData:
    """The section of the data channel."""

    mid: str
    profile: str
    capabilities: RTCSctpCapabilities | None
    port: int


@dataclass(frozen=True, slots=True)
class RemoteDescription:
    """The sections and transports."""

    kinds: tuple[str, ...]
    """The kinds of the sections, in their order."""
    audio: RemoteAudio
    data: RemoteData | None
    transports: tuple[RemoteTransport, ...]
    """That of the audio, and that of the data channel unless they share one."""


def read_remote(text: str) -> RemoteDescription:
    """Raises MediaError for a description with which a peer cannot connect."""
    description = parse_description(text)
    audio = next((section for section in description.media if section.kind == "audio"), None)
    data = next((section for section in description.media if section.kind == "application"), None)
    kinds = tuple(section.kind for section in description.media)
    if audio is None or len(kinds) > 1 + (data is not None):
        found = ", ".join(kinds)[:80] or "nothing"
        raise MediaError(f"the description holds {found}; expected one section of audio, and at most one of a data channel")
    if not audio.rtcp_mux:
        raise MediaError("the audio section has no a=rtcp-mux; expected RTP and RTCP on one port")
    tagged = _tagged(description, audio, data)
    carriers = [tagged] if tagged is not None else [audio] if data is None else [audio, data]
    extensions = (extension.id for extension in audio.rtp.headerExtensions if extension.uri == NAME_EXTENSION)
    return RemoteDescription(
        kinds,
        RemoteAudio(audio.rtp.muxId, _REVERSED[audio.direction or "sendrecv"], next(extensions, 0)),
        None if data is None else RemoteData(data.rtp.muxId, data.profile, data.sctpCapabilities, _port(data)),
        tuple(map(_transport, carriers)),
    )


def _tagged(
    description: sdp.SessionDescription, audio: sdp.MediaDescription, data: sdp.MediaDescription | None
) -> sdp.MediaDescription | None:
    """The section that describes the transport of both, if they share one: the first of their bundle (RFC 9143 §7.2)."""
    for group in description.group:
        if data is not None and group.semantic == "BUNDLE" and {audio.rtp.muxId, data.rtp.muxId} <= set(group.items):
            return next((section for section in (audio, data) if section.rtp.muxId == group.items[0]), audio)
    return None


def _transport(section: sdp.MediaDescription) -> RemoteTransport:
    if section.ice is None or not section.ice.usernameFragment or not section.ice.password:
        raise MediaError(f"the {section.kind} section has no a=ice-ufrag and a=ice-pwd; expected those of WebRTC")
    if section.dtls is None or not section.dtls.fingerprints:
        raise MediaError(f"the {section.kind} section has no a=fingerprint and a=setup; expected those of WebRTC")
    return RemoteTransport(section.ice, section.ice_candidates, section.ice_candidates_complete, section.dtls)


def _port(section: sdp.MediaDescription) -> int:
    return int(section.fmt[0]) if section.profile == DRAFT_PROFILE else section.sctp_port or _SCTP_PORT
