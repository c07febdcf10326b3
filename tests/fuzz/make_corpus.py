"""Writes the corpora anew: `python -m tests.fuzz.make_corpus`. Packets are those of a real call of our own caller on loopback,
and of the standards' other shapes that aiortc can write; offers have the shapes of Chromium's and Firefox's (RFC 8829)."""

from __future__ import annotations

import asyncio
import hashlib
import json
import struct
from collections import defaultdict
from typing import Any, SupportsBytes

import pytest
from aioice import stun
from aiortc import rtcsctptransport as sctp
from aiortc import rtp

from tests.fuzz.live_call import LiveCall
from tests.fuzz.target import CORPUS
from tests.media.conftest import tone
from voiceagent.media.rtp import RtpPacket
from voiceagent.media.webrtc.ice_connection import GatedProtocol
from voiceagent.media.webrtc.rtcp import Rtcp

KEPT = {"stun": 8, "dtls": 14, "rtp": 6, "rtcp": 8, "sctp": 12}
"""Of each kind that were recorded, those of different sizes."""
TRANSACTION = bytes(range(12))
FINGERPRINT = ":".join(["AB"] * 32)


class Recorder:
    """Keeps what both ends of a call receive."""

    def __init__(self) -> None:
        self.found: dict[str, list[bytes]] = defaultdict(list)

    def keep(self, kind: str, data: bytes) -> None:
        sizes = [len(known) for known in self.found[kind]]
        if data and len(sizes) < KEPT[kind] and sizes.count(len(data)) < 1:
            self.found[kind].append(data)

    def listen(self) -> None:
        """Wraps what aioice and aiortc read with, for the rest of this process."""
        received = GatedProtocol.datagram_received
        rtcp, data_of = Rtcp.receive, sctp.RTCSctpTransport._handle_data
        parsed = RtpPacket.parse.__func__  # type: ignore[attr-defined]  # a class method's function

        def datagram_received(protocol: Any, data: bytes, addr: Any) -> None:
            self.keep("dtls" if data and 19 < data[0] < 64 else "stun", data) if data and data[0] < 64 else None
            received(protocol, data, addr)

        def take_rtcp(reporter: Any, data: bytes) -> None:
            self.keep("rtcp", data)
            rtcp(reporter, data)

        async def handle_data(transport: Any, data: bytes) -> None:
            self.keep("sctp", data)
            await data_of(transport, data)

        def parse(cls: Any, data: bytes) -> Any:
            self.keep("rtp", data)
            return parsed(cls, data)

        patch = pytest.MonkeyPatch()
        patch.setattr(GatedProtocol, "datagram_received", datagram_received)
        patch.setattr(Rtcp, "receive", take_rtcp)
        patch.setattr(sctp.RTCSctpTransport, "_handle_data", handle_data)
        patch.setattr(RtpPacket, "parse", classmethod(parse))


async def recorded() -> dict[str, list[bytes]]:
    """What a call of some seconds sends both ways, with loss reports, events of many sizes and its end."""
    recorder = Recorder()
    recorder.listen()
    call = LiveCall()
    await call.open()
    call.caller.say(tone(3.0))
    for size in (10, 500, 3000, 60_000):
        call.caller.send_event({"type": "session.update", "session": {"instructions": "x" * size}})
        call.leg.send_event({"type": "voiceagent.test", "text": "y" * size})
    await call.caller.wait_said()
    await call.close()
    return recorder.found


def other_stun() -> list[bytes]:
    """Requests, answers and errors with every attribute that aioice knows (RFC 8489, RFC 8445, RFC 8656)."""
    values: dict[str, Any] = {
        "USERNAME": "abcd:efgh",
        "PRIORITY": 1_845_501_695,
        "ICE-CONTROLLING": 2**63,
        "USE-CANDIDATE": None,
        "XOR-MAPPED-ADDRESS": ("127.0.0.1", 5000),
        "MAPPED-ADDRESS": ("::1", 5000),
        "SOFTWARE": "none",
        "REALM": "a",
        "ERROR-CODE": (487, "Role Conflict"),
        "ICE-CONTROLLED": 1,
        "LIFETIME": 600,
        "NONCE": b"abc",
        "DATA": b"\x00" * 20,
        "XOR-PEER-ADDRESS": ("::1", 1),
        "CHANNEL-NUMBER": 0x4000,
        "REQUESTED-TRANSPORT": 17 << 24,
    }
    kinds = ((stun.Class.REQUEST, 4), (stun.Class.RESPONSE, 6), (stun.Class.ERROR, 10), (stun.Class.INDICATION, 16))
    made = []
    for kind, attributes in kinds:
        message = stun.Message(stun.Method.BINDING, kind, TRANSACTION, dict(list(values.items())[attributes - 4 : attributes]))
        message.add_message_integrity(b"password")
        made.append(bytes(message))
    return made


def other_rtcp() -> list[bytes]:
    """Reports, descriptions, goodbyes and feedback (RFC 3550, RFC 4585, RFC 5104, draft-alvestrand-rmcat-remb)."""
    report = rtp.RtcpReceiverInfo(ssrc=1, fraction_lost=3, packets_lost=-1, highest_sequence=9, jitter=5, lsr=7, dlsr=8)
    sender = rtp.RtcpSenderInfo(ntp_timestamp=2**63, rtp_timestamp=1, packet_count=2, octet_count=3)
    source = rtp.RtcpSourceInfo(ssrc=1, items=[(1, b"name")])
    packets: list[SupportsBytes] = [
        rtp.RtcpSrPacket(ssrc=1, sender_info=sender, reports=[report] * 2),
        rtp.RtcpRrPacket(ssrc=1, reports=[report]),
        rtp.RtcpSdesPacket(chunks=[source]),
        rtp.RtcpByePacket(sources=[1, 2]),
        rtp.RtcpRtpfbPacket(fmt=rtp.RTCP_RTPFB_NACK, ssrc=1, media_ssrc=2, lost=[10, 12, 40]),
        rtp.RtcpPsfbPacket(fmt=rtp.RTCP_PSFB_PLI, ssrc=1, media_ssrc=2),
        rtp.RtcpPsfbPacket(fmt=rtp.RTCP_PSFB_APP, ssrc=1, media_ssrc=0, fci=rtp.pack_remb_fci(500_000, [1, 2])),
    ]
    whole = [bytes(packet) for packet in packets]
    transport_wide = struct.pack("!BBHLL", 0x8F, 205, 4, 1, 2) + struct.pack("!HHL", 1, 2, 0x00000101) + bytes([0x20, 2, 4, 8])
    return [*whole, b"".join(whole[:4]), transport_wide]


def other_rtp() -> list[bytes]:
    """With a contributing source, header extensions of one and of two bytes, padding (RFC 3550 §5.1, RFC 8285)."""
    header = struct.pack("!BBHLL", 0x80, 0x80 | 96, 1, 960, 7)
    one = bytes([0x90]) + header[1:] + struct.pack("!HH", 0xBEDE, 1) + b"\x10\x7f\x00\x00" + b"\xf8\xff\xfe"
    two = bytes([0x90]) + header[1:] + struct.pack("!HH", 0x1000, 1) + b"\x01\x02\x00\x00" + b"\xf8\xff\xfe"
    source = bytes([0x81]) + header[1:] + b"\x00\x00\x00\x09" + b"\xf8"
    padded = bytes([0xA0]) + header[1:] + b"\xf8\x00\x00\x03"
    return [one, two, source, padded, header + b"\xf8" + bytes(400)]


def other_sctp() -> list[bytes]:
    """Every chunk that aiortc knows (RFC 9260 §3.3, RFC 3758, RFC 6525), and a channel's opening (RFC 8832 §5.1)."""
    data = sctp.DataChunk(flags=3)
    data.tsn, data.stream_id, data.stream_seq, data.protocol, data.user_data = 1, 1, 0, 51, b'{"type":"response.create"}'
    opening = sctp.DataChunk(flags=3)
    opening.tsn, opening.stream_id, opening.stream_seq, opening.protocol = 2, 3, 0, 50
    opening.user_data = struct.pack("!BBHLHH", 3, 0, 0, 0, 10, 0) + b"oai-events"
    piece = sctp.DataChunk(flags=2)
    piece.tsn, piece.stream_id, piece.stream_seq, piece.protocol, piece.user_data = 9, 1, 3, 51, b"x" * 200
    sack = sctp.SackChunk()
    sack.cumulative_tsn, sack.advertised_rwnd, sack.duplicates, sack.gaps = 5, 131_072, [7], [(2, 3)]
    forward = sctp.ForwardTsnChunk()
    forward.cumulative_tsn, forward.streams = 7, [(1, 2)]
    init = sctp.InitChunk()
    init.initiate_tag, init.advertised_rwnd, init.outbound_streams, init.inbound_streams, init.initial_tsn = 1, 131_072, 9, 9, 1
    reconfigure = sctp.ReconfigChunk()
    reset = sctp.StreamResetOutgoingParam(request_sequence=1, response_sequence=2, last_tsn=3, streams=[1])
    add = sctp.StreamAddOutgoingParam(request_sequence=1, new_streams=16)
    answer = sctp.StreamResetResponseParam(response_sequence=1, result=1)
    reconfigure.params = [(13, bytes(reset)), (17, bytes(add)), (16, bytes(answer))]
    beat, abort, error = sctp.HeartbeatChunk(), sctp.AbortChunk(), sctp.ErrorChunk()
    beat.params, abort.params, error.params = [(1, b"info" * 4)], [(12, b"")], [(3, bytes(8))]
    shutdown = sctp.ShutdownChunk()
    shutdown.cumulative_tsn = 1
    plain = [
        sctp.CookieEchoChunk(body=b"cookie" * 4),
        sctp.CookieAckChunk(),
        sctp.ShutdownAckChunk(),
        sctp.ShutdownCompleteChunk(),
    ]
    chunks = [data, opening, piece, sack, forward, init, reconfigure, beat, abort, error, shutdown, *plain]
    whole = [sctp.serialize_packet(5000, 5000, 0, chunk) for chunk in chunks]
    return [*whole, whole[0] + b"".join(bytes(chunk) for chunk in (piece, sack, forward))]


def other_dtls() -> list[bytes]:
    """Alerts, a change of ciphers, a request to say hello again, data of another epoch (RFC 6347 §4.1)."""
    header = struct.Struct("!BHHHLH")

    def record(kind: int, body: bytes, *, version: int = 0xFEFD, epoch: int = 0) -> bytes:
        return header.pack(kind, version, epoch, 0, 1, len(body)) + body

    hello_verify = b"\x03\x00\x00\x17\x00\x00\x00\x00\x00\x00\x00\x17\xfe\xff\x14" + bytes(20)
    alerts = [record(21, bytes([level, code])) for level, code in ((2, 40), (1, 0), (2, 10))]
    more = [
        record(20, b"\x01"),
        record(22, hello_verify, version=0xFEFF),
        record(23, bytes(40), epoch=1),
        record(21, b"", epoch=1),
    ]
    return [*alerts, *more, record(22, bytes(12)), record(25, bytes(20))]


def offers() -> list[bytes]:
    """As browsers write them, all on loopback."""

    def audio(codecs: str, lines: list[str]) -> list[str]:
        return [f"m=audio 9 UDP/TLS/RTP/SAVPF {codecs}", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0", *lines]

    def ice(setup: str = "actpass") -> list[str]:
        key = ["a=ice-ufrag:abcd", "a=ice-pwd:abcdefghijklmnopqrstuvwx", "a=ice-options:trickle"]
        return [*key, f"a=fingerprint:sha-256 {FINGERPRINT}", f"a=setup:{setup}"]

    opus = ["a=rtpmap:111 opus/48000/2", "a=rtcp-fb:111 transport-cc", "a=fmtp:111 minptime=10;useinbandfec=1"]
    level = ["a=extmap:1 urn:ietf:params:rtp-hdrext:ssrc-audio-level", "a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid"]
    others = ["a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111", "a=rtpmap:0 PCMU/8000", "a=rtpmap:126 telephone-event/8000"]
    channel = ["m=application 9 UDP/DTLS/SCTP webrtc-datachannel", "c=IN IP4 0.0.0.0"]
    host = "a=candidate:1 1 udp 2122260223 127.0.0.1 9 typ host generation 0 network-id 1"
    tcp = "a=candidate:2 1 tcp 1518280447 127.0.0.1 9 typ host tcptype active generation 0"
    local = "a=candidate:3 1 udp 2122194687 0c5a4d4e-0000-4000-8000-000000000000.local 9 typ host"
    relay = "a=candidate:4 1 udp 41885439 127.0.0.1 9 typ relay raddr 0.0.0.0 rport 0"
    chromium_head = ["v=0", "o=- 46117317 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1", "a=extmap-allow-mixed"]
    source = ["a=ssrc:1001 cname:name", "a=ssrc:1001 msid:- track"]
    sctp_lines = ["a=mid:1", "a=sctp-port:5000", "a=max-message-size:262144"]
    speech = ["a=mid:0", *level, "a=sendrecv", "a=msid:- track", "a=rtcp-mux", "a=rtcp-rsize"]
    chromium = [
        *chromium_head,
        "a=msid-semantic: WMS",
        *audio("111 63 0 126", [host, tcp, *ice(), *speech, *opus, *others, *source]),
    ]
    chromium += [*channel, host, *ice(), *sctp_lines]
    firefox = [
        "v=0",
        "o=mozilla...THIS_IS_SDPARTA-99.0 1 0 IN IP4 0.0.0.0",
        "s=-",
        "t=0 0",
        f"a=fingerprint:sha-256 {FINGERPRINT}",
    ]
    firefox += ["a=group:BUNDLE 0 1", "a=ice-options:trickle", "a=msid-semantic:WMS *"]
    firefox += audio(
        "109 9 0 8 101", [local, relay, "a=sendrecv", "a=end-of-candidates", *level, "a=fmtp:109 maxplaybackrate=48000;stereo=1"]
    )
    firefox += [
        "a=mid:0",
        "a=rtcp-mux",
        "a=rtpmap:109 opus/48000/2",
        "a=rtpmap:9 G722/8000/1",
        "a=rtpmap:101 telephone-event/8000",
    ]
    firefox += [*ice(), "a=ssrc:1 cname:{name}", *channel, "a=sendrecv", *ice(), *sctp_lines]
    bare = [*chromium_head[:4], *audio("111", [*ice("active"), "a=mid:0", "a=rtcp-mux", *opus])]
    video = [*bare[:4], "a=group:BUNDLE 0 1", *bare[4:], "m=video 9 UDP/TLS/RTP/SAVPF 96", "c=IN IP4 0.0.0.0", *ice()]
    video += ["a=mid:1", "a=rtpmap:96 VP8/90000", "a=rtcp-mux", "a=recvonly"]
    old = [
        *bare,
        "m=application 9 DTLS/SCTP 5000",
        "c=IN IP4 0.0.0.0",
        *ice(),
        "a=mid:1",
        "a=sctpmap:5000 webrtc-datachannel 1024",
    ]
    return ["\r\n".join(lines).encode() + b"\r\n" for lines in (chromium, firefox, bare, video, old)]


def requests() -> list[bytes]:
    """What clients send to the HTTP port, whole and in parts (RFC 9112). Offers name no candidate."""
    sdp = "\r\n".join(line for line in offers()[0].decode().splitlines() if "candidate" not in line).encode()
    session = b'{"instructions": "Be brief."}'
    parts = b'--x\r\nContent-Disposition: form-data; name="sdp"\r\n\r\n' + sdp + b"\r\n"
    parts += (
        b'--x\r\nContent-Disposition: form-data; name="session"\r\nContent-Type: application/json\r\n\r\n'
        + session
        + b"\r\n--x--\r\n"
    )
    chunked = b"5\r\nv=0\r\n\r\n3;a=b\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"

    def request(line: str, headers: str = "", body: bytes = b"") -> bytes:
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        return f"{line} HTTP/1.1\r\nHost: localhost\r\n{headers}{length}\r\n".encode() + body

    calls = "POST /v1/realtime/calls"
    made = [request(f"GET {path}") for path in ("/", "/healthz", "/readyz", "/metrics", "/v1/voiceagent/budgets", "/lib/none.js")]
    made += [
        request("GET /v1/voiceagent/ice_servers", "Authorization: Bearer x\r\n"),
        request("GET /", "If-None-Match: *\r\nRange: bytes=0-10\r\nAccept-Encoding: gzip, br\r\n"),
        request(calls, "Content-Type: application/sdp\r\nAuthorization: Bearer x\r\n", b"v=0\r\n"),
        request(calls, "Content-Type: application/sdp\r\n", sdp[: len(sdp) // 2]),
        request(calls, "Content-Type: multipart/form-data; boundary=x\r\n", parts),
        request(calls, "Content-Type: application/sdp\r\nTransfer-Encoding: chunked\r\n") + chunked,
        request(calls, "Content-Type: application/sdp\r\nExpect: 100-continue\r\n", b"v=0\r\n"),
        request(calls, "Content-Type: application/sdp\r\nContent-Encoding: gzip\r\n", b"\x1f\x8b\x08" + bytes(20)),
        request("POST /v1/realtime/calls/rtc_none/hangup"),
        request("DELETE /v1/realtime/calls/rtc_none"),
        request("OPTIONS /v1/realtime/calls", "Origin: http://a\r\nAccess-Control-Request-Method: POST\r\n"),
        request(
            "GET /v1/realtime",
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x\r\n",
        ),
        request("GET /healthz") * 3,
        b"GET / HTTP/1.0\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ]
    return made


def client_events() -> list[bytes]:
    """One of each that a client may send, and sessions with tools."""
    text = {"type": "input_text", "text": "What time is it?"}
    schema: dict[str, Any] = {
        "type": "object",
        "$defs": {"city": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[a-z ]+$"}},
        "properties": {
            "city": {"$ref": "#/$defs/city"},
            "days": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 7},
            "unit": {"enum": ["c", "f"]},
            "more": {"anyOf": [{"type": "null"}, {"allOf": [{"type": "object"}, {"required": ["a"]}]}]},
        },
        "required": ["city"],
        "additionalProperties": False,
    }
    tool = {"type": "function", "name": "weather", "description": "Tells the weather.", "parameters": schema}
    audio = {"input": {"turn_detection": {"type": "server_vad"}}, "output": {"voice": "alloy"}}
    events: list[dict[str, Any]] = [
        {
            "type": "session.update",
            "session": {"type": "realtime", "instructions": "Be brief.", "audio": audio, "model": "gpt-realtime"},
        },
        {"type": "session.update", "session": {"tools": [tool], "tool_choice": "auto"}, "event_id": "e1"},
        {"type": "session.update", "session": {"tools": [{**tool, "name": "a"}, {**tool, "name": "b", "parameters": {}}]}},
        {"type": "session.update", "session": {"tools": []}},
        {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": [text, text]}},
        {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "id": "item_1", "content": [text]}},
        {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c1", "output": '{"ok": true}'}},
        {"type": "conversation.item.retrieve", "item_id": "item_1"},
        {"type": "conversation.item.delete", "item_id": "item_1"},
        {"type": "conversation.item.truncate", "item_id": "item_1", "content_index": 0, "audio_end_ms": 300},
        *(
            {"type": kind}
            for kind in ("response.create", "response.cancel", "output_audio_buffer.clear", "input_audio_buffer.commit")
        ),
        {"type": "input_audio_buffer.append", "audio": "AAAA"},
        {"type": "response.create", "response": {"instructions": "x", "metadata": {"a": "b"}}},
    ]
    return [json.dumps(event).encode() for event in events]


def main() -> None:
    """Replaces every file of the corpora whose name begins with `made-`: what was added after a finding stays."""
    found = asyncio.run(recorded())
    for kind, more in (
        ("stun", other_stun),
        ("rtp", other_rtp),
        ("rtcp", other_rtcp),
        ("sctp", other_sctp),
        ("dtls", other_dtls),
    ):
        found[kind] += more()
    found |= {"sdp": offers(), "http": requests(), "events": client_events()}
    for kind, inputs in found.items():
        folder = CORPUS / kind
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("made-*"):
            old.unlink()
        for data in inputs:
            (folder / f"made-{hashlib.sha256(data).hexdigest()[:12]}").write_bytes(data)
        print(f"{kind}: {len(inputs)} inputs, {sum(map(len, inputs))} bytes")


if __name__ == "__main__":
    main()
