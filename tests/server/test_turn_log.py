"""The line of a turn in the log."""

from __future__ import annotations

import logging

import pytest

from voiceagent import logs
from voiceagent.conversation import actions as act
from voiceagent.conversation.events import CallStarted
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import Stage, TurnReport
from voiceagent.server.monitoring.observers import TurnLog

HEARD = "The secret word is swordfish."


def turn(number: int, *actions: act.Action, missed: tuple[Miss, ...] = (), waited_ms: float | None = 453.2) -> TurnReport:
    log = TurnLog()
    log.stepped(CallStarted(0.0), actions)
    report = TurnReport("rtc_1", number, 0.0, "embedded", (), waited_ms, None)
    log.measured(report, missed)
    return report


def test_each_turn_is_one_line_without_a_word_that_was_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logs.TURNS)
    tool = act.ToolEnded(1, "c1", "get_secret", '{"word": "swordfish"}', True)
    turn(1, tool, act.ReplyEnded(1, "completed", HEARD, ""))
    turn(3, act.ReplyEnded(3, "completed", HEARD, ""), waited_ms=None)  # a typed one
    failed = act.Failure("llm_failed", "swordfish")
    turn(2, failed, act.ReplyEnded(2, "failed", "", HEARD), missed=(Miss(Stage.ANSWER, 900.4, 600.0),), waited_ms=None)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "call rtc_1 turn 1: answered after 453 ms, reply completed, 5 words heard, 1 tool ran"),
        ("INFO", "call rtc_1 turn 3: answered, reply completed, 5 words heard"),
        (
            "WARNING",
            "call rtc_1 turn 2: nothing was heard, reply failed, 0 words heard, llm_failed; over budget: answer 900 of 600 ms",
        ),
    ]


def test_what_happened_in_a_turn_is_not_told_of_the_next(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logs.TURNS)
    log = TurnLog()
    log.stepped(CallStarted(0.0), (act.Failure("llm_failed", ""), act.ReplyEnded(1, "failed", "", "")))
    log.measured(TurnReport("rtc_1", 1, 0.0, "embedded", (), None, None), ())
    log.stepped(CallStarted(0.0), (act.ReplyEnded(2, "completed", "Yes.", ""),))
    log.measured(TurnReport("rtc_1", 2, 0.0, "embedded", (), 300.0, None), ())
    assert "llm_failed" in caplog.messages[0]
    assert "llm_failed" not in caplog.messages[1]
