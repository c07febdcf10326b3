"""Whole calls over real WebRTC with the real engines, on good and on bad networks."""

from __future__ import annotations

import asyncio
import json

import aiohttp
import pytest

from tests.fakes import Said
from tests.kept_calls import latest_log
from tests.server_process import ServerProcess
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.client.impairment import ImpairedRelay, Impairment
from voiceagent.conversation.actions import End
from voiceagent.conversation.machine import replay

WEATHER = "What's the weather in Paris tomorrow?"
LONG = "What can you do?"
INTERRUPTION = "No, what time is it in Berlin?"
NETWORKS = {
    "a good network": None,
    "5 % packet loss": Impairment(loss=0.05, seed=5),
    "200 ms of jitter": Impairment(jitter_ms=200.0, seed=6),
}


@pytest.mark.parametrize("network", NETWORKS)
async def test_a_spoken_request_runs_a_tool_and_is_answered_aloud(server: ServerProcess, said: Said, network: str) -> None:
    impairment = NETWORKS[network]
    caller = Caller(server.url, relay=ImpairedRelay(impairment) if impairment else None)
    async with caller, Dialogue(caller) as dialogue:
        assert await dialogue.wait_greeting() == "Hello, how can I help you?"
        (turn,) = await dialogue.turn(WEATHER, *await said(WEATHER))
    assert turn.caption == WEATHER
    assert [(tool["name"], json.loads(tool["arguments"])) for tool in turn.tools] == [
        ("get_weather", {"city": "Paris", "day": "tomorrow"})
    ]
    assert "Paris" in turn.heard
    assert not turn.unheard
    assert turn.turn is not None
    assert {"endpoint", "stt_final", "llm_ttft", "tts_first_audio"} <= {span["stage"] for span in turn.turn["spans"]}


@pytest.mark.parametrize("network", ["a good network", "5 % packet loss"])
async def test_an_interruption_stops_the_reply_and_history_keeps_what_was_heard(
    server: ServerProcess, said: Said, network: str
) -> None:
    impairment = NETWORKS[network]
    caller = Caller(server.url, relay=ImpairedRelay(impairment) if impairment else None)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        pcm, rate_hz = await said(LONG)
        interruption, _ = await said(INTERRUPTION)
        first, second = await dialogue.turn(LONG, pcm, rate_hz, interrupt_with=(INTERRUPTION, interruption))
        cleared = [event for event in dialogue.events_since(0) if event.type == "output_audio_buffer.cleared"]
        cancelled = [
            event
            for event in dialogue.events_since(0)
            if event.type == "response.done" and event.data["response"]["status"] == "cancelled"
        ]
        kept = [event.data["item"] for event in dialogue.events_since(0) if event.type == "conversation.item.done"]
    assert first.heard
    assert first.unheard
    assert [item["content"][0]["transcript"] for item in kept if item.get("status") == "incomplete"] == [first.heard]
    assert "Berlin" in second.caption
    assert "Berlin" in second.heard
    assert cleared
    assert cancelled


async def test_a_call_replays_to_identical_decisions_and_its_speculative_replies_are_counted(
    server: ServerProcess, said: Said
) -> None:
    caller = Caller(server.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        await dialogue.turn(WEATHER, *await said(WEATHER))
        pcm, rate_hz = await said(LONG)
        interruption, _ = await said(INTERRUPTION)
        await dialogue.turn(LONG, pcm, rate_hz, interrupt_with=(INTERRUPTION, interruption))
    async with aiohttp.ClientSession() as session:
        await _no_call_is_up(session, server)
        async with session.get(f"{server.url}/metrics") as response:
            metrics = await response.text()
    head, steps = latest_log(server.data, caller.location.rpartition("/")[2])
    again = list(replay(head.rules, ((step.event, step.actions) for step in steps)))
    assert isinstance(again[-1].now[-1], End)
    assert [step for step in again if not step.same] == []
    assert 'voiceagent_speculative_replies_total{outcome="kept"}' in metrics
    assert 'voiceagent_speculative_tokens_total{outcome="kept"}' in metrics


async def test_a_dialogue_keeps_its_context_from_turn_to_turn(server: ServerProcess, said: Said) -> None:
    caller = Caller(server.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        await dialogue.turn(WEATHER, *await said(WEATHER))
        (second,) = await dialogue.turn("And in London?", *await said("And in London?"))
    assert [(tool["name"], json.loads(tool["arguments"])["city"]) for tool in second.tools] == [("get_weather", "London")]


async def test_typed_text_is_answered_aloud(server: ServerProcess) -> None:
    caller = Caller(server.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        since = dialogue.event_count
        content = [{"type": "input_text", "text": "Where is order 48271?"}]
        caller.send_event({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}})
        caller.send_event({"type": "response.create"})
        await dialogue.wait_event(lambda event: event.type == "voiceagent.turn", since, "the answer")
        tools = [event.data for event in dialogue.events_since(since) if event.type == "voiceagent.tool"]
    assert json.loads(tools[-1]["arguments"]) == {"order_number": "48271"}
    assert tools[-1]["ok"]


async def test_a_hang_up_frees_the_call(server: ServerProcess) -> None:
    async with aiohttp.ClientSession() as session:
        caller = Caller(server.url)
        async with caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            assert await _active(session, server) == "1.0"
            async with session.post(f"{server.url}{caller.location}/hangup") as response:
                assert response.status == 200
            await caller.wait_ended()
        assert dialogue.call_end_reason == "hangup"
        await _no_call_is_up(session, server)


async def _active(session: aiohttp.ClientSession, server: ServerProcess) -> str:
    async with session.get(f"{server.url}/metrics") as response:
        text = await response.text()
    return next(line for line in text.splitlines() if line.startswith("voiceagent_calls_active")).split()[-1]


async def _no_call_is_up(session: aiohttp.ClientSession, server: ServerProcess) -> None:
    async with asyncio.timeout(10):
        while await _active(session, server) != "0.0":
            pass


async def test_ten_monitors_follow_a_call_and_read_it_again_when_it_is_over(server: ServerProcess, said: Said) -> None:
    caller = Caller(server.url)
    async with aiohttp.ClientSession() as session:
        async with caller, Dialogue(caller) as dialogue:
            path = f"{server.url}/v1/calls/{caller.location.rpartition('/')[2]}/events"
            following = [await session.get(path) for _ in range(10)]
            stuck = await session.get(path)
            await dialogue.wait_greeting()
            (turn,) = await dialogue.turn(WEATHER, *await said(WEATHER))
        streams = [await response.text() for response in following]
        stuck.close()
        await _no_call_is_up(session, server)
        latest_log(server.data, caller.location.rpartition("/")[2])  # waits until all of it is kept
        async with session.get(path) as response:
            again = await response.text()
    numbered = [[block for block in stream.split("\n\n") if block.startswith("id: ")] for stream in (*streams, again)]
    assert all(stream == numbered[0] for stream in numbered)
    events = [json.loads(block.partition("data: ")[2]) for block in numbered[0]]
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("call.started", "call.ended")
    assert turn.heard in [event["heard"] for event in events if event["type"] == "agent.said"]
    (measured,) = [event for event in events if event["type"] == "turn.measured"]
    assert measured["turn"] == 1
    assert measured["jitter_in_ms"] > 0
    assert measured["jitter_out_ms"] > 0
