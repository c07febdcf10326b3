from __future__ import annotations

import numpy as np
import pytest

from bench import floor
from bench.curve_plot import Axes, Curve, plot
from bench.floor_curve import BRIEF_MS, LENGTHS_MS, Scored, policies
from bench.virtual_call import Overlap
from models.train.overlap_sounds import TEXTS, Sound

SAID, PAUSED, SOFT = 1.0, 0.0, 0.25
NOTHING = np.zeros(0, np.int16)


def outcome(*levels: float, yielded: bool = False, words: str = "") -> Overlap:
    return Overlap(yielded, 20.0 * len(levels) if yielded else None, levels, 60.0, words, 0.0)


def test_an_interruption_has_stopped_the_reply_with_the_last_frame_that_is_heard() -> None:
    assert outcome(SAID, SOFT, SOFT, PAUSED, PAUSED, yielded=True).stopped_ms == 60.0
    assert outcome(PAUSED, PAUSED, yielded=True).stopped_ms == 0.0
    assert outcome(PAUSED, SAID, PAUSED, yielded=True).stopped_ms == 40.0, "what came back counts"


def test_a_silence_counts_when_the_reply_goes_on_after_it() -> None:
    went_on = outcome(SAID, PAUSED, PAUSED, PAUSED, SAID, SAID)
    assert went_on.gap_ms == 60.0
    assert went_on.back_after_ms == 20.0
    assert outcome(SAID, PAUSED, PAUSED, yielded=True).gap_ms == 0.0


def test_a_softer_voice_is_no_silence() -> None:
    soft = outcome(SAID, SOFT, SOFT, SAID)
    assert (soft.gap_ms, soft.softer_ms, soft.back_after_ms) == (0.0, 20.0, None)


def test_what_is_audible_and_what_came_back_are_shares_of_their_own_trials() -> None:
    gap = [PAUSED] * 13
    quiet, real = Sound("backchannel", "", False, NOTHING), Sound("command", "", True, NOTHING)
    scored = Scored(
        [
            (quiet, outcome(SAID, *gap, SAID, words="okay")),
            (quiet, outcome(SAID, *gap, SAID)),
            (quiet, outcome(SAID, SOFT, SAID)),
            (quiet, outcome(SAID, *gap[:12], SAID)),
            (real, outcome(SAID, *gap, SAID, PAUSED, yielded=True)),
            (real, outcome(SAID, SAID, PAUSED, yielded=True)),
        ]
    )
    assert scored.audible_share == 50.0, "a pause of a quarter of a second is not audible yet"
    assert scored.share_over(BRIEF_MS) == 75.0
    assert scored.back_share == 50.0
    nothing, listening = scored.again_ms
    assert (len(nothing), len(listening)) == (1, 1)
    assert scored.stop_ms(50) == 40.0


def test_the_curve_has_a_point_for_each_length() -> None:
    assert [manners.pause_after_ms for manners in policies().values()] == list(LENGTHS_MS)


def test_the_tuning_sounds_say_nothing_that_the_benchmark_says() -> None:
    measured = {*floor.BACKCHANNELS, *floor.COMMANDS, *floor.BEGIN_LIKE_LISTENING}
    assert measured.isdisjoint(text for texts in TEXTS.values() for text in texts)


@pytest.mark.parametrize("chosen", [(100.0, 10.0), (400.0, 40.0)])
def test_the_drawing_is_a_picture_with_its_own_words(chosen: tuple[float, float]) -> None:
    svg = plot([Curve("one", [(100.0, 20.0), (300.0, 5.0)])], chosen, (200.0, 10.0), Axes(500.0, 50.0, 100, 10, "below", "above"))
    assert svg.startswith("<svg")
    assert ">below</text>" in svg.replace("\n", "")
    assert svg.count("<circle") == 3
