import pytest

from voiceagent.client.packet_times import PacketTimes
from voiceagent.media.rtp import RtpPacket


def test_lateness_is_counted_from_the_earliest_packet_and_skipped_time_is_not_late() -> None:
    times = PacketTimes()
    for number, frame, arrival_ms in ((0, 0, 103.0), (1, 1, 120.0), (2, 2, 145.0), (4, 7, 240.0)):
        sequence, timestamp = (2**16 - 1 + number) % 2**16, (2**32 - 960 + frame * 960) % 2**32
        times.add(RtpPacket(sequence_number=sequence, timestamp=timestamp), arrival_ms)
    assert times.lateness_ms() == pytest.approx([3.0, 0.0, 5.0, 0.0])
    assert times.missing == 1
