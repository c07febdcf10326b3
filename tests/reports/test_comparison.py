"""Two sets of turns. What was planted is named; what chance did is not."""

from __future__ import annotations

import pytest

from tests.reports.measured import MEANS_MS, turns
from voiceagent.errors import ConfigError
from voiceagent.latency.spans import WaitCause
from voiceagent.reports.comparison import Comparison, compare_sets
from voiceagent.reports.turn_table import row

PARTS = [part for part in MEANS_MS if part is not WaitCause.OTHER]


def compared(more_ms: dict[WaitCause, float], *, number: int = 200, calls: int = 20, seed: int = 1) -> Comparison:
    before, after = turns(number, 2 * seed, calls=calls), turns(number, 2 * seed + 1, more_ms, calls=calls)
    return compare_sets([row(turn) for turn in before], [row(turn) for turn in after])


@pytest.mark.parametrize("part", [part for part in PARTS if part is not WaitCause.ENDPOINT])
def test_a_stage_that_became_30_ms_slower_is_to_blame(part: WaitCause) -> None:
    found = compared({part: 30.0})
    assert found.to_blame is not None
    assert found.to_blame.name == part
    assert found.to_blame.low_ms < 30 < found.to_blame.high_ms


def test_the_noisiest_part_needs_more_turns() -> None:
    found = compared({WaitCause.ENDPOINT: 30.0}, number=2000, calls=200)
    assert found.to_blame is not None
    assert found.to_blame.name == WaitCause.ENDPOINT
    assert found.whole.is_slower


def test_chance_is_seldom_blamed() -> None:
    blamed = [seed for seed in range(40) if compared({}, number=120, seed=seed).to_blame is not None]
    assert len(blamed) <= 4  # 5 % are expected; more than 4 of 40 happen once in 28 times, and the seeds are fixed


def test_differences_of_parts_add_up_to_that_of_the_whole() -> None:
    found = compared({WaitCause.LLM_TTFT: 25.0, WaitCause.PLAYOUT: 5.0})
    assert sum(part.difference_ms for part in found.parts) == pytest.approx(found.whole.difference_ms)


def test_a_slower_stage_that_nobody_waited_for_is_named_apart() -> None:
    found = compared({WaitCause.GUARD: 8.0})  # here it makes the partial decodes slower
    assert [stage.name for stage in found.slower_unnoticed] == ["stt_partial"]
    assert found.to_blame is None


def test_few_calls_are_resampled_by_turns_and_that_is_known() -> None:
    assert compared({}).by_calls
    assert not compared({}, calls=4).by_calls


def test_too_few_turns_are_refused() -> None:
    with pytest.raises(ConfigError, match="the set before has 3 answered turns"):
        compared({}, number=3)
