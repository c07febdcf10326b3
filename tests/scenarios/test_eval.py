"""`voiceagent eval` on real agents: the demo's passes, a broken one fails where it is broken."""

from __future__ import annotations

import asyncio
import json
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from tests.cli.conftest import Outcome

Run = Callable[..., Outcome]
DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo"
SCENARIOS = str(DEMO / "scenarios")
INVERTED = """
from voiceagent.conversation import caller_turn

judge, other = caller_turn.classify, {"yield": "continue", "continue": "yield"}
caller_turn.classify = lambda overlap, language: other[judge(overlap, language)] if overlap.silent else "wait"
"""
"""Agents are Python: one may turn the engine's judgement of speech over its own upside down."""


def test_every_scenario_of_the_demo_passes_by_text(voiceagent: Run, tmp_path: Path) -> None:
    out = tmp_path / "results.xml"
    outcome = voiceagent("eval", SCENARIOS, "--profile", "embedded", "--format", "junit", "--out", str(out))
    assert outcome.code == 0, outcome.out
    suite = ET.parse(out).getroot()[0]
    assert suite.get("failures") == "0"
    assert int(suite.get("tests") or 0) >= 30


def test_a_broken_agent_fails_what_it_should(voiceagent: Run, tmp_path: Path) -> None:
    broken = (DEMO / "tools.py").read_text().replace('"booked": "table", **bookings["table"]', '"booked": "nothing"')
    (tmp_path / "tools.py").write_text(broken.replace("if not 1 <= minutes <= 1440:", "if minutes:"))
    ignores_keys = "guard: {input: {topics: {keys: '^[0-9]+$'}, line: Please speak.}}\n"
    (tmp_path / "agent.yaml").write_text("name: Broken\ntools: [tools.py]\n" + ignores_keys)
    found = voiceagent("eval", SCENARIOS, "--agent", str(tmp_path / "agent.yaml"), "--profile", "embedded", "--format", "json")
    assert found.code == 1
    results = {one["scenario"]: one["trials"][0] for one in json.loads(found.out)["scenarios"]}
    failed = {name for name, trial in results.items() if not trial["passed"]}
    keys = {"Takes an order number that is keyed in", "Takes an order number that a pause ends"}
    assert failed == {"Books a table in one sentence", "Sets a timer and cancels it", *keys}
    assert any("set_timer(minutes=10) that works" in line for line in results["Sets a timer and cancels it"]["failures"])


def test_a_caller_is_played_and_a_judge_asked_by_a_model(voiceagent: Run, tmp_path: Path) -> None:
    scenario = tmp_path / "played.yaml"
    scenario.write_text("""scenarios:
  - name: Played
    by: [text]
    caller: {persona: You are in a hurry., goal: the time in Paris}
    expect: {tools: [{name: get_time, arguments: {city: Paris}}], judge: 'Was the caller told the time?'}
  - name: Judged badly
    by: [text]
    caller: [{say: Thank you.}]
    expect: {judge: 'Was the caller insulted?'}
""")
    with scripted_model() as url:
        options = ("--profile", "embedded", "--model-url", url, "--model", "scripted")
        found = voiceagent("eval", str(scenario), *options, "--repeat", "2")
    assert found.code == 1
    assert "2 of 4 trials passed. pass@1 50.0%, pass^2 50.0%" in found.out
    assert "judge 'Was the caller insulted?': it answered 'No.'" in found.out
    unasked = voiceagent("eval", str(scenario), "--name", "Judged badly", "--profile", "embedded")
    assert unasked.code == 0
    assert "not asked: judge" in unasked.out
    assert "its caller is played by a language model" in voiceagent("eval", str(scenario)).err


def test_an_agent_that_never_yields_but_to_backchannels_fails_by_speech(voiceagent: Run, tmp_path: Path) -> None:
    """It hears callers, also on a bad line. What it makes of speech over its own is the wrong way round."""
    (tmp_path / "tools.py").write_text((DEMO / "tools.py").read_text() + INVERTED)
    (tmp_path / "agent.yaml").write_text("name: Rude\ntools: [tools.py]\n")
    wrong = ("Stops at once when it is told to", "Speaks on over a person's okay")
    chosen = [option for name in (*wrong, "Hears a caller who loses packets") for option in ("--name", name)]
    agent = ("--agent", str(tmp_path / "agent.yaml"), "--profile", "embedded")
    found = voiceagent("eval", SCENARIOS, *agent, "--by", "speech", *chosen, "--format", "json")
    results = json.loads(found.out)
    assert {one["scenario"] for one in results["scenarios"] if not one["trials"][0]["passed"]} == set(wrong), found.out
    assert results["interaction"]["stop"]["yield_rate"] == 0.0
    assert results["interaction"]["backchannel"]["yielded_wrongly"] == 1.0
    assert results["interaction"]["turn"]["response_rate"] == 1.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--url", "http://127.0.0.1:1"), "no server there"),
        (("--url", "http://127.0.0.1:1", "--profile", "cpu"), "--url calls a server that runs"),
        (("--model", "x"), "--model-url and --model belong together"),
        (("--tag", "nope"), "no tag is called 'nope'"),
        (("--tag", "line"), "none of these scenarios can be tried by text"),
        (("--profile", "embeded"), "embedded"),
    ],
)
def test_what_makes_no_sense_is_one_line(voiceagent: Run, options: tuple[str, ...], said: str) -> None:
    outcome = voiceagent("eval", SCENARIOS, *options)
    assert outcome.code in (1, 2)
    assert said in outcome.err + outcome.out


@contextmanager
def scripted_model() -> Iterator[str]:
    """A server of Chat Completions that plays a caller with one question, and judges by a word."""

    async def answer(request: web.Request) -> web.Response:
        messages = (await request.json())["messages"]
        if "judge" in messages[0]["content"]:
            text = "No." if "insulted" in messages[-1]["content"] else "Yes."
        else:
            text = "What time is it in Paris?" if len(messages) == 2 else "GOODBYE"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        return web.json_response({"id": "1", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]})

    loop, ready, ports = asyncio.new_event_loop(), threading.Event(), list[int]()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)

    async def serve() -> None:
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ports.append(runner.addresses[0][1])
        ready.set()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(serve())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield f"http://127.0.0.1:{ports[0]}/v1"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
