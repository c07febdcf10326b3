"""Offers with sections that nobody serves: each is answered at its place with port 0, and the call works. aiortc on both ends; it
cannot read a refused section, so the caller is given the answer without them."""

from __future__ import annotations

import asyncio
import re

import numpy as np
import pytest
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription

from tests.aiortc_peer import PacedTrack, allow_loopback, opus_only
from tests.media.conftest import tone
from tests.media.test_connections import offer_of
from voiceagent.errors import MediaError
from voiceagent.media.paced_audio import PacedAudio
from voiceagent.media.playout import Playout
from voiceagent.media.webrtc.offered_sections import MAX_SECTIONS, read_sections
from voiceagent.media.webrtc.session_description import read_offer
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg

KEYS = ["a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuvwx", "a=setup:actpass", "a=rtcp-mux"]


def video(codec: str, *more: str) -> list[str]:
    return ["m=video 9 UDP/TLS/RTP/SAVPF 45", "c=IN IP4 0.0.0.0", *KEYS, "a=sendrecv", f"a=rtpmap:45 {codec}/90000", *more]


HIGH = "a=fmtp:45 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=640c1f"
SIMULCAST = ["a=rid:hi send", "a=rid:lo send pt=45", "a=simulcast:send hi;lo", "a=ssrc-group:SIM 1 2", "a=fmtp:99 apt=98"]
UNSERVED = {
    "AV1": video("AV1", "a=fmtp:45 level-idx=5;profile=0;tier=0"),
    "H265": video("H265", "a=fmtp:45 level-id=93;tx-mode=SRST"),
    "VP9": video("VP9", "a=fmtp:45 profile-id=2"),
    "VP8": video("VP8"),
    "H.264 High": video("H264", HIGH),
    "simulcast": video("VP8", *SIMULCAST),
    "no codec that anybody knows": video("x-future"),
    "bundle-only": [video("VP8")[0].replace("video 9", "video 0"), "a=bundle-only", *video("VP8")[1:]],
    "refused already": [video("VP8")[0].replace("video 9", "video 0"), "a=inactive"],
    "many payload types": ["m=video 9 UDP/TLS/RTP/SAVPF " + " ".join(map(str, range(35, 128))), *KEYS],
    "forbidden payload types": ["m=video 9 UDP/TLS/RTP/SAVPF 72 300", *KEYS],
    "second audio": ["m=audio 9 UDP/TLS/RTP/SAVPF 0 8", *KEYS, "a=sendrecv", "a=rtpmap:0 PCMU/8000"],
    "second audio with Opus": ["m=audio 9 UDP/TLS/RTP/SAVPF 111", *KEYS, "a=recvonly", "a=rtpmap:111 opus/48000/2"],
    "text": ["m=text 9 UDP/TLS/RTP/SAVPF 98", *KEYS, "a=rtpmap:98 t140/1000"],
    "fax": ["m=image 9 udptl t38", "a=T38FaxVersion:0", "a=T38FaxRateManagement:transferredTCF"],
    "message": ["m=message 7654 TCP/TLS/MSRP *", "a=path:msrps://[::1]:7654/x;tcp"],
    "application of another kind": ["m=application 9 UDP/TLS/BFCP *", "a=floorctrl:c-only", "a=setup:active"],
    "several ports": ["m=video 49170/2 RTP/AVP 31", "c=IN IP4 224.2.1.1/127/3"],
    "attributes that cannot be read": ["m=video 9 UDP/TLS/RTP/SAVPF 96", "a=rtpmap:x", "a=fmtp:1", "a=ssrc:z", "a=extmap:"],
}
SECOND_CHANNEL = ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", *KEYS, "a=sctp-port:5000"]


def with_section(sdp: str, lines: list[str], place: int, mid: str = "x") -> str:
    """The offer with one more section, in the bundle at its place."""
    session, *sections = re.split(r"(?=^m=)", sdp, flags=re.MULTILINE)
    sections.insert(place, "\r\n".join([*lines, f"a=mid:{mid}"]) + "\r\n")
    mids = [mid for section in sections for mid in re.findall(r"^a=mid:(\S+)", section, re.MULTILINE)]
    return re.sub(r"BUNDLE .*", f"BUNDLE {' '.join(mids)}\r", session) + "".join(sections)


def heads(sdp: str) -> list[tuple[str, str, str]]:
    """Kind, port and name of each section."""
    sections = re.split(r"(?=^m=)", sdp, flags=re.MULTILINE)[1:]
    found = []
    for section in sections:
        kind, port = section.split()[0][2:], section.split()[1]
        found.append((kind, port, "".join(re.findall(r"^a=mid:(\S+)", section, re.MULTILINE))))
    return found


def accepted(answer: str) -> str:
    """The answer without its refused sections."""
    session, *sections = re.split(r"(?=^m=)", answer, flags=re.MULTILINE)
    return session + "".join(section for section in sections if section.split()[1] != "0")


async def speaking_peer(*, data_first: bool = False) -> tuple[RTCPeerConnection, str]:
    """A caller who speaks: its connection and its offer."""
    allow_loopback()
    peer = RTCPeerConnection(RTCConfiguration(iceServers=[], alwaysNegotiateDataChannels=data_first))
    playout = Playout()
    playout.push(1, 0, tone(9.0), complete=True)
    peer.addTransceiver(PacedTrack(PacedAudio(playout.take_frame)), direction="sendrecv").setCodecPreferences(opus_only())
    if not data_first:
        peer.createDataChannel("oai-events")
    await peer.setLocalDescription(await peer.createOffer())
    return peer, peer.localDescription.sdp


async def works(peer: RTCPeerConnection, leg: WebRtcLeg, answer: str) -> None:
    """The call works: its audio is heard, and its data channel opens."""
    await peer.setRemoteDescription(RTCSessionDescription(sdp=accepted(answer), type="answer"))
    try:
        async with asyncio.timeout(15):
            assert await leg.wait_connected()
            async for frame in leg.frames():
                if np.abs(frame.pcm).max() > 1000:
                    break
            while peer.sctp is None or peer.sctp.state != "connected":  # noqa: ASYNC110  nobody tells of an association
                await asyncio.sleep(0.02)
    finally:
        await peer.close()
        await leg.close()


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("kind", UNSERVED)
async def test_a_section_that_nobody_serves_is_refused_in_its_place(kind: str, place: int) -> None:
    peer, sdp = await offer_of()
    await peer.close()
    leg, answer = await WebRtcLeg.answer(with_section(sdp, UNSERVED[kind], place))
    await leg.close()
    expected = [("audio", "0"), ("application", "1")]
    expected.insert(place, (UNSERVED[kind][0].split()[0][2:], "x"))
    assert [(kind, mid) for kind, _, mid in heads(answer)] == expected
    assert [mid for _, port, mid in heads(answer) if port == "0"] == ["x"]
    assert "a=group:BUNDLE 0 1\r\n" in answer
    protocols = [line.split()[2] for line in answer.splitlines() if line.startswith("m=")]
    assert protocols[place] == UNSERVED[kind][0].split()[2]


@pytest.mark.parametrize("kind", ["AV1", "second audio with Opus", "fax", "bundle-only"])
async def test_a_call_works_beside_a_refused_section(kind: str) -> None:
    peer, sdp = await speaking_peer()
    leg, answer = await WebRtcLeg.answer(with_section(sdp, UNSERVED[kind], 0), private_candidates=True)
    await works(peer, leg, answer)


async def test_a_call_works_where_the_refused_section_alone_carries_the_bundles_transport() -> None:
    peer, sdp = await speaking_peer()
    session, audio, data = re.split(r"(?=^m=)", sdp, flags=re.MULTILINE)
    carried = re.findall(r"^a=(?:ice-|fingerprint|setup|candidate).*\r\n", audio, re.MULTILINE)
    for line in carried:
        audio, data = audio.replace(line, ""), data.replace(line, "")
    audio = re.sub(r"m=audio \d+", "m=audio 0", audio) + "a=bundle-only\r\n"
    lines = ["m=video 9 UDP/TLS/RTP/SAVPF 45", *"".join(carried).splitlines()]
    offer = with_section(session + audio + data, lines, 0)
    leg, answer = await WebRtcLeg.answer(offer, private_candidates=True)
    await works(peer, leg, answer)


async def test_a_call_works_whatever_its_sections_order() -> None:
    peer, sdp = await speaking_peer(data_first=True)
    leg, answer = await WebRtcLeg.answer(with_section(sdp, UNSERVED["H265"], 1), private_candidates=True)
    assert [kind for kind, _, _ in heads(answer)] == ["application", "video", "audio"]
    await works(peer, leg, answer)


async def test_a_call_works_without_a_bundle_and_its_answer_has_none() -> None:
    peer, sdp = await speaking_peer()
    offer = re.sub(r"a=group:BUNDLE.*\r\n", "", with_section(sdp, UNSERVED["VP9"], 1))
    leg, answer = await WebRtcLeg.answer(offer, private_candidates=True)
    assert "BUNDLE" not in answer
    await works(peer, leg, answer)


async def test_sections_of_an_old_offer_need_no_names() -> None:
    peer, sdp = await offer_of(data=False)
    await peer.close()
    bare = re.sub(r"a=(group|mid).*\r\n", "", sdp)
    leg, answer = await WebRtcLeg.answer(bare + "\r\n".join(UNSERVED["VP8"]) + "\r\n")
    await leg.close()
    assert [(kind, port == "0") for kind, port, _ in heads(answer)] == [("audio", False), ("video", True)]
    assert "a=mid" not in answer


async def test_of_two_audio_sections_the_one_with_opus_that_sends_and_hears_is_served() -> None:
    peer, sdp = await offer_of(data=False)
    await peer.close()
    other = UNSERVED["second audio with Opus"]
    for lines, place in ((other, 0), (other, 1), (UNSERVED["second audio"], 0)):
        leg, answer = await WebRtcLeg.answer(with_section(sdp, lines, place))
        await leg.close()
        assert [mid for _, port, mid in heads(answer) if port != "0"] == ["0"]


@pytest.mark.parametrize(("direction", "answered"), [("sendonly", "recvonly"), ("inactive", "inactive")])
async def test_a_caller_who_wants_no_audio_has_a_call_whose_replies_come_to_their_end(direction: str, answered: str) -> None:
    peer, sdp = await speaking_peer()
    leg, answer = await WebRtcLeg.answer(
        sdp.replace("a=sendrecv", f"a={direction}", 1), private_candidates=True, silence_timeout_s=0.1
    )
    assert re.findall("a=(?:sendrecv|sendonly|recvonly|inactive)", answer) == [f"a={answered}"]
    await peer.setRemoteDescription(RTCSessionDescription(sdp=answer, type="answer"))
    async with asyncio.timeout(15):
        assert await leg.wait_connected()
        played = asyncio.Event()
        leg.playout.on_sent = lambda position: played.set() if position[2] >= 1000.0 else None
        leg.playout.push(1, 0, tone(1.0), complete=True)
        await played.wait()
    assert not leg.end_reason
    await peer.close()
    await leg.close()


async def test_of_two_data_channels_the_first_is_served() -> None:
    peer, sdp = await offer_of()
    await peer.close()
    leg, answer = await WebRtcLeg.answer(with_section(sdp, SECOND_CHANNEL, 2))
    await leg.close()
    assert [port == "0" for _, port, _ in heads(answer)] == [False, False, True]


async def test_other_codecs_of_the_audio_section_cannot_fail() -> None:
    peer, sdp = await offer_of()
    await peer.close()
    odd = "a=rtpmap:97 EVS/16000\r\na=fmtp:18 annexb=no\r\na=fmtp:97 br=5.9\r\na=rtpmap:98 x/y\r\n"
    types = re.findall(r"m=audio \d+ \S+ (.*)\r", sdp)[0] + " 18 97 98 72"
    offer = re.sub(r"(m=audio \d+ \S+) .*\r\n", rf"\1 {types}\r\n{odd}", sdp)
    leg, answer = await WebRtcLeg.answer(offer)
    await leg.close()
    assert "opus/48000/2" in answer
    assert "EVS" not in answer


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["m=video"], "malformed ('m=video'); expected m=<media> <port> <protocol> <formats>"),
        (["m=video x UDP/TLS/RTP/SAVPF 45"], "malformed"),
        (["m=video 9 UDP/TLS/RTP/SAVPF é"], "malformed"),
    ],
)
def test_a_section_that_cannot_be_read_is_one_line(lines: list[str], message: str) -> None:
    with pytest.raises(MediaError, match=re.escape(message)):
        read_offer("v=0\r\ns=-\r\n" + "\r\n".join(lines) + "\r\n")


def test_audio_that_cannot_be_served_is_still_refused_whole() -> None:
    session = "v=0\r\ns=-\r\n"
    with pytest.raises(MediaError, match=r"no Opus \(it offers PCMU\)"):
        read_offer(session + "\r\n".join([*UNSERVED["second audio"], *UNSERVED["AV1"]]) + "\r\n")
    with pytest.raises(MediaError, match=r"no audio \(it offers video\)"):
        read_offer(session + "\r\n".join(UNSERVED["AV1"]) + "\r\n")
    with pytest.raises(MediaError, match=f"{MAX_SECTIONS + 1} media sections"):
        read_sections(session + "m=video 9 RTP/AVP 31\r\n" * (MAX_SECTIONS + 1))
    with pytest.raises(MediaError, match="expected a different a=mid for each"):
        read_sections(session + "m=video 9 RTP/AVP 31\r\na=mid:1\r\n" * 2)
    with pytest.raises(MediaError, match="the offer bundles 7, which it does not hold"):
        read_sections(session + "a=group:BUNDLE 7\r\n")
