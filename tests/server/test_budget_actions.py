from __future__ import annotations

import logging

import pytest

from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import Span, Stage, TurnReport
from voiceagent.server.calls.budget_actions import BudgetActions
from voiceagent.server.monitoring.metrics import Metrics

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
    assert warned == "stt_wait burns its budget 20.0 times (10 s) and 20.0 times (60 s): warn"
    assert over == "stt_wait keeps its latency budget again"
