"""The jitter of packets is the mean difference of their transit times, as RFC 3550 defines them."""

from __future__ import annotations

import random

import pytest

from voiceagent.media.jitter import Jitter


def test_packets_at_an_even_pace_have_none_whatever_their_delay() -> None:
    jitter = Jitter()
    for i in range(50):
        jitter.add(7_000.0 + 20.0 * i, 20.0 * i)
    assert jitter.take_ms() == pytest.approx(0.0)
    assert jitter.take_ms() is None, "there was nothing since"


def test_delays_drawn_from_0_to_60_ms_differ_by_20_in_the_mean() -> None:
    drawn, jitter = random.Random(5), Jitter()
    for i in range(20_000):
        jitter.add(60.0 * i + drawn.uniform(0.0, 60.0), 60.0 * i)
    assert jitter.take_ms() == pytest.approx(20.0, abs=0.5)


def test_a_late_packet_counts_with_the_one_before_and_the_one_behind_it() -> None:
    jitter = Jitter()
    for i in range(11):
        jitter.add(20.0 * i + (10.0 if i == 5 else 0.0), 20.0 * i)
    assert jitter.take_ms() == pytest.approx(2.0)


@pytest.mark.parametrize("leap_ms", [-89_478_485.0, 89_478_485.0], ids=["the clock wraps", "a new stream begins"])
def test_a_leap_of_the_streams_own_time_is_no_jitter(leap_ms: float) -> None:
    jitter = Jitter()
    for i in range(20):
        jitter.add(20.0 * i, 20.0 * i + (leap_ms if i > 9 else 0.0))
    assert jitter.take_ms() == pytest.approx(0.0)


def test_a_packet_that_was_overtaken_is_left_out() -> None:
    jitter = Jitter()
    for i in (0, 1, 3, 2, 4):
        jitter.add(20.0 * i if i != 2 else 61.0, 20.0 * i)
    assert jitter.take_ms() == pytest.approx(0.0)
