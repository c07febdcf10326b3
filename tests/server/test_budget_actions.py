from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from voiceagent.conversation.rules import Degradation
from voiceagent.latency.budgets import Miss
from voiceagent.latency.burn import BudgetBurn, OnMiss
from voiceagent.latency.spans import Span, Stage, TurnFacts, TurnReport
from voiceagent.server.calls.admission import Admission
from voiceagent.server.calls.budget_actions import BudgetActions
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.server.monitoring.observers import TurnLog
from voiceagent.settings.agent import AdmissionSettings

SLOW = TurnReport("c", 1, 0.0, "embedded", (Span(Stage.STT_WAIT, 0.0, 300.0),), None, None)
MISSED = (Miss(Stage.STT_WAIT, 300.0, 100.0),)


def test_a_stage_that_burns_is_told_in_the_metrics_and_once_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    metrics, now_s = Metrics(), 0.0
    metrics.budget_actions = BudgetActions(clock=lambda: now_s)
    with caplog.at_level(logging.INFO):
        for second in range(20):
            now_s = float(second)
            metrics.budget_actions.measured(SLOW, MISSED)
        assert 'voiceagent_budget_burn{stage="stt_wait",window="long"} 20.0' in metrics.render()
        now_s = 200.0
        assert 'voiceagent_budget_burn{stage="stt_wait",window="long"} 0.0' in metrics.render()
    warned, over = [record.getMessage() for record in caplog.records]
    assert warned == "stt_wait burns its budget 20.0 times (10 s) and 20.0 times (60 s): warn; calls: as usual"
    assert over == "stt_wait keeps its latency budget again; calls: as usual"


def acting(metrics: Metrics, on_miss: OnMiss, until_s: int) -> list[float]:
    """The server's budget actions after turns that missed. Returns the clock, to be moved on."""
    now_s = [0.0]
    metrics.budget_actions = BudgetActions(BudgetBurn({Stage.STT_WAIT: on_miss}), lambda: now_s[0])
    while now_s[0] < until_s:
        metrics.budget_actions.measured(SLOW, MISSED)
        now_s[0] += 1
    return now_s


def test_degrading_tells_calls_what_they_go_without_until_the_budget_is_kept_again() -> None:
    metrics = Metrics()
    now_s = acting(metrics, OnMiss.DEGRADE, 60)
    assert metrics.budget_actions.degradations() == (Degradation.FEWER_PARTIALS,)
    assert not metrics.budget_actions.sheds()
    assert 'voiceagent_budget_level{stage="stt_wait"} 2.0' in metrics.render()
    now_s[0] += 200
    assert metrics.budget_actions.degradations() == ()


async def test_shedding_refuses_calls_as_a_busy_server_does_until_a_quarter_has_hung_up() -> None:
    metrics = Metrics()
    admission = Admission(AdmissionSettings(max_calls=50), metrics)
    for _ in range(8):
        await admission.admit(is_written=True)
    now_s = acting(metrics, OnMiss.SHED, 50)
    for up in (8, 7, 6):
        with pytest.raises(Problem) as refused:
            await admission.admit(is_written=True)
        assert (refused.value.status, refused.value.code, refused.value.retry_after_s) == (503, "busy", 5), up
        admission.release(is_written=True)
    await admission.admit(is_written=True)
    now_s[0] += 1000
    metrics.budget_actions.sheds()
    now_s[0] += 1000
    for _ in range(8):
        await admission.admit(is_written=True)


def test_a_stage_that_burns_on_sheds_further_every_half_minute() -> None:
    metrics, found = Metrics(), []
    for until_s in (30, 60, 90, 1000):
        acting(metrics, OnMiss.SHED, until_s)
        found.append(metrics.budget_actions.sheds())
    assert found == [0, 1, 2, 8]


def test_the_line_of_a_turn_says_how_it_was_degraded(caplog: pytest.LogCaptureFixture) -> None:
    facts = TurnFacts("completed", degraded=(Degradation.FEWER_PARTIALS, Degradation.EARLY_FILLERS))
    TurnLog().measured(replace(SLOW, facts=facts), MISSED)
    assert "degraded by fewer_partials and early_fillers; over budget: stt_wait 300 of 100 ms" in caplog.text
