"""How calls end, and that each end frees everything of the call."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.calls.socket_caller import SocketCaller
from tests.fakes import Said
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.client.impairment import ImpairedRelay, Impairment
from voiceagent.errors import MediaError


async def freed(server: ServerProcess) -> None:
    """Wait until the server carries no call."""
    await shown(server, "voiceagent_calls_active 0.0")


async def shown(server: ServerProcess, line: str) -> None:
    """Wait until the server's metrics hold a line."""
    async with aiohttp.ClientSession() as session, asyncio.timeout(30):
        while True:
            async with session.get(f"{server.url}/metrics") as response:
                if line in (await response.text()).splitlines():
                    return


async def test_a_closed_tab_frees_the_call(server: ServerProcess) -> None:
    caller = Caller(server.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
    await freed(server)


async def test_a_lost_network_frees_the_call_once_nobody_is_waited_for_any_more(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("phrases: {greeting: Hello.}\nturn: {resume_timeout_s: 1}\n")
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml")) as server:
        relay = ImpairedRelay(Impairment())
        caller = Caller(server.url, relay=relay)
        async with caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            await relay.close()
            await shown(server, 'voiceagent_calls_ended_total{reason="not_resumed"} 1.0')
            await freed(server)


IDLE = {"audio": {"input": {"turn_detection": {"type": "server_vad", "idle_timeout_ms": 1000}}}}
"""The client wants the agent to ask after a second, where it would ask after two."""


async def ends_in_silence(server: ServerProcess, *, idle: bool) -> tuple[list[str], list[dict[str, Any]]]:
    """A call over WebRTC in which nobody speaks. Returns what was heard, and the events."""
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        if idle:
            caller.send_event({"type": "session.update", "session": IDLE})
        await dialogue.wait_event(lambda event: event.type == "voiceagent.call_ended", 0, "the end of the call")
        events = [event.data for event in dialogue.events_since(0)]
        assert dialogue.call_end_reason == "silence"
    heard = {event["item_id"]: event["heard"] for event in events if event["type"] == "voiceagent.heard"}
    return list(heard.values()), events


async def ends_in_silence_over_websockets(server: ServerProcess) -> list[dict[str, Any]]:
    """The same over a WebSocket, with a sideband. Returns the events."""
    async with SocketCaller(server.url) as caller:
        await caller.wait("session.created")
        await caller.send("session.update", session=IDLE)
        address = f"{server.url}/v1/realtime?voiceagent_events=true&call_id={caller.call_id}"
        async with caller._http.ws_connect(address, headers={"Authorization": "Bearer any"}) as aside:
            told = [json.loads(message.data) async for message in aside]
            assert (told[-1]["type"], told[-1]["reason"], aside.close_code) == ("voiceagent.call_ended", "silence", 1000)
        await caller.until(lambda: caller.closed[0] == 1000)
        return caller.events


async def test_a_silent_caller_is_asked_and_then_the_call_ends_on_every_transport(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: Quiet\nturn: {silence_timeout_s: 2}\n")
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml")) as server:
        (heard, plain), (same, peer), socket = await asyncio.gather(
            ends_in_silence(server, idle=False),
            ends_in_silence(server, idle=True),
            ends_in_silence_over_websockets(server),
        )
        assert heard == same == ["Are you still there?", "Goodbye."]
        for events, times in ((plain, 0), (peer, 1), (socket, 1)):
            assert [event["type"] for event in events].count("input_audio_buffer.timeout_triggered") == times
        await freed(server)


async def test_stopping_the_server_ends_its_calls(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        caller = Caller(server.url)
        async with caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            server.process.send_signal(signal.SIGTERM)
            await caller.wait_ended()
        await asyncio.to_thread(server.process.wait, 5)
        assert dialogue.call_end_reason == "server_stopping"


async def test_a_server_that_drains_tells_its_calls(tmp_path: Path) -> None:
    with running_server(tmp_path, "--drain-timeout", "60") as server:
        async with SocketCaller(server.url) as caller:
            await caller.wait("voiceagent.resume")
            server.process.send_signal(signal.SIGUSR1)
            assert (await caller.wait("voiceagent.draining"))["timeout_s"] == 60.0
            await caller.cut()
            await caller.resume()


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


async def test_a_call_that_the_model_has_no_memory_for_waits_its_turn_or_is_refused(tmp_path: Path, said: Said) -> None:
    settings = "admission: {kv_tokens: 3000, context_tokens_per_call: 2000, queue: {length: 1, wait_s: 60}}\n"
    (tmp_path / "agent.yaml").write_text("name: Small\n" + settings)
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml")) as server:
        first = Caller(server.url)
        await first.connect()
        second = Caller(server.url, connect_timeout_s=60)
        queued = asyncio.create_task(second.connect())
        await shown(server, "voiceagent_calls_waiting 1.0")
        with pytest.raises(MediaError, match=r"memory of 3000 tokens holds 1 call of 2000.* and 1 more wait"):
            await Caller(server.url).connect()
        assert not queued.done()
        await first.hangup()
        await queued
        async with Dialogue(second) as dialogue:
            (turn,) = await dialogue.turn("How are you?", *await said("How are you?"))
        await second.hangup()
        assert turn.heard
        await freed(server)


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
