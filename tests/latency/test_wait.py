"""The wait for a reply, split into contributions: pure intervals, then whole calls in virtual time."""

from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import EndpointingRules, Phrases, Rules
from voiceagent.latency.spans import Contribution, TurnReport, Wait, WaitCause, WaitInterval, split
from voiceagent.latency.turns import TurnMeter
from voiceagent.simulation.run import simulate_one
from voiceagent.turn_taking.endpointing import EndpointModel

RULES = Rules(
    language="en",
    instructions="Be brief.",
    phrases=Phrases(greeting="Hello, how can I help you?", fillers=("One moment, I am looking for it.",)),
    endpointing=EndpointingRules(model=EndpointModel()),
)
times_ms = st.floats(0, 5000)
works = st.lists(
    st.builds(WaitInterval, st.sampled_from([part for part in WaitCause if part is not WaitCause.OTHER]), times_ms, times_ms)
)


def check(contributions: tuple[Contribution, ...], whole_ms: float) -> None:
    assert abs(sum(piece.duration_ms for piece in contributions) - whole_ms) < 0.001
    end_ms = 0.0
    for piece in contributions:
        assert piece.duration_ms > 0
        assert abs(piece.start_ms - end_ms) < 0.001
        end_ms = piece.start_ms + piece.duration_ms


@given(times_ms, times_ms, works)
def test_whatever_ran_the_contributions_follow_one_another_and_add_up(
    one_ms: float, other_ms: float, work: list[WaitInterval]
) -> None:
    began_ms, heard_ms = sorted((one_ms, other_ms))
    check(split(began_ms, heard_ms, work), heard_ms - began_ms)


def test_work_beside_other_work_counts_only_where_it_held_the_reply_up() -> None:
    work = [
        WaitInterval(WaitCause.ENDPOINT, 0, 300),
        WaitInterval(WaitCause.LLM_TTFT, 100, 350),
        WaitInterval(WaitCause.LLM_WRITING, 350, 900),
        WaitInterval(WaitCause.TTS_FIRST_AUDIO, 400, 450),
        WaitInterval(WaitCause.PLAYOUT, 450, 460),
    ]
    got = split(0, 460, work)
    assert [(piece.part, piece.duration_ms) for piece in got] == [
        (WaitCause.ENDPOINT, 300),
        (WaitCause.LLM_TTFT, 50),
        (WaitCause.LLM_WRITING, 50),
        (WaitCause.TTS_FIRST_AUDIO, 50),
        (WaitCause.PLAYOUT, 10),
    ]


def test_both_rounds_of_thinking_count_and_what_nothing_explains_is_told() -> None:
    work = [
        WaitInterval(WaitCause.LLM_TTFT, 0, 100),
        WaitInterval(WaitCause.TOOL, 100, 150),
        WaitInterval(WaitCause.LLM_TTFT, 150, 400),
        WaitInterval(WaitCause.PLAYOUT, 450, 460),
    ]
    totals = Wait(0.0, split(0, 460, work)).totals_ms()
    assert totals == {WaitCause.LLM_TTFT: 350, WaitCause.TOOL: 50, WaitCause.PLAYOUT: 10, WaitCause.OTHER: 50}
    assert list(totals) == [part for part in WaitCause if part in totals]


def test_every_wait_of_a_simulated_call_adds_up_and_no_time_begins_before_its_cause() -> None:
    reports = []

    def note(meter: TurnMeter, last_ms: list[float], event: ev.Event, actions: tuple[act.AnyAction, ...]) -> None:
        if isinstance(event, ev.SpeechStarted):
            last_ms[0] = event.onset_ms
        report = meter.observe(event, actions, 0.0)
        if report is not None:
            reports.append(report)
            _holds(report, event.at_ms, last_ms[0])

    rules = replace(RULES, limits=replace(RULES.limits, filler_after_ms=300.0))
    for number in range(300):
        assert simulate_one(rules, number, partial(note, TurnMeter("c", "p"), [0.0])).broken == []
    assert sum(report.wait is not None for report in reports) > 500
    assert sum(report.barge_in_stop_ms is not None for report in reports) > 50
    parts = {part for report in reports if report.wait for part in report.wait.totals_ms()}
    assert {
        WaitCause.ENDPOINT,
        WaitCause.LLM_TTFT,
        WaitCause.LLM_WRITING,
        WaitCause.TOOL,
        WaitCause.TTS_FIRST_AUDIO,
        WaitCause.PLAYOUT,
    } <= parts


def _holds(report: TurnReport, ended_ms: float, onset_ms: float) -> None:
    for spans in report.durations_ms().values():
        assert all(0 <= ms <= ended_ms for ms in spans)
    if report.wait is not None:
        assert report.voice_to_voice_ms is not None
        check(report.wait.contributions, report.voice_to_voice_ms)
        unexplained_ms = report.wait.totals_ms().get(WaitCause.OTHER, 0.0)
        assert unexplained_ms <= 0.2 * report.voice_to_voice_ms + 50, report
    if report.barge_in_stop_ms is not None:
        assert report.barge_in_stop_ms <= ended_ms - onset_ms + 2000
