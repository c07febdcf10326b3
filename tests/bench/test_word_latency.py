"""A word's latency counts from the end of its sound to the moment from which it was shown in its place for good."""

from __future__ import annotations

from bench.stt.word_latency import Shown, WordLatency, word_latencies

TEXT = "Book a table."
ENDS_MS = (300.0, 400.0, 900.0)


def test_a_word_counts_from_when_it_stays() -> None:
    timeline = [
        Shown(500, "", "book a"),
        Shown(700, "", "book"),
        Shown(1000, "Book", "a cable"),
        Shown(1200, "Book a", "table"),
        Shown(1300, "Book a table.", ""),
    ]
    assert word_latencies(TEXT, ENDS_MS, timeline) == [
        WordLatency(200, 700),
        WordLatency(600, 800),
        WordLatency(300, 400),
    ]


def test_a_word_that_the_final_lost_was_never_shown_for_good() -> None:
    timeline = [Shown(1000, "Book a", "table"), Shown(1300, "Book table", "")]
    assert word_latencies(TEXT, ENDS_MS, timeline)[1] == WordLatency(None, None)


def test_a_word_guessed_before_its_end_has_a_latency_below_zero() -> None:
    timeline = [Shown(800, "", "book a table"), Shown(1100, "Book a table.", "")]
    assert word_latencies(TEXT, ENDS_MS, timeline)[2] == WordLatency(-100, 200)
