"""The log as JSON: a line is an object, with the ids of the call and the turn, and without secrets."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from voiceagent.logs import LINE, JsonLines
from voiceagent.redaction import keep_secret


def line(message: str, *args: object, error: bool = False) -> dict[str, object]:
    try:
        raise ValueError("no \u2028 line\nbreak")
    except ValueError:
        info = sys.exc_info() if error else None
    record = logging.LogRecord("voiceagent.turns", logging.WARNING, __file__, 1, message, args, info)
    text = JsonLines(LINE).format(record)
    assert "\n" not in text
    found: dict[str, object] = json.loads(text)
    return found


@pytest.mark.parametrize(
    ("message", "ids"),
    [
        ("call rtc_8f2c turn 3: answered after 320 ms", {"call": "rtc_8f2c", "turn": 3}),
        ("call rtc_8f2c: the line was lost", {"call": "rtc_8f2c"}),
        ("the server stops", {}),
    ],
)
def test_the_ids_of_call_and_turn_are_fields(message: str, ids: dict[str, object]) -> None:
    found = line(message)
    assert {name: found[name] for name in ("call", "turn") if name in found} == ids
    assert ("trace_id" in found) == ("turn" in ids)
    assert (found["level"], found["logger"], found["message"]) == ("WARNING", "voiceagent.turns", message)
    assert str(found["time"]).endswith("+00:00")


def test_a_traceback_is_a_field_and_secrets_are_gone() -> None:
    keep_secret("sk-very-secret-1234")
    found = line("the key %s was refused", "sk-very-secret-1234", error=True)
    assert "sk-very-secret" not in str(found)
    assert "ValueError" in str(found["exception"])
