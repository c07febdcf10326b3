"""A language model's server that does not answer: the call survives, with a fallback or an apology."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp

from tests.fakes import Said
from tests.server_process import running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.resources import demo_agent_file

APOLOGY = "Sorry, I did not get that."
NOWHERE = "http://127.0.0.1:9/v1"
WEATHER = "What's the weather in Paris tomorrow?"


def agent(folder: Path, llm: str) -> str:
    tools = demo_agent_file().parent / "tools.py"
    file = folder / "agent.yaml"
    file.write_text(f'name: Patient\ntools: ["{tools}"]\nphrases: {{apology: "{APOLOGY}"}}\nllm: {llm}\n')
    return str(file)


async def test_the_fallback_answers_for_a_dead_server(tmp_path: Path, said: Said) -> None:
    config = agent(tmp_path, f"{{base_url: '{NOWHERE}', fallback: embedded}}")
    with running_server(tmp_path, "--config", config) as server:
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            (turn,) = await dialogue.turn(WEATHER, *await said(WEATHER))
        async with aiohttp.ClientSession() as session, session.get(f"{server.url}/metrics") as response:
            assert 'voiceagent_llm_problems_total{problem="fallback_answered"}' in await response.text()
    assert json.loads(turn.tools[0]["arguments"]) == {"city": "Paris", "day": "tomorrow"}
    assert "Paris" in turn.heard


async def test_without_a_fallback_the_caller_hears_an_apology_each_time(tmp_path: Path, said: Said) -> None:
    config = agent(tmp_path, f"{{base_url: '{NOWHERE}'}}")
    with running_server(tmp_path, "--config", config) as server:
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            for _ in range(2):
                (turn,) = await dialogue.turn(WEATHER, *await said(WEATHER))
                assert turn.heard == APOLOGY
