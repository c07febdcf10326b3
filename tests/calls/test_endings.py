"""How calls end, and that each end frees everything of the call."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import aiohttp
import pytest

from tests.calls.conftest import Said
from tests.server_process import ServerProcess, running_server
from voiceagent.errors import MediaError
from voiceagent.media.caller import Caller
from voiceagent.media.dialogue import Dialogue
from voiceagent.media.impairment import Impairment, Relay


async def freed(server: ServerProcess) -> None:
    """Wait until the server carries no call."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(30):
        while True:
            async with session.get(f"{server.url}/metrics") as response:
                if "voiceagent_calls_active 0" in (await response.text()).splitlines():
                    return


async def test_a_closed_tab_frees_the_call(server: ServerProcess) -> None:
    caller = Caller(server.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
    await freed(server)


async def test_a_lost_network_frees_the_call(server: ServerProcess) -> None:
    relay = Relay(Impairment())
    caller = Caller(server.url, relay=relay)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        relay.close()
        await freed(server)


async def test_a_silent_caller_is_asked_and_then_the_call_ends(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: Quiet\nturn: {silence_timeout_s: 1}\n")
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml")) as server:
        caller = Caller(server.url)
        async with caller, Dialogue(caller) as dialogue:
            await dialogue.wait_event(lambda event: event.type == "voiceagent.call_ended", 0, "the end of the call")
            spoken = [event.data for event in dialogue.events_since(0) if event.type == "voiceagent.heard"]
            heard = {data["item_id"]: data["heard"] for data in spoken}
        assert dialogue.call_end_reason == "silence"
        assert list(heard.values()) == ["Are you still there?", "Goodbye."]
        await freed(server)


async def test_stopping_the_server_ends_its_calls(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        caller = Caller(server.url)
        async with caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            server.process.send_signal(signal.SIGTERM)
            await caller.wait_ended()
        assert dialogue.call_end_reason == "server_stopping"


async def test_a_full_server_says_so_and_serves_again_when_a_line_is_free(tmp_path: Path, said: Said) -> None:
    with running_server(tmp_path, "--max-calls", "1") as server:
        async with Caller(server.url):
            with pytest.raises(MediaError, match="in use"):
                await Caller(server.url).connect()
        await freed(server)
        caller = Caller(server.url)
        async with caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            (turn,) = await dialogue.turn("How are you?", *await said("How are you?"))
        assert turn.heard


async def test_calls_at_once_are_all_answered(server: ServerProcess, said: Said) -> None:
    text = "What time is it in Paris?"
    speech = await said(text)

    async def call() -> str:
        caller = Caller(server.url)
        async with caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            (turn,) = await dialogue.turn(text, *speech)
        return turn.heard

    for heard in await asyncio.gather(*(call() for _ in range(3))):
        assert "Paris" in heard
