"""Settings that a client secret fixes: a client may send them, and changes nothing by it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from voiceagent.realtime.fixed_settings import FixedSettings, fixed_in, settings_named
from voiceagent.realtime.session import RealtimeSession

SESSION = {
    "type": "realtime",
    "model": "any",
    "instructions": "Sell shoes.",
    "tools": [],
    "audio": {"output": {"voice": "amy"}, "input": {"turn_detection": None}},
}


def test_what_stands_in_a_session_is_named_by_its_path() -> None:
    named = set(settings_named(SESSION))
    assert named == {"instructions", "tools", "audio.output.voice", "audio.input.turn_detection"}
    assert fixed_in({"voiceagent": {"fixed": ["a"]}}) == {"a"}
    assert fixed_in({"voiceagent": "x"}) == fixed_in({}) == fixed_in({"voiceagent": {"fixed": "tools"}}) == frozenset()


@pytest.mark.parametrize(
    ("changes", "kept", "refused"),
    [
        ({"instructions": "Sell hats."}, {}, ("instructions",)),
        ({"instructions": "Sell shoes."}, {}, ()),
        ({"instructions": None, "tool_choice": "none"}, {"tool_choice": "none"}, ("instructions",)),
        ({"audio": {"output": {"voice": "joe", "speed": 2}}}, {"audio": {"output": {"speed": 2}}}, ("audio.output.voice",)),
        ({"audio": {"output": None}}, {"audio": {}}, ("audio.output",)),
        ({"audio": "x"}, {}, ("audio",)),
        (
            {"audio": {"input": {"turn_detection": {"type": "server_vad"}}}},
            {"audio": {"input": {}}},
            ("audio.input.turn_detection",),
        ),
        ({"model": "other", "type": "realtime"}, {"model": "other", "type": "realtime"}, ()),
    ],
)
def test_a_fixed_setting_is_taken_out_of_changes(changes: dict[str, Any], kept: dict[str, Any], refused: tuple[str, ...]) -> None:
    fixed = FixedSettings(tuple(settings_named(SESSION)))
    assert fixed.without_fixed(changes, SESSION) == (kept, refused)
    assert FixedSettings().without_fixed(changes, SESSION) == (changes, ())


def test_an_update_of_a_fixed_setting_is_answered_and_the_rest_is_applied() -> None:
    session = RealtimeSession("rtc_1", instructions="Sell shoes.", fixed=("instructions",))
    update = {
        "type": "session.update",
        "event_id": "e1",
        "session": {"instructions": "Sell hats.", "audio": {"output": {"voice": "joe"}}},
    }
    outcome = session.on_client(json.dumps(update), 0.0)
    updated, error = outcome.replies
    assert updated["session"]["instructions"] == "Sell shoes."
    assert updated["session"]["audio"]["output"]["voice"] == "joe"
    assert outcome.instructions is None
    assert (error["error"]["code"], error["error"]["param"], error["error"]["event_id"]) == (
        "setting_fixed",
        "session.instructions",
        "e1",
    )


def test_a_client_that_sends_back_what_is_fixed_is_told_of_no_error() -> None:
    session = RealtimeSession("rtc_1", instructions="Sell shoes.", fixed=("instructions", "tools"))
    update = {"type": "session.update", "session": {"type": "realtime", "instructions": "Sell shoes.", "tools": []}}
    (updated,) = session.on_client(json.dumps(update), 0.0).replies
    assert updated["type"] == "session.updated"
