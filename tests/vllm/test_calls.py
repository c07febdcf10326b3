"""Whole calls over WebRTC, seen from vLLM: in the server's own process, and beside it. `tests/calls` runs with vLLM as well."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.vllm_server import CPU_ENVIRONMENT, VllmServer
from tests.server_process import running_server
from tests.vllm.watch import HITS, Watch
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.engines import SERVER_VARIABLE, load_tts
from voiceagent.models.registry import profile

WEATHER = "What's the weather in Paris tomorrow?"
LONG = "What can you do?"


async def said(text: str) -> tuple[NDArray[np.int16], int]:
    voice = load_tts(profile("embedded").tts)
    speech = np.concatenate([chunk.pcm async for chunk in voice.synthesise(text)])
    await voice.close()
    return speech, voice.sample_rate_hz


async def test_a_call_is_answered_by_vllm_in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in CPU_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with running_server(tmp_path, "--profile", "vllm-inside") as server:
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            (turn,) = await dialogue.turn(WEATHER, *await said(WEATHER))
    assert json.loads(turn.tools[0]["arguments"]) == {"city": "Paris", "day": "tomorrow"}
    assert "Paris" in turn.heard


async def test_interruptions_and_hang_ups_leave_nothing_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vllm_server: VllmServer, watch: Watch
) -> None:
    monkeypatch.setenv(SERVER_VARIABLE, vllm_server.base_url)
    hits = (await watch.metrics())[HITS]
    with running_server(tmp_path, "--profile", "vllm-cpu") as server:
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            pcm, rate_hz = await said(LONG)
            interruption, _ = await said(WEATHER)
            await dialogue.turn(LONG, pcm, rate_hz, interrupt_with=(WEATHER, interruption))
            assert (await watch.metrics())[HITS] > hits, "prompts are read ahead"
            since = dialogue.event_count
            caller.send_event({"type": "output_audio_buffer.clear"})
            content = [{"type": "input_text", "text": LONG}]
            caller.send_event(
                {"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}}
            )
            caller.send_event({"type": "response.create"})
            await dialogue.wait_event(lambda event: event.type == "response.created", since, "a reply")
        await watch.until_idle()
