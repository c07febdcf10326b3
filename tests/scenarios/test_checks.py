"""What happened, held against what was expected. Each expectation fails for what it forbids, and for nothing else."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.scenarios.checks import Passage, alike, failures
from voiceagent.scenarios.scenario import Expected, ExpectedTool
from voiceagent.scenarios.trial import Trial
from voiceagent.scenarios.trial_tally import TrialTally

EVENTS: list[dict[str, Any]] = [
    {"type": "call.started"},
    {"type": "caller.said", "text": "Book a table for two."},
    {"type": "tool.started", "tool_call": "t1", "name": "get_time", "arguments": '{"city": "Paris"}'},
    {"type": "tool.ended", "tool_call": "t1", "ok": True},
    {"type": "tool.started", "tool_call": "t2", "name": "book_table", "arguments": '{"people": "two", "time": "7 PM"}'},
    {"type": "tool.ended", "tool_call": "t2", "ok": False},
    {"type": "agent.said", "status": "completed", "heard": "Your table is booked.", "unheard": ""},
    {"type": "step.changed", "step": "done"},
    {"type": "state.kept", "state": '{"size": 2, "note": "window"}'},
    {"type": "call.ended", "reason": "hangup"},
]


def failed(**expected: Any) -> list[str]:
    passage = Passage(EVENTS, waits_ms=[300.0, 480.0], stops_ms=[120.0], over_budget=["llm_ttft"])
    return [line.split(":")[0].split(" ")[0] for line in failures(Expected(**expected), passage)]


@pytest.mark.parametrize(
    "expected",
    [
        {"says": ("table .* booked", "YOUR")},
        {"says_not": ("cancelled",)},
        {"understood": ("for two",)},
        {"answered": True},
        {"tools": ("get_time", "book_table")},
        {"tools": (ExpectedTool("book_table", {"people": 2, "time": "7 pm"}, ok=False),)},
        {"no_tools": ("cancel_booking",)},
        {"within_ms": 480},
        {"stops_within_ms": 120},
        {"interrupted": False},
        {"step": "done"},
        {"state": {"size": 2}},
        {"ended": "hangup"},
    ],
)
def test_what_holds_is_no_failure(expected: dict[str, Any]) -> None:
    assert failed(**expected) == []


@pytest.mark.parametrize(
    ("expected", "name"),
    [
        ({"says": ("sorry",)}, "says"),
        ({"says_not": ("booked",)}, "says_not"),
        ({"understood": ("three",)}, "understood"),
        ({"answered": False}, "answered"),
        ({"tools": ("book_table", "get_time")}, "tools"),
        ({"tools": (ExpectedTool("book_table", {"people": 3}),)}, "tools"),
        ({"tools": (ExpectedTool("book_table", ok=True),)}, "tools"),
        ({"no_tools": True}, "no_tools"),
        ({"no_tools": ("book_table",)}, "no_tools"),
        ({"within_ms": 400}, "within_ms"),
        ({"stops_within_ms": 100}, "stops_within_ms"),
        ({"interrupted": True}, "interrupted"),
        ({"step": "start"}, "step"),
        ({"state": {"size": 3}}, "state"),
        ({"ended": "agent_ended"}, "ended"),
        ({"within_budget": True}, "within_budget"),
    ],
)
def test_what_does_not_hold_is_named(expected: dict[str, Any], name: str) -> None:
    assert failed(**expected) == [name]


def test_a_time_that_was_not_measured_is_a_failure() -> None:
    assert list(failures(Expected(within_ms=100), Passage())) == ["within_ms 100: it did not happen"]


@pytest.mark.parametrize(
    ("one", "other"), [(7, "seven"), ("a table", "Table"), ("7:30 PM", "7:30 pm."), (2.0, 2), ("AB-12", "ab-12"), ("zwei", 2)]
)
def test_values_that_say_the_same_are_alike(one: object, other: object) -> None:
    assert alike(one, other)
    assert alike(other, one)


@pytest.mark.parametrize(("one", "other"), [(7, 70), ("7:30", "7:31"), (True, 1), (None, ""), ("Paris", "Prague"), (-2, 2)])
def test_other_values_are_not(one: object, other: object) -> None:
    assert not alike(one, other)


@given(st.lists(st.booleans(), min_size=1, max_size=8))
def test_pass_k_falls_with_k_and_is_1_where_all_passed(outcomes: list[bool]) -> None:
    trials = [Trial("s", "text", number, failures=[] if ok else ["no"]) for number, ok in enumerate(outcomes, 1)]
    tally = TrialTally(trials)
    shares = [tally.pass_k(k) for k in range(1, len(outcomes) + 1)]
    assert tally.pass_1 == pytest.approx(sum(outcomes) / len(outcomes))
    assert shares == sorted(shares, reverse=True)
    assert (shares[-1] == 1.0) is all(outcomes)


def test_a_known_failure_fails_no_run_and_is_skipped_in_junit() -> None:
    known = Trial("s", "speech", 1, failures=["yields false: no"], known_failure="nobody can tell")
    assert TrialTally([known]).is_good
    assert TrialTally([known]).pass_1 == 0.0
    suite = ET.fromstring(TrialTally([known]).as_junit())[0]
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")
    assert not TrialTally([known, Trial("t", "speech", 1, failures=["no"])]).is_good


def test_the_page_opens_what_failed_and_escapes_what_was_said() -> None:
    good = Trial("Books a table", "text", 1, "rtc_1", conversation=[("caller", "<b>two</b>")])
    bad = Trial("Tells the time", "speech", 1, "rtc_2", failures=["says 'noon': heard was ''"])
    page = TrialTally([good, bad]).as_html()
    assert "1 of 2 trials passed" in page
    assert page.count("<details open>") == 1
    assert "&lt;b&gt;two" in page
    assert "says &#39;noon&#39;" in page
    assert "<script" not in page
