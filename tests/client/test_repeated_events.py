"""A server repeats what it takes for missed. What the lost connection brings after all is told once."""

from __future__ import annotations

import json

import pytest

from voiceagent.client import caller as caller_module
from voiceagent.client.caller import Caller


def event(number: int, kind: str = "response.done") -> str:
    return json.dumps({"type": kind, "event_id": f"event_{number:04x}"})


async def test_an_event_that_comes_by_two_connections_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_module, "MAX_KNOWN_EVENTS", 8)
    caller, without_id = Caller("http://127.0.0.1:1"), json.dumps({"type": "error"})
    late, repeated = [event(number) for number in range(1, 4)], [event(number) for number in range(1, 6)]
    for text in (event(0), *late, event(3, "error"), *repeated, without_id, without_id, "[]", "no JSON"):
        caller._events.take(text)
    caller._events.end()
    told = [found.data.get("event_id", "") async for found in caller.events()]
    assert told == ["event_0000", "event_0001", "event_0002", "event_0003", "event_0003", "event_0004", "event_0005", "", ""]
