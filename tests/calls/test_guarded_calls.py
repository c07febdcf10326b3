"""Whole calls of an agent that is guarded: what is blocked is not heard, not shown and not in the history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.fakes import Said
from tests.guard.screening_service import ScreeningService
from tests.loopback import on_loopback
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.resources import demo_agent_file

AGENT = """
name: Guarded
instructions: You are a friendly voice assistant. Answer in one short sentence.
tools: [{tools}]
phrases: {{greeting: "Hello, how can I help you?"}}
guard:
  output: {{phrases: [degrees], line: "I may not speak of that."}}
  input: {{topics: {{berlin: "\\\\bBerlin\\\\b"}}, lines: {{berlin: "Let us not talk about this city."}}}}
"""
SCREENED = """
instructions: You are a friendly voice assistant. Answer in one short sentence.
guard:
  output: {{line: "I may not say that.", plugins: [&screen {{name: http, options: {{url: {url}}}, deadline_ms: 2000}}]}}
  input: {{line: "I will not talk about that.", plugins: [*screen]}}
"""
WEATHER = "What's the weather in Paris tomorrow?"
BERLIN = "What time is it in Berlin?"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("guarded")
    (folder / "agent.yaml").write_text(AGENT.format(tools=demo_agent_file().parent / "tools.py"))
    with running_server(folder, "--config", str(folder / "agent.yaml")) as running:
        yield running


async def test_a_blocked_phrase_is_never_heard_or_shown(guarded: ServerProcess, said: Said) -> None:
    caller = Caller(guarded.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        (turn,) = await dialogue.turn(WEATHER, *await said(WEATHER))
        shown = [event.data["delta"] for event in dialogue.events_since(0) if event.type.endswith("audio_transcript.delta")]
    assert turn.heard.endswith("I may not speak of that.")
    assert "degrees" not in " ".join(shown)
    assert turn.turn is not None
    assert "guard" in {span["stage"] for span in turn.turn["spans"]}


async def test_a_topic_is_refused_before_the_model_reads_it(guarded: ServerProcess, said: Said) -> None:
    caller = Caller(guarded.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        (turn,) = await dialogue.turn(BERLIN, *await said(BERLIN))
    assert turn.heard == "Let us not talk about this city."
    assert turn.caption == "(withheld: berlin)."
    assert not turn.tools
    async with aiohttp.ClientSession() as session, session.get(f"{guarded.url}/metrics") as response:
        metrics = await response.text()
    assert 'voiceagent_guard_hits_total{rule="input: berlin"} 1' in metrics


async def test_a_service_screens_what_is_said_and_what_is_asked(tmp_path: Path) -> None:
    service = ScreeningService()
    async with on_loopback(service.app) as url, aiohttp.ClientSession() as session:
        (tmp_path / "agent.yaml").write_text(SCREENED.format(url=f"{url}/v2/guard"))
        with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml")) as running:
            answers = []
            for text in ("Hello, how are you?", "Is there a casino?"):
                body = {"model": "voiceagent", "messages": [{"role": "user", "content": text}]}
                async with session.post(f"{running.url}/v1/chat/completions", json=body) as response:
                    answers.append((await response.json())["choices"][0]["message"]["content"])
            async with session.get(f"{running.url}/metrics") as response:
                metrics = await response.text()
    assert [asked["messages"][0]["role"] for asked in service.asked][:2] == ["user", "assistant"]
    assert answers[0].startswith(service.asked[1]["messages"][0]["content"].strip())
    assert answers[1] == "I will not talk about that."
    assert 'voiceagent_guard_hits_total{rule="input: http: custom/gambling"} 1' in metrics
    assert 'voiceagent_guard_checks_total{outcome="input: http: answered"} 2' in metrics
