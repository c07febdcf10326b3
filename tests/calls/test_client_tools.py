"""Tools that the caller's own program offers and runs, in whole calls over real WebRTC."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from aiortc import RTCConfiguration, RTCPeerConnection

from tests.fakes import Said
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller, ReceivedEvent
from voiceagent.client.dialogue import Dialogue
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.tools.toolset import ToolSet

WEATHER = "What's the weather in Paris tomorrow?"
RESULT = {"city": "Paris", "day": "tomorrow", "weather": "rainy", "temperature": 12}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """An agent that has no tools of its own, and little patience."""
    folder = tmp_path_factory.mktemp("bare")
    agent = load_agent(demo_agent_file())
    (folder / "agent.yaml").write_text(f"instructions: {agent.instructions}\nturn: {{tool_timeout_s: 2}}\n")
    with running_server(folder, "--config", str(folder / "agent.yaml")) as running:
        yield running


def offered() -> list[dict[str, Any]]:
    """The demo's tools, as a client offers them."""
    agent = load_agent(demo_agent_file())
    return [{"type": "function", **schema["function"]} for schema in ToolSet.from_config(agent.tools, agent.base_dir).schemas()]


def asked_for(event: ReceivedEvent) -> bool:
    return event.type == "response.output_item.done" and event.data["item"]["type"] == "function_call"


async def offer(dialogue: Dialogue, tools: list[dict[str, Any]]) -> ReceivedEvent:
    since = dialogue.event_count
    dialogue.caller.send_event({"type": "session.update", "session": {"tools": tools}})
    return await dialogue.wait_event(lambda event: event.type == "session.updated", since, "the new session")


async def test_the_client_runs_its_tool_and_the_answer_is_spoken_once(bare: ServerProcess, said: Said) -> None:
    caller = Caller(bare.url)
    async with caller, Dialogue(caller) as dialogue:
        updated = await offer(dialogue, offered())
        assert len(updated.data["session"]["tools"]) == len(offered())
        caller.say(*await said(WEATHER))
        call = (await dialogue.wait_event(asked_for, 0, "the request for the tool")).data["item"]
        assert call["name"] == "get_weather"
        assert json.loads(call["arguments"]) == {"city": "Paris", "day": "tomorrow"}
        await dialogue.wait_event(lambda event: event.type == "response.done", 0, "the first response's end")
        item = {"type": "function_call_output", "call_id": call["call_id"], "output": json.dumps(RESULT)}
        since = dialogue.event_count
        caller.send_event({"type": "conversation.item.create", "item": item})
        caller.send_event({"type": "response.create"})
        await dialogue.wait_event(lambda event: event.type == "output_audio_buffer.stopped", since, "the end of the reply")
        await caller.wait_quiet(400.0)
        events = dialogue.events_since(since)
        assert dialogue.errors == []
    created = [event for event in events if event.type == "response.created"]
    heard = [event.data["heard"] for event in events if event.type == "voiceagent.heard"]
    assert len(created) == 1
    assert "Paris" in heard[-1]
    assert "12" in heard[-1] or "twelve" in heard[-1]


async def test_a_client_that_never_answers_does_not_end_the_call(bare: ServerProcess, said: Said) -> None:
    caller = Caller(bare.url)
    async with caller, Dialogue(caller) as dialogue:
        await offer(dialogue, offered())
        caller.say(*await said(WEATHER))
        await dialogue.wait_event(asked_for, 0, "the request for the tool")
        ended = await dialogue.wait_event(
            lambda event: event.type == "voiceagent.tool" and event.data["status"] == "failed", 0, "the tool's end"
        )
        assert json.loads(ended.data["output"]) == {"error": "The tool get_weather took too long."}
        spoken = await dialogue.wait_event(lambda event: event.type == "voiceagent.heard", 0, "a word about it")
        assert spoken.data["heard"]


async def test_session_tools_may_come_with_the_offer_of_the_official_sdk_and_are_checked(bare: ServerProcess) -> None:
    async with openai.AsyncOpenAI(base_url=f"{bare.url}/v1", api_key="any", max_retries=0) as sdk:
        with pytest.raises(openai.BadRequestError, match="cannot be used: the schema is of type 'array'"):
            await sdk.realtime.calls.create(sdp=await _offer(), session=_session({"type": "array"}))
        created = await sdk.realtime.calls.create(sdp=await _offer(), session=_session({"type": "object"}))
        assert created.response.status_code == 201
        await sdk.realtime.calls.hangup(created.response.headers["Location"].rsplit("/", 1)[-1])


def _session(parameters: dict[str, Any]) -> Any:
    return {"type": "realtime", "tools": [{"type": "function", "name": "paint", "parameters": parameters}]}


async def _offer() -> str:
    """An SDP offer of a peer that goes away again."""
    peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    peer.addTransceiver("audio")
    peer.createDataChannel("oai-events")
    await peer.setLocalDescription(await peer.createOffer())
    sdp = peer.localDescription.sdp
    await peer.close()
    return sdp
