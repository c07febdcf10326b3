"""The jitter buffer in virtual time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from voiceagent.audio.jitter_buffer import CLOCK_HZ, AudioPacket, JitterBuffer, Slot, SlotKind

FRAME = CLOCK_HZ // 50
FRAME_MS = 20.0


def packet(
    index: int, arrival_ms: float, *, first: int = 0, ssrc: int = 1, quiet: bool = False, ticks: int | None = None
) -> AudioPacket:
    """Packet number `index` of a stream that starts at sequence number `first`."""
    return AudioPacket(
        ssrc=ssrc,
        sequence=(first + index) & 0xFFFF,
        timestamp=((first * 7919 + (index * FRAME if ticks is None else ticks)) & 0xFFFFFFFF),
        samples=FRAME,
        payload=str(index).encode(),
        arrival_ms=arrival_ms,
        quiet=quiet,
    )


@dataclass
class Out:
    slot: Slot
    at_ms: float


def run(buffer: JitterBuffer, arrivals: list[AudioPacket], until_ms: float | None = None) -> list[Out]:
    """Play packets (sorted by arrival) through the buffer, polling exactly at its deadlines."""
    out: list[Out] = []

    def poll_until(limit_ms: float) -> None:
        while (deadline_ms := buffer.deadline_ms) is not None and deadline_ms < limit_ms:
            out.extend(Out(slot, deadline_ms) for slot in buffer.poll(deadline_ms))

    for item in sorted(arrivals, key=lambda p: p.arrival_ms):
        poll_until(item.arrival_ms)
        out.extend(Out(slot, item.arrival_ms) for slot in buffer.push(item))
        assert buffer.held <= buffer.CAPACITY + 1
        assert len(buffer._given_up) <= buffer.MAX_MISORDER
    if until_ms is not None:
        poll_until(until_ms)
    return out


def payloads(out: list[Out]) -> list[int]:
    return [int(o.slot.payload) for o in out if o.slot.kind is SlotKind.PACKET]


def in_order(count: int, *, first: int = 0) -> list[AudioPacket]:
    return [packet(i, i * FRAME_MS, first=first) for i in range(count)]


def test_packets_in_order_pass_at_once() -> None:
    out = run(JitterBuffer(), in_order(200))
    assert payloads(out) == list(range(200))
    assert all(o.at_ms == o.slot.received_ms for o in out)
    assert len(out) == 200


@given(first=st.sampled_from([0, 65_400, 65_535, 32_767]))
def test_sequence_numbers_and_timestamps_wrap(first: int) -> None:
    out = run(JitterBuffer(), in_order(300, first=first))
    assert payloads(out) == list(range(300))


def test_a_lost_packet_is_recovered_from_the_next_and_adds_no_lasting_delay() -> None:
    arrivals = [p for p in in_order(100) if p.payload != b"50"]
    buffer = JitterBuffer()
    out = run(buffer, arrivals)
    kinds = [o.slot.kind for o in out]
    assert kinds[50] is SlotKind.RECOVER
    assert out[50].slot.payload == b"51"
    assert out[50].at_ms - 51 * FRAME_MS == buffer.MIN_WAIT_MS
    assert all(o.at_ms == o.slot.received_ms for o in out[53:])
    assert sum(o.slot.samples for o in out) == 100 * FRAME


def test_a_burst_of_losses_is_concealed_then_silent_then_recovered() -> None:
    arrivals = [p for p in in_order(100) if not 40 <= int(p.payload) < 60]
    out = run(JitterBuffer(), arrivals)
    lost = [o.slot for o in out if o.slot.lost]
    assert lost[0].kind is SlotKind.CONCEAL
    assert lost[-1].kind is SlotKind.RECOVER
    assert sum(slot.samples for slot in lost) == 20 * FRAME
    assert sum(slot.samples for slot in lost if slot.kind is SlotKind.CONCEAL) == JitterBuffer.MAX_CONCEAL


def test_the_wait_grows_to_the_reordering_that_is_seen_and_is_forgotten() -> None:
    buffer = JitterBuffer()
    arrivals = in_order(60)
    arrivals[30] = packet(30, arrivals[30].arrival_ms + 150.0)
    run(buffer, arrivals)
    assert 120.0 < buffer.wait_ms <= buffer.MAX_WAIT_MS
    later = [packet(i, i * FRAME_MS) for i in range(60, 6000) if i % 50]
    out = run(buffer, later)
    assert buffer.wait_ms == buffer.MIN_WAIT_MS
    assert max(o.at_ms - o.slot.received_ms for o in out[-1000:]) <= buffer.MIN_WAIT_MS


def test_duplicates_and_late_packets_are_dropped_and_counted() -> None:
    buffer = JitterBuffer()
    arrivals = in_order(50)
    late = packet(20, 20 * FRAME_MS + 200.0)
    arrivals = [p for p in arrivals if p.payload != b"20"] + [late, packet(10, 401.0), packet(10, 402.0)]
    out = run(buffer, arrivals)
    assert payloads(out) == [i for i in range(50) if i != 20]
    assert (buffer.stats.late, buffer.stats.duplicate, buffer.stats.lost) == (1, 2, 1)


def test_a_timestamp_jump_without_loss_is_silence() -> None:
    buffer = JitterBuffer()
    first, second = packet(0, 0.0, quiet=True), packet(1, 50.0, ticks=FRAME * 5)
    out = run(buffer, [first, second])
    assert [(o.slot.kind, o.slot.samples, o.slot.lost) for o in out[1:]] == [
        (SlotKind.SILENCE, 4 * FRAME, False),
        (SlotKind.PACKET, FRAME, False),
    ]


def test_silence_fills_the_time_when_nothing_arrives_and_no_audio_is_lost_after_it() -> None:
    buffer = JitterBuffer()
    out = run(buffer, in_order(10), until_ms=10 * FRAME_MS + 2000.0)
    filled = [o for o in out if o.slot.kind is SlotKind.SILENCE]
    assert len(filled) == (2000.0 - buffer.STALL_MS) / FRAME_MS
    stalled = [packet(i, 2300.0 + i) for i in range(10, 100)]
    assert payloads(run(buffer, stalled)) == list(range(10, 100))
    assert buffer.stats.stalls == 1


def test_a_sender_in_dtx_is_silent_in_time() -> None:
    buffer = JitterBuffer()
    pauses = [packet(10, 200.0, quiet=True), packet(11, 600.0, ticks=FRAME * 30, quiet=True)]
    out = run(buffer, [*in_order(10), *pauses], until_ms=900.0)
    assert max(b.at_ms - a.at_ms for a, b in pairwise(out)) <= FRAME_MS + buffer.QUIET_MS
    assert sum(o.slot.samples for o in out) >= 30 * FRAME


def test_a_new_source_starts_afresh() -> None:
    buffer = JitterBuffer()
    run(buffer, in_order(10))
    out = run(buffer, [packet(i, 300.0 + i * FRAME_MS, first=40_000, ssrc=2) for i in range(10)])
    assert payloads(out) == list(range(10))
    assert all(not o.slot.lost for o in out)
    assert buffer.stats.resets == 1


def test_a_huge_jump_is_a_restart_only_when_two_packets_agree() -> None:
    buffer = JitterBuffer()
    run(buffer, in_order(10))
    assert run(buffer, [packet(0, 200.0, first=30_000)]) == []
    assert payloads(run(buffer, [packet(10, 201.0)])) == [10]
    restarted = run(buffer, [packet(i, 220.0 + i * FRAME_MS, first=30_000) for i in range(10)])
    assert payloads(restarted) == list(range(1, 10))


def test_an_outage_is_filled_no_longer_than_two_seconds() -> None:
    buffer = JitterBuffer()
    run(buffer, in_order(10))
    out = buffer.push(packet(500, 210.0))
    out += buffer.poll(500.0)
    assert sum(slot.samples for slot in out) <= buffer.MAX_FILL + FRAME


def test_a_packet_without_audio_closes_its_gap_silently() -> None:
    buffer = JitterBuffer()
    arrivals = in_order(10)
    arrivals[5] = AudioPacket(ssrc=1, sequence=5, timestamp=5 * FRAME, samples=0, payload=b"", arrival_ms=100.0)
    for i in range(6, 10):
        arrivals[i] = packet(i, i * FRAME_MS, ticks=(i - 1) * FRAME)
    out = run(buffer, arrivals)
    assert all(o.slot.kind is SlotKind.PACKET for o in out)
    assert len(out) == 9


networks = st.lists(
    st.tuples(
        st.sampled_from([True, True, True, True, False]),  # arrives at all
        st.floats(0, 400),  # delay
        st.sampled_from([0, 0, 0, 0, 1, 2]),  # copies
    ),
    min_size=1,
    max_size=300,
)


@settings(max_examples=150, deadline=None)
@given(network=networks, first=st.integers(0, 65_535))
def test_any_network_gives_audio_in_order_once_and_soon(network: list[tuple[bool, float, int]], first: int) -> None:
    buffer = JitterBuffer()
    arrivals = []
    for i, (arrives, delay_ms, copies) in enumerate(network):
        if arrives:
            arrivals += [packet(i, i * FRAME_MS + delay_ms + copy, first=first) for copy in range(copies + 1)]
    out = run(buffer, arrivals)
    decoded = payloads(out)
    assert decoded == sorted(set(decoded))
    for o in out:
        assert 0 <= o.at_ms - o.slot.received_ms <= buffer.MAX_WAIT_MS * 2
        assert o.slot.samples > 0
        if o.slot.kind in (SlotKind.CONCEAL, SlotKind.RECOVER):
            assert o.slot.samples % 120 == 0
    stats = buffer.stats
    assert stats.received == len(arrivals)
    assert len(decoded) + stats.late + stats.duplicate + stats.out_of_range + buffer.held == stats.received
    quiet_ms = max((p.arrival_ms for p in arrivals), default=0.0) + 1000.0
    clean = run(buffer, [packet(len(network) + i, quiet_ms + i * FRAME_MS, first=first) for i in range(40)])
    assert payloads(clean)[-39:] == list(range(len(network) + 1, len(network) + 40))
    assert all(o.at_ms == o.slot.received_ms for o in clean[-20:])


@settings(max_examples=50, deadline=None)
@given(
    packets=st.lists(
        st.builds(
            AudioPacket,
            ssrc=st.integers(0, 2),
            sequence=st.integers(0, 65_535),
            timestamp=st.integers(0, 2**32 - 1),
            samples=st.sampled_from([0, 120, 480, 960, 1920, 2880, 5760]),
            payload=st.just(b"0"),
            arrival_ms=st.floats(0, 5000),
        ),
        max_size=200,
    )
)
@example([AudioPacket(0, 0, 0, 0, b"0", 4606.0), AudioPacket(0, 0, 0, 120, b"0", 0.0)])  # filled in the smallest steps
def test_hostile_packets_cost_bounded_memory_and_audio(packets: list[AudioPacket]) -> None:
    buffer = JitterBuffer()
    out = run(buffer, packets)
    arrivals = [packet.arrival_ms for packet in packets] or [0.0]
    step_ms = 1000 * buffer._STEP / CLOCK_HZ
    while_nothing_came = (max(arrivals) - min(arrivals)) / step_ms
    a_packet = buffer.MAX_CONCEAL / buffer._STEP + 4
    assert len(out) <= while_nothing_came + a_packet * len(packets)
    assert all(0 < o.slot.samples <= buffer.MAX_FILL for o in out)
