"""Writes our side of a session: the sections of an offer or an answer (RFC 9429 §5.2, §5.3)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from aiortc import RTCDtlsTransport, RTCIceTransport, RTCSctpTransport, sdp
from aiortc.rtcdtlstransport import RTCDtlsParameters
from aiortc.rtcrtpparameters import RTCRtpCodecParameters, RTCRtpHeaderExtensionParameters, RTCRtpParameters

from voiceagent.media.webrtc.remote_description import DRAFT_PROFILE, NAME_EXTENSION

DATA_PROFILE = "UDP/DTLS/SCTP"

_NO_HOST, _NO_PORT = "0.0.0.0", 9
_STREAMS = 65_535
_NTP_EPOCH_S = 2_208_988_800


def _name() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class AudioNames:
    """The names of the audio that we send."""

    ssrc: int
    cname: str = field(default_factory=_name)
    stream: str = field(default_factory=_name)
    track: str = field(default_factory=_name)


def audio_section(
    names: AudioNames, mid: str, codecs: Sequence[RTCRtpCodecParameters], direction: str, name_extension: int
) -> sdp.MediaDescription:
    """The section of our audio; `place_on` completes it. `name_extension`: the number of the header extension that names the
    section, 0 for none."""
    extensions = [RTCRtpHeaderExtensionParameters(name_extension, NAME_EXTENSION)] if name_extension else []
    section = sdp.MediaDescription("audio", _NO_PORT, "UDP/TLS/RTP/SAVPF", [codec.payloadType for codec in codecs])
    section.direction = direction
    section.msid = f"{names.stream} {names.track}"
    section.rtp = RTCRtpParameters(codecs=list(codecs), headerExtensions=extensions, muxId=mid)
    section.rtcp_host, section.rtcp_port, section.rtcp_mux = _NO_HOST, _NO_PORT, True
    section.ssrc = [sdp.SsrcDescription(ssrc=names.ssrc, cname=names.cname)]
    return section


def data_section(sctp: RTCSctpTransport, mid: str, profile: str = DATA_PROFILE) -> sdp.MediaDescription:
    """The section of the data channel, also in the form of its drafts; `place_on` completes it."""
    if profile == DRAFT_PROFILE:
        section = sdp.MediaDescription("application", _NO_PORT, profile, [sctp.port])
        section.sctpmap[sctp.port] = f"webrtc-datachannel {_STREAMS}"
    else:
        section = sdp.MediaDescription("application", _NO_PORT, DATA_PROFILE, ["webrtc-datachannel"])
        section.sctp_port = sctp.port
    section.rtp.muxId = mid
    section.sctpCapabilities = sctp.getCapabilities()
    return section


def place_on(section: sdp.MediaDescription, ice: RTCIceTransport, dtls: RTCDtlsTransport, role: str) -> None:
    """Write into `section` the transport that carries it. `role` of DTLS: client, server or auto."""
    gatherer = ice.iceGatherer
    section.ice = gatherer.getLocalParameters()
    section.ice_candidates = gatherer.getLocalCandidates()
    section.ice_candidates_complete = True
    first = next(iter(section.ice_candidates), None)
    section.host, section.port = (_NO_HOST, _NO_PORT) if first is None else (first.ip, first.port)
    section.dtls = RTCDtlsParameters(fingerprints=dtls.getLocalParameters().fingerprints, role=role)


def written(sections: Sequence[sdp.MediaDescription]) -> str:
    """The description with these sections in one bundle."""
    now_s = int(time.time()) + _NTP_EPOCH_S
    description = sdp.SessionDescription()
    description.origin = f"- {now_s} {now_s} IN IP4 {_NO_HOST}"
    description.msid_semantic.append(sdp.GroupDescription(semantic="WMS", items=["*"]))
    description.group.append(sdp.GroupDescription(semantic="BUNDLE", items=[section.rtp.muxId for section in sections]))
    description.media.extend(sections)
    return str(description)
