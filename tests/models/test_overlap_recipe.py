from __future__ import annotations

import numpy as np
import pytest

from bench import floor
from models.train import overlap_fit
from models.train.overlap_sounds import TEXTS, sounds
from voiceagent.audio.interruption import BIAS, WEIGHTS


def texts(part: str) -> set[str]:
    assert part in ("fit", "tune")
    kinds = TEXTS["fit" if part == "fit" else "tune"]
    return {text for languages in kinds.values() for texts in languages.values() for text in texts}


def test_no_part_shares_a_text_with_the_other_or_with_what_the_benchmark_says() -> None:
    measured = {*floor.BACKCHANNELS, *floor.COMMANDS, *floor.BEGIN_LIKE_LISTENING}
    assert texts("fit").isdisjoint(texts("tune"))
    assert (texts("fit") | texts("tune")).isdisjoint(measured)


def test_a_fit_parts_what_can_be_parted() -> None:
    rng = np.random.default_rng(0)
    wanted = (np.arange(400) % 4 == 0).astype(float)
    found = rng.standard_normal((400, 5)) + wanted[:, None] * np.array([2, 0, 0, -2, 0])
    data = overlap_fit.Looks(found, wanted, np.zeros(400), np.ones(400, bool))
    weights, bias = overlap_fit.fit(data)
    scores = found @ weights + bias
    assert overlap_fit.area(scores, wanted) > 0.95
    assert np.mean(scores[wanted > 0]) > 0 > np.mean(scores[wanted == 0]), "both outcomes weigh the same"


def test_the_shipped_weights_are_worth_something_on_other_words_and_voices() -> None:
    data = overlap_fit.looks(sounds("tune", 3, 25, 1))
    judged = data.spoken & (data.after_ms == overlap_fit.JUDGED_MS)
    assert judged.sum() > 40
    assert overlap_fit.area(data.features[judged] @ np.array(WEIGHTS) + BIAS, data.takes_floor[judged]) > 0.6


@pytest.mark.parametrize("part", ["fit", "tune"])
def test_all_kinds_are_spoken(part: str) -> None:
    found = {sound.kind: sound.takes_floor for sound in sounds("fit" if part == "fit" else "tune", 0, 1, 1)}
    assert found["backchannel"] is found["cough"] is found["noise"] is False
    assert found["command"] is found["sentence"] is True
