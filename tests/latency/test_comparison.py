from voiceagent.latency.budgets import compare, load_budgets
from voiceagent.latency.spans import Span, Stage, TurnReport
from voiceagent.resources import default_budgets_file

LIMITS = load_budgets(default_budgets_file()).of("embedded")


def turns(*vad_ms: float) -> list[TurnReport]:
    return [TurnReport("c", i, 0.0, "embedded", (Span(Stage.VAD, 0.0, ms),), None, None) for i, ms in enumerate(vad_ms, 1)]


def test_every_stage_is_compared_in_order_and_only_the_measured_ones_have_figures() -> None:
    stages = compare(turns(4, 8), LIMITS)
    assert [stage.stage for stage in stages] == list(Stage)
    assert [stage.stage for stage in stages if stage.measured] == [Stage.VAD]
    assert not any(stage.over for stage in stages)


def test_only_the_percentiles_over_their_limit_are_named() -> None:
    slow_tail = turns(*[5.0] * 90, *[45.0] * 10)
    (vad,) = [stage for stage in compare(slow_tail, LIMITS) if stage.stage is Stage.VAD]
    assert vad.measured is not None
    assert (vad.measured.count, vad.measured.p50_ms, vad.measured.p95_ms) == (100, 5.0, 45.0)
    assert vad.over == ("p95",)


def test_a_value_at_its_limit_is_within_it() -> None:
    (vad,) = [stage for stage in compare(turns(LIMITS[Stage.VAD].p50_ms), LIMITS) if stage.stage is Stage.VAD]
    assert vad.over == ()


def test_a_stage_that_occurs_twice_in_a_turn_counts_twice() -> None:
    turn = TurnReport("c", 1, 0.0, "embedded", (Span(Stage.TOOL, 0, 10), Span(Stage.TOOL, 20, 30)), 600.0, 100.0)
    measured = {stage.stage: stage.measured for stage in compare([turn], LIMITS) if stage.measured}
    assert measured[Stage.TOOL].count == 2
    assert measured[Stage.VOICE_TO_VOICE].p50_ms == 600.0
    assert measured[Stage.BARGE_IN_STOP].p50_ms == 100.0
