import pytest

from bench.media_callers import PacketTimes


def test_lateness_is_counted_from_the_earliest_packet_and_skipped_time_is_not_late() -> None:
    times = PacketTimes()
    start = 2**32 - 960
    for number, arrival_ms in ((0, 103.0), (1, 120.0), (2, 145.0), (7, 240.0)):
        times.add((start + number * 960) % 2**32, arrival_ms)
    assert times.lateness_ms() == pytest.approx([3.0, 0.0, 5.0, 0.0])
