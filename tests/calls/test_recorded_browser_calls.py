"""Calls by WebRTC that are recorded, where that is configured: announced, both sides on one clock, named in the record, deleted
with it."""

from __future__ import annotations

import asyncio
import os
import wave
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cli.conftest import Outcome
from tests.fakes import Said
from tests.kept_calls import ended_call
from tests.server_process import running_server
from voiceagent.audio.format import HEARD_HZ, PLAYED_HZ
from voiceagent.cli import main
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.json_types import JsonObject
from voiceagent.resources import demo_agent_file
from voiceagent.store.records import CallRecord

ANNOUNCEMENT, GREETING = "What time is it in Berlin?", "What can you do?"
"""In words that the bundled voice says well."""
WEATHER = "What's the weather in Paris tomorrow?"
LOUD = 1000
APART_S = 0.25
"""The delay of the network's path and of the jitter buffers on it."""


def agent_of(folder: Path, recording: str) -> Path:
    demo = demo_agent_file()
    (folder / "tools.py").write_text((demo.parent / "tools.py").read_text())
    path = folder / "agent.yaml"
    path.write_text(
        f'tools: [tools.py]\nphrases: {{greeting: "{GREETING}"}}\nrecords: {{keep: facts}}\n'
        f'telephony: {{recording: {{folder: kept, announcement: "{ANNOUNCEMENT}", min_free_mb: 1{recording}}}}}\n'
    )
    return path


def onset_s(pcm: NDArray[np.int16], rate_hz: int) -> float:
    return int(np.flatnonzero(np.abs(pcm.astype(int)) > LOUD)[0]) / rate_hz


async def talk(url: str, said: Said) -> tuple[Caller, list[JsonObject]]:
    """The caller, and the server's events."""
    caller = Caller(url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        await dialogue.turn(WEATHER, *await said(WEATHER))
    return caller, [event.data for event in dialogue.events_since(0)]


def check_file(folder: Path, call: CallRecord, caller: Caller) -> None:
    """It is private, as long as the call, and both sides are as far apart as they were for the caller."""
    file = Path(call.recording)
    assert file == folder.resolve() / f"{call.call_id}.wav"
    assert file.stat().st_mode & 0o777 == 0o600
    with wave.open(str(file)) as recording:
        assert (recording.getnchannels(), recording.getframerate()) == (2, HEARD_HZ)
        pcm = np.frombuffer(recording.readframes(recording.getnframes()), "<i2").reshape(-1, 2)
    assert len(pcm) / HEARD_HZ == pytest.approx(call.summary.length_ms / 1000, abs=0.7)
    agent_first_s = onset_s(pcm[:, 1], HEARD_HZ)
    apart_s = onset_s(pcm[:, 0], HEARD_HZ) - agent_first_s
    heard_apart_s = onset_s(caller.recording.caller.pcm(), PLAYED_HZ) - onset_s(caller.recording.agent.pcm(), PLAYED_HZ)
    assert apart_s == pytest.approx(heard_apart_s, abs=APART_S)


async def test_a_browsers_call_is_announced_and_recorded_on_one_clock(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_server(tmp_path, "--config", str(agent_of(tmp_path, ", browsers: true"))) as server:
        caller, events = await talk(server.url, said)
        call = await asyncio.to_thread(ended_call, tmp_path)
    check_file(tmp_path / "kept", call, caller)
    types = [event["type"] for event in events]
    assert [event["recording"] for event in events if event["type"] == "voiceagent.recording"] == [True]
    assert types.index("voiceagent.recording") < types.index("voiceagent.heard"), "it is shown before it is said"
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path))
    with pytest.raises(SystemExit):
        main(["calls", "delete", call.call_id, "--yes"])
    assert Outcome(0, *capsys.readouterr()).out == "1 call deleted\n"
    assert not os.listdir(tmp_path / "kept")


async def test_a_browsers_call_is_not_recorded_unless_that_is_configured(tmp_path: Path, said: Said) -> None:
    with running_server(tmp_path, "--config", str(agent_of(tmp_path, ""))) as server:
        _, events = await talk(server.url, said)
        call = await asyncio.to_thread(ended_call, tmp_path)
    assert call.recording == ""
    assert "voiceagent.recording" not in [event["type"] for event in events]
    assert not (tmp_path / "kept").exists()
