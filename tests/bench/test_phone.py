from dataclasses import replace

import numpy as np
import pytest

from bench.phone.band import RATE_HZ as HEARD_RATE_HZ
from bench.phone.band import active_level_dbov, at_level, by_line, keys, onsets
from bench.phone.packets import Packets
from bench.phone.rtp import FRAME_SAMPLES, PCMU, RATE_HZ, RtpRecord


def even(count: int, first: int = 65_530) -> list[RtpRecord]:
    """Packets every 20 ms, whose numbers begin again at 0 on the way."""
    return [
        RtpRecord(1000 + 20 * index, (first + index) % 2**16, (2**32 - 800 + 160 * index) % 2**32, PCMU, bytes(FRAME_SAMPLES))
        for index in range(count)
    ]


def counted(records: list[RtpRecord]) -> Packets:
    packets = Packets()
    packets.add(records)
    return packets


def test_even_packets_have_nothing_missing_and_none_is_late() -> None:
    packets = counted(even(20))
    assert (packets.count, packets.missing, packets.out_of_order, packets.partial, packets.skips) == (20, 0, 0, 0, 0)
    assert max(packets.lateness_ms) == 0
    assert set(packets.gaps_ms) == {20}


def test_a_packet_that_never_came_a_short_one_and_one_out_of_order_are_counted() -> None:
    records = even(20)
    records[3] = replace(records[3], payload=b"short")
    records[8], records[9] = records[9], records[8]
    packets = counted([*records[:12], *records[13:]])
    assert (packets.missing, packets.out_of_order, packets.partial) == (1, 1, 1)


def test_packets_of_another_stream_are_counted_and_change_nothing_else() -> None:
    strays = [replace(record, ssrc=7) for record in even(3, first=900)]
    packets = counted([*even(10), *strays, *even(20)[10:]])
    assert (packets.foreign, packets.count, packets.missing, packets.out_of_order, packets.skips) == (3, 20, 0, 0, 0)


def test_time_that_the_sender_left_out_is_a_skip_and_a_late_packet_is_late() -> None:
    records = even(10)
    late = [replace(record, timestamp=(record.timestamp + 640) % 2**32) for record in records[5:]]
    late[-1] = replace(late[-1], at_ms=late[-1].at_ms + 115)
    packets = counted([*records[:5], *late])
    assert packets.skips == 1
    assert max(packets.gaps_ms) == pytest.approx(135)


@pytest.mark.parametrize("dbov", [-40.0, -26.0, -20.0])
def test_speech_is_brought_to_an_active_level_whatever_its_pauses(dbov: float) -> None:
    time_s = np.arange(2 * RATE_HZ) / RATE_HZ
    voiced = (np.sin(2 * np.pi * 300 * time_s) * 8000).astype(np.int16)
    paused = np.concatenate((np.zeros(3 * RATE_HZ, np.int16), voiced, np.zeros(3 * RATE_HZ, np.int16)))
    assert active_level_dbov(at_level(paused, RATE_HZ, dbov), RATE_HZ) == pytest.approx(dbov, abs=0.6)
    assert active_level_dbov(at_level(voiced, RATE_HZ, dbov), RATE_HZ) == pytest.approx(dbov, abs=0.6)


@pytest.mark.parametrize("length_s", [0.08, 0.4])
def test_keys_that_are_heard_as_tones_are_not_taken_for_speech(length_s: float) -> None:
    silence = np.zeros(HEARD_RATE_HZ // 2, np.int16)
    assert onsets(by_line(np.concatenate((silence, keys(length_s, -10.0), silence)))) == []
