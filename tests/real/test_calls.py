"""Whole calls over real WebRTC on a published Whisper and a published voice: requests, tools, spelled digits, interruptions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.bundled.speech import normalised
from tests.real.conftest import Said
from tests.server_process import ServerProcess
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue, Exchange

GREETING = "Hello, how can I help you?"
REQUESTS = {
    "What's the weather in London tomorrow?": ("get_weather", {"city": "London", "day": "tomorrow"}),
    "What time is it in Berlin?": ("get_time", {"city": "Berlin"}),
    "What is twelve plus thirty?": ("calculate", {"expression": "12 + 30"}),
    "Set a timer for ten minutes.": ("set_timer", {"minutes": 10}),
}
DIGITS = ("Where is my order number four eight two seven one?", "My order number is four eight two seven one.")
LONG = "What can you do?"
INTERRUPTIONS = {"No, what time is it in Berlin?": "Berlin", "Wait. What's the weather in Rome?": "Rome"}


def called(turn: Exchange) -> list[tuple[str, dict[str, Any]]]:
    return [(tool["name"], json.loads(tool["arguments"])) for tool in turn.tools]


async def test_requests_are_understood_run_their_tools_and_are_answered_aloud(server: ServerProcess, said: Said) -> None:
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        assert await dialogue.wait_greeting() == GREETING
        for request in REQUESTS:
            await dialogue.turn(request, *await said(request))
        turns = dialogue.exchanges
    assert {turn.said: called(turn) for turn in turns} == {request: [call] for request, call in REQUESTS.items()}
    assert all(turn.heard and not turn.unheard for turn in turns)
    assert [word in turn.heard for turn, word in zip(turns, ("London", "Berlin", "42", "10 minutes"), strict=True)] == [True] * 4
    spans = [{span["stage"] for span in (turn.turn or {"spans": []})["spans"]} for turn in turns]
    assert all({"endpoint", "stt_final", "llm_ttft", "tts_first_audio", "tool"} <= stages for stages in spans)
    assert any("turn_judge" in stages for stages in spans)


async def test_another_voice_is_understood_too(server: ServerProcess, said_otherwise: Said) -> None:
    request = "What's the weather in London tomorrow?"
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        (turn,) = await dialogue.turn(request, *await said_otherwise(request))
    assert called(turn) == [REQUESTS[request]]
    assert "London" in turn.heard


async def test_a_dialogue_keeps_its_context_from_turn_to_turn(server: ServerProcess, said: Said) -> None:
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        await dialogue.turn("What's the weather in London?", *await said("What's the weather in London?"))
        (second,) = await dialogue.turn("And in Berlin?", *await said("And in Berlin?"))
    assert [(name, arguments["city"]) for name, arguments in called(second)] == [("get_weather", "Berlin")]


@pytest.mark.parametrize("spelled", DIGITS)
async def test_spelled_digits_reach_the_tool_as_one_number(server: ServerProcess, said: Said, spelled: str) -> None:
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        (turn,) = await dialogue.turn(spelled, *await said(spelled))
    assert called(turn) == [("order_status", {"order_number": "48271"})], turn.caption


async def test_interruptions_stop_the_reply_and_are_answered(server: ServerProcess, said: Said) -> None:
    async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        for interruption in INTERRUPTIONS:
            pcm, rate_hz = await said(LONG)
            await dialogue.turn(LONG, pcm, rate_hz, interrupt_with=(interruption, (await said(interruption))[0]))
        kept = [event.data["item"] for event in dialogue.events_since(0) if event.type == "conversation.item.done"]
        cleared = [event for event in dialogue.events_since(0) if event.type == "output_audio_buffer.cleared"]
        turns = dialogue.exchanges
    asked, answered = turns[::2], turns[1::2]
    assert all(turn.heard and turn.unheard for turn in asked)
    cut = [item["content"][0]["transcript"] for item in kept if item.get("status") == "incomplete"]
    assert [heard for heard in cut if heard] == [turn.heard for turn in asked]
    assert len(cleared) == len(INTERRUPTIONS)
    assert [normalised(turn.caption) for turn in answered] == [normalised(interruption) for interruption in INTERRUPTIONS]
    assert all(city in turn.heard for turn, city in zip(answered, INTERRUPTIONS.values(), strict=True))
