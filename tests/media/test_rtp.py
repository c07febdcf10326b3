"""RTP and RTCP of a peer, without a network: packets are read and written, streams are counted, reports go back."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest
from aiortc import rtp as aiortc_rtp
from aiortc.rtcrtpparameters import RTCRtpHeaderExtensionParameters, RTCRtpParameters
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.media.rtp import RtpPacket, header, is_rtcp, named_extension
from voiceagent.media.webrtc.remote_description import NAME_EXTENSION
from voiceagent.media.webrtc.rtcp import Rtcp
from voiceagent.media.webrtc.rtp_receiver import MAX_STREAMS, RtpReceiver
from voiceagent.media.webrtc.rtp_sender import OtherPacket, RtpSender

PACKET = RtpPacket(96, 1, 65_535, 2**32 - 1, 7, b"audio")


def extensions() -> aiortc_rtp.HeaderExtensionsMap:
    known = aiortc_rtp.HeaderExtensionsMap()
    known.configure(RTCRtpParameters(headerExtensions=[RTCRtpHeaderExtensionParameters(id=3, uri=NAME_EXTENSION)]))
    return known


@pytest.mark.parametrize("name", ["", "0", "audio", "a" * 16])
def test_another_implementation_reads_what_is_written(name: str) -> None:
    written = header(PACKET, named_extension(3, name)) + PACKET.payload
    read = aiortc_rtp.RtpPacket.parse(written, extensions())
    assert (read.payload_type, read.marker, read.sequence_number, read.timestamp, read.ssrc) == (96, 1, 65_535, 2**32 - 1, 7)
    assert (read.payload, read.extensions.mid or "") == (b"audio", name)
    assert RtpPacket.parse(written) == PACKET


def test_a_name_that_fits_no_extension_is_left_out() -> None:
    assert named_extension(3, "a" * 17) == named_extension(15, "0") == named_extension(0, "0") == b""


def test_sources_extensions_and_padding_are_no_payload() -> None:
    written = header(PACKET)
    sources = bytes([written[0] | 2]) + written[1:] + bytes(8)
    extended = bytes([sources[0] | 0x10]) + sources[1:] + b"\x10\x00\x00\x01" + bytes(4)
    padded = bytes([extended[0] | 0x20]) + extended[1:] + b"audio" + b"\0\0\3"
    assert RtpPacket.parse(padded) == PACKET


@pytest.mark.parametrize(
    "data",
    [
        header(PACKET)[:11],
        b"\x40" + header(PACKET)[1:],
        b"\x8f" + header(PACKET)[1:],
        b"\x90" + header(PACKET)[1:] + b"\xbe\xde",
        b"\x90" + header(PACKET)[1:] + b"\xbe\xde\0\1",
        b"\xa0" + header(PACKET)[1:] + b"\0",
        b"\xa0" + header(PACKET)[1:] + b"\2",
    ],
    ids=["short", "version", "sources", "extension", "its length", "no padding", "too much padding"],
)
def test_a_packet_that_cannot_be_read_is_told(data: bytes) -> None:
    with pytest.raises(ValueError, match="RTP packet"):
        RtpPacket.parse(data)


@given(st.binary(max_size=64), st.integers(0x80, 0xBF))
def test_any_bytes_are_read_as_another_implementation_reads_them_or_refused(data: bytes, first: int) -> None:
    data = bytes([first]) + data
    try:
        found = RtpPacket.parse(data).payload
    except ValueError:
        found = None
    try:
        expected = aiortc_rtp.RtpPacket.parse(data).payload
    except ValueError:
        expected = None
    assert found == expected


def test_rtcp_is_told_from_rtp() -> None:
    assert [is_rtcp(bytes([0x80, kind])) for kind in (111, 96 | 0x80, 200, 201, 206, 207)] == [False, False, *[True] * 4]
    assert not is_rtcp(b"\x80")


class Line:
    """Both directions of one side, and what it sends."""

    def __init__(self, other: OtherPacket | None = None) -> None:
        self.sent: list[bytes] = []
        self.reports: list[bytes] = []
        self.taken: list[RtpPacket] = []
        self.sender = RtpSender(self.sent.append, None if other is None else lambda: other)
        self.receiver = RtpReceiver(self.taken.append, 48_000)
        self.rtcp = Rtcp(self.sender, self.receiver, "name", self.reports.append)


def test_frames_become_one_stream_whose_numbers_wrap() -> None:
    line = Line()
    line.sender.begin(96, b"")
    for number in range(70_000):
        line.sender.send(b"x", number * 960, number == 0)
    packets = [RtpPacket.parse(each) for each in line.sent]
    assert {packet.ssrc for packet in packets} == {line.sender.ssrc}
    assert all((after.sequence_number - before.sequence_number) % 2**16 == 1 for before, after in pairwise(packets))
    assert all((after.timestamp - before.timestamp) % 2**32 == 960 for before, after in pairwise(packets))
    assert [packet.marker for packet in packets[:3]] == [1, 0, 0]
    assert packets[0].sequence_number < 2**15


def test_another_packet_takes_the_place_of_a_frame() -> None:
    line = Line(OtherPacket(101, b"key", True, 320))
    line.sender.begin(0, b"")
    line.sender.send(b"audio", 480, False)
    line.sender.send(b"audio", 640, False)
    first, second = map(RtpPacket.parse, line.sent)
    assert (first.payload_type, first.payload, first.marker) == (101, b"key", 1)
    assert (second.sequence_number - first.sequence_number, second.timestamp - first.timestamp) == (1, 160)


def report_of(line: Line) -> aiortc_rtp.RtcpReceiverInfo:
    [report] = line.receiver.reports()
    return report


def test_loss_is_reported_once_and_counted_over_wraps() -> None:
    line = Line()
    for number in (65_533, 65_534, 0, 1, 65_535):  # 65,535 comes late
        line.receiver.receive(RtpPacket(96, 0, number, number * 960 & 0xFFFF_FFFF, 5, b"x"))
    line.receiver.receive(RtpPacket(96, 0, 4, 4 * 960, 5, b"x"))
    first, second = report_of(line), report_of(line)
    assert (first.packets_lost, first.fraction_lost, first.highest_sequence) == (2, (2 << 8) // 8, 65_536 + 4)
    assert (second.packets_lost, second.fraction_lost) == (2, 0)
    assert len(line.taken) == 6


def test_the_streams_that_are_counted_are_bounded() -> None:
    line = Line()
    for ssrc in range(100):
        line.receiver.receive(RtpPacket(96, 0, 1, 1, ssrc, b"x"))
    assert [report.ssrc for report in line.receiver.reports()] == list(range(100 - MAX_STREAMS, 100))


async def test_reports_of_two_sides_are_read_by_each_other() -> None:
    ours, theirs = Line(), Line()
    ours.sender.begin(96, b"")
    ours.sender.send(b"audio", 0, True)
    theirs.receiver.receive(RtpPacket.parse(ours.sent[0]))
    ours.rtcp.begin()
    ours.rtcp._report()
    theirs.rtcp.receive(ours.reports[0])
    report, source = aiortc_rtp.RtcpPacket.parse(ours.reports[0])
    assert isinstance(report, aiortc_rtp.RtcpSrPacket)
    assert isinstance(source, aiortc_rtp.RtcpSdesPacket)
    assert (report.sender_info.packet_count, report.sender_info.octet_count) == (1, 5)
    assert report_of(theirs).lsr == report.sender_info.ntp_timestamp >> 16 & 0xFFFF_FFFF
    theirs.rtcp.begin()
    theirs.rtcp._report()
    ours.rtcp.receive(theirs.reports[0])
    assert isinstance(aiortc_rtp.RtcpPacket.parse(theirs.reports[0])[0], aiortc_rtp.RtcpRrPacket)
    for line in (ours, theirs):
        line.rtcp.end()
        line.rtcp.end()
        [goodbye] = aiortc_rtp.RtcpPacket.parse(line.reports[1])
        assert goodbye == aiortc_rtp.RtcpByePacket(sources=[line.sender.ssrc])
        assert len(line.reports) == 2


@given(st.binary(max_size=64))
def test_reports_that_cannot_be_read_are_told(data: bytes) -> None:
    with suppress(ValueError):
        Line().rtcp.receive(data)
