"""Whole calls of Asterisk by `chan_websocket`: a real server process, the real engines, the bundled voice as the caller."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.fakes import Said, Words
from tests.server_process import ServerProcess, running_server
from tests.telephone.asterisk_peer import PASSWORD, AsteriskPeer
from tests.telephone.peers import CALLED, CALLER
from tests.telephone.test_telephone_calls import INTERRUPTION, LONG, WEATHER, ended
from voiceagent.audio.levels import dbfs
from voiceagent.audio.resample import resample
from voiceagent.conversation import actions as act
from voiceagent.latency.spans import LegKind
from voiceagent.resources import demo_agent_file
from voiceagent.store.database import local_store
from voiceagent.store.turns import read_turns

AGENT = """
name: Extension
instructions: You are a friendly voice assistant. Answer in one or two short sentences.
tools: [tools.py]
phrases: {greeting: "Hello, how can I help you?"}
telephony: {vendors: [asterisk]}
"""


@pytest.fixture(scope="module")
def extension(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder: Path = tmp_path_factory.mktemp("extension")
    (folder / "agent.yaml").write_text(AGENT)
    (folder / "tools.py").write_text((demo_agent_file().parent / "tools.py").read_text())
    options = ("--config", str(folder / "agent.yaml"), "--event-logs", "20")
    with running_server(folder, *options, environment={"VOICEAGENT_ASTERISK_PASSWORD": PASSWORD}) as running:
        yield running


@pytest.mark.parametrize(("name", "is_json"), [("ulaw", True), ("slin16", False)])
async def test_a_request_is_spoken_through_asterisk_and_an_interruption_is_flushed(
    extension: ServerProcess,
    said: Said,
    words: Words,
    name: str,
    is_json: bool,
) -> None:
    async with (
        aiohttp.ClientSession() as session,
        AsteriskPeer(session, extension.url, name, is_json, parameters={"queue": "sales"}, patience_s=30.0) as peer,
    ):

        async def say(text: str) -> None:
            pcm, rate_hz = await said(text)
            peer.say(resample(pcm, rate_hz, peer.rate_hz))

        await peer.wait(lambda: peer.is_quiet(0.6))
        assert "help" in (await words(peer.heard_pcm(), peer.rate_hz)).lower()
        asked = asyncio.get_running_loop().time()
        await say(WEATHER)
        await peer.wait(lambda: peer.heard[-1][0] > asked and peer.is_quiet(1.0))
        assert "degrees" in (await words(peer.heard_pcm(asked), peer.rate_hz)).lower()
        asked = asyncio.get_running_loop().time()
        await say(LONG)
        await peer.wait(lambda: len(peer.heard_pcm(asked)) > 0.9 * peer.rate_hz)
        interruption, rate_hz = await said(INTERRUPTION)
        interrupted = asyncio.get_running_loop().time()
        peer.say(resample(interruption, rate_hz, peer.rate_hz))
        await peer.wait(lambda: bool(peer.flushes))
        audible = [at for at, pcm in peer.heard if at < peer.flushes[0] + 0.3 and dbfs(pcm) > -45]
        await peer.wait(lambda: peer.heard[-1][0] > peer.spoken_until and peer.is_quiet(1.0))
    assert 0.0 < audible[-1] - interrupted < 0.6
    steps = await ended(extension, 1)
    calls = [action for _, actions in steps for action in actions if isinstance(action, act.ToolStarted)]
    assert (calls[0].name, json.loads(calls[0].arguments)) == ("get_weather", {"city": "Paris", "day": "tomorrow"})
    asked_with = [action.messages[0].content for _, actions in steps for action in actions if isinstance(action, act.Generate)]
    assert f'"caller":"{CALLER}","called":"{CALLED}","queue":"sales"' in asked_with[-1]
    heard = [action for _, actions in steps for action in actions if isinstance(action, act.ReplyHeard)]
    assert "Paris" in "".join(action.heard for action in heard)
    assert "Berlin" in heard[-1].heard
    cut = [action for _, actions in steps for action in actions if isinstance(action, act.ReplyEnded)]
    assert "interrupted" in {action.status for action in cut}
    assert peer.marks_told
    (turns, *_) = [turn for turn in read_turns(local_store(extension.data)) if turn.leg is LegKind.TELEPHONE]
    assert turns.voice_to_voice_ms is not None
    async with aiohttp.ClientSession() as session, session.get(f"{extension.url}/metrics") as response:
        assert 'voiceagent_leg_turns_total{leg="telephone"}' in await response.text()
