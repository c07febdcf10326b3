"""What stands before ICE, DTLS and SCTP decides for any bytes, without an error, and lets through what peers really send."""

from __future__ import annotations

from dataclasses import replace

import pytest
from aiortc.rtcsctptransport import Chunk, DataChunk, ForwardTsnChunk, HeartbeatChunk, InitChunk, SackChunk, serialize_packet
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.media.webrtc import dtls_screen
from voiceagent.media.webrtc.datagram_gate import DatagramKind, classify, is_stun
from voiceagent.media.webrtc.sctp_screen import (
    MAX_STREAMS,
    MAX_TSNS_AHEAD,
    MAX_WAITING_BYTES,
    Association,
    SctpVerdict,
    acknowledges,
    chunks_of,
    judge,
)
from voiceagent.token_bucket import Meter, TokenBucket

UP = Association(
    established=True,
    last_received_tsn=1000,
    misordered=0,
    next_tsn=5000,
    last_sacked_tsn=4989,
    waiting_chunks=0,
    waiting_bytes=0,
    streams=frozenset({1}),
)


def verdict_on(*chunks: Chunk, association: Association = UP) -> SctpVerdict:
    packet = serialize_packet(5000, 5000, 1, chunks[0])
    return judge(chunks_of(packet + b"".join(map(bytes, chunks[1:]))), association)


def data(tsn: int, stream: int = 1, size: int = 100) -> DataChunk:
    chunk = DataChunk(flags=3)
    chunk.tsn, chunk.stream_id, chunk.user_data = tsn, stream, bytes(size)
    return chunk


def sack(acknowledged: int, *gaps: tuple[int, int]) -> SackChunk:
    chunk = SackChunk()
    chunk.cumulative_tsn, chunk.gaps = acknowledged, list(gaps)
    return chunk


def skip(tsn: int, streams: int) -> ForwardTsnChunk:
    chunk = ForwardTsnChunk()
    chunk.cumulative_tsn, chunk.streams = tsn, [(stream, 0) for stream in range(streams)]
    return chunk


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (data(1001), SctpVerdict.TAKE),
        (data(1000), SctpVerdict.TAKE),
        (data(1000 + MAX_TSNS_AHEAD), SctpVerdict.TAKE),
        (data(1001 + MAX_TSNS_AHEAD), SctpVerdict.EXCESS),
        (sack(4990), SctpVerdict.TAKE),
        (sack(4990, (2, 3), (5, 9)), SctpVerdict.TAKE),
        (sack(4990, (2, 3), (3, 9)), SctpVerdict.MALFORMED),
        (sack(4990, (2, 10)), SctpVerdict.MALFORMED),
        (sack(5000), SctpVerdict.MALFORMED),
        (sack(4000, (1, 60_000)), SctpVerdict.TAKE),  # out of date: not looked at
        (skip(1010, MAX_STREAMS - 1), SctpVerdict.TAKE),
        (skip(1010, MAX_STREAMS + 1), SctpVerdict.MALFORMED),
        (InitChunk(), SctpVerdict.MALFORMED),
        (HeartbeatChunk(), SctpVerdict.TAKE),
    ],
)
def test_sctp_is_taken_as_far_as_it_is_possible(chunk: Chunk, expected: SctpVerdict) -> None:
    assert verdict_on(chunk) is expected


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        ([sack(4990)], True),
        ([sack(4989)], False),  # said before
        ([sack(4989, (2, 3))], False),
        ([sack(4000)], False),
        ([sack(4990), data(1001)], False),
        ([data(1001)], False),
    ],
)
def test_an_acknowledgement_of_what_was_not_acknowledged_is_told_from_all_else(chunks: list[Chunk], expected: bool) -> None:
    packet = serialize_packet(5000, 5000, 1, chunks[0])
    assert acknowledges(chunks_of(packet + b"".join(map(bytes, chunks[1:]))), UP) is expected


def test_a_message_that_does_not_end_is_told_from_one_that_misses_a_piece() -> None:
    in_order = replace(UP, waiting_bytes=MAX_WAITING_BYTES, waiting_chunks=300)
    with_a_gap = replace(in_order, misordered=40)
    beyond = replace(with_a_gap, waiting_bytes=2 * MAX_WAITING_BYTES)
    assert verdict_on(data(1001), association=in_order) is SctpVerdict.ENDLESS
    assert verdict_on(data(1001), association=with_a_gap) is SctpVerdict.TAKE
    assert verdict_on(data(1002), association=with_a_gap) is SctpVerdict.EXCESS
    assert verdict_on(data(1001), association=beyond) is SctpVerdict.ENDLESS


@given(st.binary(max_size=300), st.binary(max_size=40))
def test_any_packet_is_judged(packet: bytes, tail: bytes) -> None:
    for candidate in (packet, bytes(12) + packet, bytes(serialize_packet(1, 1, 1, data(1001))) + tail):
        try:
            chunks = chunks_of(candidate)
        except ValueError:
            continue
        assert judge(chunks, UP) in SctpVerdict


@given(st.binary(max_size=300))
def test_any_datagram_is_classified_and_screened(datagram: bytes) -> None:
    kind = classify(datagram)
    assert not datagram or kind in DatagramKind
    assert not is_stun(datagram) or kind is DatagramKind.STUN or datagram[0] > 3
    for start in (b"", b"\x16\xfe\xfd" + bytes(8)):
        assert dtls_screen.passes(start + datagram, dtls_screen.FROM_SERVER) in (True, False)


def test_a_meter_forgives_bursts_and_not_persistence() -> None:
    meter = Meter(TokenBucket(10, 20), TokenBucket(1, 5))
    assert [meter.admit(10, 0.0) for _ in range(2)] == [True, True]
    assert [meter.admit(5, 0.5), meter.admit(5, 0.5)] == [True, False]
    assert not meter.exhausted
    assert not meter.admit(5, 0.5)
    assert meter.exhausted
    assert not meter.admit(1, 100.0)
    assert (meter.refusals, meter.refused) == (3, 11)
