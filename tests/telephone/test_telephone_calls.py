"""Whole telephone calls: a real server process with the real engines, and the bundled voice as the caller through the telephone's
codes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.fakes import Said, Words
from tests.kept_calls import latest_log
from tests.server_process import ServerProcess, running_server
from tests.telephone.peers import CALLED, CALLER, PUBLIC_URL, SECRETS, Peer, environment
from voiceagent.audio.levels import dbfs
from voiceagent.audio.resample import resample
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.resources import demo_agent_file
from voiceagent.store.database import local_store
from voiceagent.store.event_log import logged_calls

WEATHER = "What's the weather in Paris tomorrow?"
LONG = "What can you do?"
INTERRUPTION = "No, what time is it in Berlin?"
AGENT = f"""
name: Line
instructions: You are a friendly voice assistant. Answer in one or two short sentences.
tools: [tools.py]
phrases: {{greeting: "Hello, how can I help you?"}}
telephony:
  url: {PUBLIC_URL}
  vendors: [{", ".join(SECRETS)}]
"""


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with a_line(tmp_path_factory.mktemp("line")) as running:
        yield running


@contextmanager
def a_line(folder: Path, more: str = "") -> Iterator[ServerProcess]:
    """`more` are settings of `telephony:`."""
    (folder / "agent.yaml").write_text(AGENT + more)
    (folder / "tools.py").write_text((demo_agent_file().parent / "tools.py").read_text())
    options = ("--config", str(folder / "agent.yaml"), "--event-logs", "20")
    with running_server(folder, *options, environment=environment()) as running:
        yield running


async def spoken(said: Said, text: str, peer: Peer) -> NDArray[np.int16]:
    pcm, rate_hz = await said(text)
    return resample(pcm, rate_hz, peer.rate_hz)


async def ended(server: ServerProcess, calls: int) -> list[tuple[ev.Event, tuple[act.Action, ...]]]:
    """The last call's events and what came of each, once so many calls are over."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(20):
        while True:
            async with session.get(f"{server.url}/metrics") as response:
                text = await response.text()
            if "voiceagent_calls_active 0" in text:
                break
            await asyncio.sleep(0.05)
    assert len(logged_calls(local_store(server.data))) >= calls
    _, steps = latest_log(server.data)
    return [(step.event, tuple(step.actions)) for step in steps]


@pytest.mark.parametrize("vendor", ["twilio", "vonage"])
async def test_a_request_is_spoken_over_the_telephone_and_answered_with_the_tools_result(
    line: ServerProcess,
    session: aiohttp.ClientSession,
    said: Said,
    words: Words,
    vendor: str,
) -> None:
    async with Peer(session, line.url, vendor, {"customer_id": "42"}, patience_s=30.0) as peer:
        await peer.wait(lambda: peer.is_quiet(0.6))
        assert "help" in (await words(peer.heard_pcm(), peer.rate_hz)).lower()
        asked = asyncio.get_running_loop().time()
        peer.say(await spoken(said, WEATHER, peer))
        await peer.wait(lambda: peer.heard[-1][0] > asked and peer.is_quiet(1.0))
        answer = await words(peer.heard_pcm(asked), peer.rate_hz)
        assert not peer.clears
    steps = await ended(line, 1)
    calls = [action for _, actions in steps for action in actions if isinstance(action, act.ToolStarted)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("get_weather", {"city": "Paris", "day": "tomorrow"})]
    heard = [action for _, actions in steps for action in actions if isinstance(action, act.ReplyHeard)]
    assert "degrees" in answer.lower()
    assert "Paris" in heard[-1].heard
    assert peer.marks_played
    assert peer.chunk_sizes == {640 if vendor == "vonage" else 160}
    asked_with = [action.messages[0].content for _, actions in steps for action in actions if isinstance(action, act.Generate)]
    assert f'"caller":"{CALLER}","called":"{CALLED}","customer_id":"42"' in asked_with[-1]


async def test_the_agent_is_as_loud_on_telephones_as_the_operator_set_it(
    line: ServerProcess, session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    levels = []
    with a_line(tmp_path, "  gain_db: -12\n") as softer:
        for server in (line, softer):
            async with Peer(session, server.url, "vonage", patience_s=30.0) as peer:
                await peer.wait(partial(peer.is_quiet, 0.6))
                heard = peer.heard_pcm()
                levels.append(dbfs(heard[np.abs(heard) > np.abs(heard).max() / 10]))
    assert levels[1] - levels[0] == pytest.approx(-12, abs=1)


async def test_an_interruption_clears_what_the_vendor_keeps_and_history_keeps_what_marks_acknowledged(
    line: ServerProcess,
    session: aiohttp.ClientSession,
    said: Said,
) -> None:
    async with Peer(session, line.url, "twilio", patience_s=30.0) as peer:
        await peer.wait(lambda: peer.is_quiet(0.6))
        asked = asyncio.get_running_loop().time()
        peer.say(await spoken(said, LONG, peer))
        interruption = await spoken(said, INTERRUPTION, peer)
        await peer.wait(lambda: len(peer.heard_pcm(asked)) > 0.9 * peer.rate_hz)
        interrupted = asyncio.get_running_loop().time()
        peer.say(interruption)
        await peer.wait(lambda: bool(peer.clears))
        audible = [at for at, pcm in peer.heard if at < peer.clears[0] + 0.5 and dbfs(pcm) > -45]
        await peer.wait(lambda: peer.heard[-1][0] > peer.spoken_until and peer.is_quiet(1.0))
    stopped_s = audible[-1] - interrupted
    played_ms = 1000 * len(np.concatenate([pcm for at, pcm in peer.heard if asked < at <= audible[-1]])) / peer.rate_hz
    steps = await ended(line, 1)
    text: dict[int, str] = {}
    for event, _ in steps:
        if isinstance(event, ev.TextDelta):
            text[event.reply_id] = text.get(event.reply_id, "") + event.text
    heard = {action.reply_id: action.heard for _, actions in steps for action in actions if isinstance(action, act.ReplyHeard)}
    stopped = [event for event, _ in steps if isinstance(event, ev.PlayoutStopped) and event.clause >= 0]
    known_ms = stopped[0].played_ms + sum(
        event.duration_ms
        for event, _ in steps
        if isinstance(event, ev.ClauseAudio)
        and event.reply_id == stopped[0].reply_id
        and event.clause < stopped[0].clause
        and event.complete
    )
    cut, full = heard[stopped[0].reply_id], text[stopped[0].reply_id]
    assert 0.0 < stopped_s < 0.6
    assert cut
    assert full.startswith(cut.rstrip(".,!?"))
    assert len(cut) < len(full)
    assert played_ms - 300 < known_ms <= played_ms + 1, "never more than was played, and not much less"
    assert "Berlin" in list(heard.values())[-1]
    assert set(peer.marks_played) & set(peer.marks_cleared) == set()


async def test_a_key_stops_the_agents_voice_and_the_number_is_answered_as_the_callers_words(
    line: ServerProcess,
    session: aiohttp.ClientSession,
    said: Said,
) -> None:
    async with Peer(session, line.url, "twilio", patience_s=30.0) as peer:
        await peer.wait(lambda: peer.is_quiet(0.6))
        asked = asyncio.get_running_loop().time()
        peer.say(await spoken(said, LONG, peer))
        await peer.wait(lambda: len(peer.heard_pcm(asked)) > 0.9 * peer.rate_hz)
        pressed = asyncio.get_running_loop().time()
        await peer.press("4")
        await peer.wait(lambda: bool(peer.clears))
        stopped_s = peer.clears[0] - pressed
        await peer.press("2#")
        await peer.wait(lambda: peer.heard[-1][0] > peer.clears[0] and peer.is_quiet(1.0))
    steps = await ended(line, 1)
    asked_with = [action.messages for _, actions in steps for action in actions if isinstance(action, act.Generate)]
    assert stopped_s < 0.25
    assert (asked_with[-1][-1].role, asked_with[-1][-1].content) == ("user", "42")
    assert len(peer.heard_pcm(peer.clears[0])) > 0.3 * peer.rate_hz, "and an answer is heard"


async def ask(peer: Peer, words: NDArray[np.int16]) -> None:
    """Say this, and wait for the end of the answer."""
    asked = asyncio.get_running_loop().time()
    peer.say(words)
    await peer.wait(lambda: peer.heard[-1][0] > peer.spoken_until > asked and peer.is_quiet(1.0))


HANDING_OFF = """
steps:
  reason: {instructions: Ask why they call., everywhere: true}
  desk: {handoff: desk.yaml, everywhere: person, summary: false}
"""


async def test_words_are_said_again_and_a_person_is_another_agent_by_telephone_too(
    session: aiohttp.ClientSession, said: Said, tmp_path: Path
) -> None:
    (tmp_path / "desk.yaml").write_text("name: Desk\ninstructions: You are the desk.\ntools: [tools.py]\n")
    with a_line(tmp_path, HANDING_OFF) as server:
        async with Peer(session, server.url, "twilio", patience_s=30.0) as peer:
            await peer.wait(lambda: peer.is_quiet(0.6))
            for words in ("Can you say that again?", "I want to speak to a person."):
                await ask(peer, await spoken(said, words, peer))
        steps = await ended(server, 1)
    actions = [action for _, done in steps for action in done]
    heard = [action.heard for action in actions if isinstance(action, act.ReplyEnded)]
    assert heard[:2] == ["Hello, how can I help you?"] * 2
    assert [action.agent for action in actions if isinstance(action, act.AgentChanged)] == ["desk.yaml"]
    prompt = [action.messages[0].content for action in actions if isinstance(action, act.Generate)][-1]
    assert prompt.startswith("You are the desk.")
    assert f'"caller":"{CALLER}"' in prompt
