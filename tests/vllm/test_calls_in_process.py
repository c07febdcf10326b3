"""A whole call over WebRTC with vLLM in the server's own process."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.vllm_server import CPU_ENVIRONMENT
from tests.server_process import running_server
from voiceagent.engines import load_tts
from voiceagent.media.caller import Caller
from voiceagent.media.dialogue import Dialogue
from voiceagent.models.registry import profile

WEATHER = "What's the weather in Paris tomorrow?"


async def test_a_call_is_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CPU_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    voice = load_tts(profile("embedded").tts)
    speech = np.concatenate([chunk.pcm async for chunk in voice.synthesise(WEATHER)])
    await voice.close()
    with running_server(tmp_path, "--profile", "vllm-inside") as server:
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            (turn,) = await dialogue.turn(WEATHER, speech, voice.sample_rate_hz)
    assert json.loads(turn.tools[0]["arguments"]) == {"city": "Paris", "day": "tomorrow"}
    assert "Paris" in turn.heard
