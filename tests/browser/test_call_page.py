"""A whole call on the page: its figures, what can be kept of it, and the panel of sound. In real Chromium, against a real server
that records."""

from __future__ import annotations

import csv
import io
import json
import os
import statistics
from typing import Any

import pytest

from tests.browser.browsers import installed
from tests.demo_agent import demo_with
from tests.server_process import running_server
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent

RECORDING = 'telephony: {recording: {folder: kept, announcement: "What time is it in Berlin?", browsers: true, min_free_mb: 1}}\n'
"""The announcement is in words that the bundled voice says well."""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a person who makes such a call has seen."""
    browser = installed("chromium", "axe-core")
    folder = tmp_path_factory.mktemp("call")
    with running_server(folder, "--config", demo_with(folder, RECORDING), "--profile", "embedded") as server:
        return browser.sees("call-page.mjs", server.url, os.environ.get("VOICEAGENT_SCREENSHOTS", "-"))


@pytest.mark.browser
def test_no_state_of_a_call_keeps_anybody_out_on_any_screen(seen: dict[str, Any]) -> None:
    assert seen["violations"] == []


@pytest.mark.browser
def test_before_a_call_the_page_says_who_answers_and_what_to_say(seen: dict[str, Any]) -> None:
    agent = load_agent(demo_agent_file())
    assert seen["idle"]["name"] == agent.name
    assert seen["idle"]["examples"] == list(agent.examples)
    for known in ("English", "micro-whisper", "micro-lm", "micro-voice", "embedded", "Understands English only"):
        assert known in seen["idle"]["about"]
    assert seen["idle"]["unfit"], "the models were made for it"
    assert seen["idle"]["steps"], "it has none"


@pytest.mark.browser
def test_an_example_calls_and_is_then_sent_as_text(seen: dict[str, Any]) -> None:
    examples = load_agent(demo_agent_file()).examples
    assert "Say this" in seen["hint"]
    assert seen["during"]["said"] == [examples[1], examples[0]]


@pytest.mark.browser
def test_without_a_microphone_an_example_begins_a_typed_call(seen: dict[str, Any]) -> None:
    assert seen["typed"] == {"said": load_agent(demo_agent_file()).examples[0], "hint": ""}


@pytest.mark.browser
def test_the_figures_of_the_call_are_those_of_its_turns(seen: dict[str, Any]) -> None:
    during = seen["during"]
    waits = [int(wait.replace(",", "").split()[0]) for wait in during["waits"]]
    assert during["bars"] == len(waits) == 2
    figures = [line for line in during["figures"].split("\n") if line.strip()]
    named = dict(zip(figures[::2], figures[1::2], strict=True))
    assert named["Turns"] == "2"
    assert named["Wait, median"] == f"{statistics.median_low(waits):,} ms"
    assert named["Wait, 95th percentile"] == f"{max(waits):,} ms"
    assert "2 turns" in during["chart"]
    assert during["lanes"] == ["Agent", "You"]


@pytest.mark.browser
def test_the_call_can_be_copied_and_looked_up(seen: dict[str, Any]) -> None:
    call_id = seen["during"]["id"]
    assert seen["copied"] == call_id
    assert call_id.startswith("rtc_")
    assert seen["monitorTitle"] == f"Call {call_id}"


@pytest.mark.browser
def test_a_call_that_is_over_can_be_kept(seen: dict[str, Any]) -> None:
    call_id, files = seen["during"]["id"], seen["files"]
    first, second = seen["during"]["said"]
    transcript = files[f"{call_id}.txt"]
    assert transcript.index(f"You: {first}") < transcript.index(f"You: {second}")
    assert "get_weather(" in transcript
    events = [json.loads(line) for line in files[f"{call_id}.jsonl"].splitlines()]
    assert events[0]["event"]["type"] == "session.created"
    assert {event["event"]["type"] for event in events if event["direction"] == "sent"} >= {"response.create"}
    assert [event["at_ms"] for event in events] == sorted(event["at_ms"] for event in events)
    rows = list(csv.DictReader(io.StringIO(files[f"{call_id}.csv"])))
    waits = [int(wait.replace(",", "").split()[0]) for wait in seen["during"]["waits"]]
    assert [float(row["wait_ms"]) for row in reversed(rows)] == pytest.approx(waits, abs=1)
    for row in rows:
        parts = [name for name in list(row)[7:] if row[name]]
        assert sum(float(row[name]) for name in parts) == pytest.approx(float(row["wait_ms"]), abs=1)
    assert files[f"{call_id}.wav"].startswith("RIFF")
    assert len(files[f"{call_id}.wav"]) > 100_000
    for told in ("The call in short", "Longest wait", "Transcript", "Events", "Times", "Recording", call_id):
        assert told in seen["summary"]


@pytest.mark.browser
def test_on_a_phone_a_long_name_stays_and_the_times_are_one_tap_away(seen: dict[str, Any]) -> None:
    phone = seen["phone"]
    assert phone["nameWidth"] > 150
    assert not phone["tooWide"]
    assert phone["bar"] < 120
    assert phone["times"]["pressed"] == "true"
    assert phone["times"]["conversation"] == 0
    assert phone["times"]["top"] < 130


@pytest.mark.browser
def test_the_loudspeaker_the_volume_and_the_noise_setting_are_used_and_kept(seen: dict[str, Any]) -> None:
    assert seen["sound"]["asked"]["noiseSuppression"] is False
    assert seen["sound"]["asked"]["echoCancellation"] is True
    assert seen["sound"]["heard"] == [0.4]
    assert seen["loudspeakers"]["chosen"][:2] == [["speaker", "kitchen"], ["own-voice", "kitchen"]]
    assert "cannot be used" in seen["loudspeakers"]["note"]
    assert seen["closed"] == [True, "sound"]
    assert (seen["kept"]["asked"]["noiseSuppression"], seen["kept"]["volume"]) == (False, 0.4)
    assert seen["inCall"]["noiseSuppression"] is True
