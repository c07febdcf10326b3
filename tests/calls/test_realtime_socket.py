"""Whole calls over a WebSocket, with OpenAI's own Python client."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator
from typing import Any

import aiohttp
import numpy as np
import pytest

from tests.calls.sdk_caller import SdkCaller
from tests.fakes import Said
from tests.server_process import ServerProcess, running_server
from voiceagent.audio import g711
from voiceagent.audio.resample import resample
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent

WEATHER = "What's the weather in Paris tomorrow?"


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """The demo's agent, which does not speak first."""
    folder = tmp_path_factory.mktemp("quiet")
    demo = load_agent(demo_agent_file())
    tools = demo_agent_file().parent / "tools.py"
    (folder / "agent.yaml").write_text(f"instructions: {demo.instructions!r}\ntools: [{tools}]\nphrases: {{greeting: ''}}\n")
    with running_server(folder, "--config", str(folder / "agent.yaml")) as running:
        yield running


def spoken(event: dict[str, Any]) -> str:
    """The words of a response."""
    messages = [item for item in event["response"]["output"] if item["type"] == "message"]
    return str(messages[-1]["content"][0].get("transcript") or messages[-1]["content"][0].get("text"))


async def test_speech_is_answered_by_speech(quiet: ServerProcess, said: Said) -> None:
    async with SdkCaller(quiet.url) as caller:
        pcm, rate_hz = await said(WEATHER)
        await caller.speak(pcm, rate_hz, silence_s=3.0)
        done = await caller.wait("response.done")
        transcribed = caller.since(0, "conversation.item.input_audio_transcription.completed")
    assert "Paris" in transcribed[0]["transcript"]
    assert "Paris" in spoken(done)
    usage = done["response"]["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_token_details"]["cached_tokens"] > 0, "the tool's result was read behind the same prompt"
    assert usage["input_tokens"] > usage["input_token_details"]["cached_tokens"]
    assert usage["output_tokens"] > 0
    seconds = len(caller.heard()) / 24_000
    assert 1.0 < seconds < 10.0
    assert not caller.since(0, "output_audio_buffer.started"), "the client plays by itself"


async def test_push_to_talk_is_answered_when_it_is_asked_for(quiet: ServerProcess, said: Said) -> None:
    async with SdkCaller(quiet.url) as caller:
        session = await caller.update(audio={"input": {"turn_detection": None}})
        assert session["audio"]["input"]["turn_detection"] is None
        pcm, rate_hz = await said(WEATHER)
        await caller.speak(pcm, rate_hz)
        await caller.connection.input_audio_buffer.clear()
        await caller.wait("input_audio_buffer.cleared")
        await caller.send("input_audio_buffer.commit", event_id="empty")
        error = await caller.wait("error")
        assert (error["error"]["code"], error["error"]["event_id"]) == ("input_audio_buffer_commit_empty", "empty")
        await caller.speak(pcm, rate_hz)
        await caller.connection.input_audio_buffer.commit()
        await caller.connection.response.create()
        assert "Paris" in spoken(await caller.wait("response.done"))
        assert not caller.since(0, "input_audio_buffer.speech_started")


async def test_a_conversation_may_be_written(quiet: ServerProcess) -> None:
    async with SdkCaller(quiet.url) as caller:
        await caller.update(output_modalities=["text"])
        await caller.write(WEATHER)
        await caller.connection.response.create(response={"metadata": {"topic": "weather"}})
        done = await caller.wait("response.done")
        assert "Paris" in spoken(done)
        assert done["response"]["metadata"] == {"topic": "weather"}
        assert len(caller.heard()) == 0
        history = len(caller.since(0, "conversation.item.added"))
        given: Any = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What time is it in Tokyo?"}]}
        ]
        await caller.connection.response.create(response={"conversation": "none", "input": given})
        assert "Tokyo" in spoken(await caller.wait("response.done"))
        assert len(caller.since(0, "conversation.item.added")) == history, "it is no part of the conversation"


async def test_a_reply_that_has_used_its_tokens_up_is_incomplete_on_both_transports(quiet: ServerProcess) -> None:
    """This agent's language model gives whole sentences, since they are checked first."""
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Good morning."}]}
    few: Any = {"max_output_tokens": 3}
    async with SdkCaller(quiet.url) as caller:
        await caller.write("Good morning.")
        await caller.connection.response.create(response=few)
        over_websocket = (await caller.wait("response.done"))["response"]
    async with Caller(quiet.url) as peer, Dialogue(peer) as dialogue:
        peer.send_event({"type": "conversation.item.create", "item": message})
        peer.send_event({"type": "response.create", "response": few})
        done = await dialogue.wait_event(lambda event: event.type == "response.done", 0, "the end of the reply")
    for response in (over_websocket, done.data["response"]):
        assert (response["status"], response["status_details"]["reason"]) == ("incomplete", "max_output_tokens")
        (said,) = response["output"]
        assert (said["status"], said["content"][0]["transcript"]) == ("incomplete", "Hello! How can")


async def test_a_call_may_be_forced(quiet: ServerProcess) -> None:
    async with SdkCaller(quiet.url) as caller:
        await caller.update(output_modalities=["text"], tool_choice="required")
        await caller.write("Good morning.")
        await caller.connection.response.create()
        assert (await caller.wait("response.done"))["response"]["output"][0]["type"] == "mcp_call"
        await caller.update(tool_choice="auto")
        await caller.write("What time is it in Tokyo?")
        choice: Any = {"type": "function", "name": "get_weather"}
        await caller.connection.response.create(response={"tool_choice": choice})
        call, words = (await caller.wait("response.done"))["response"]["output"]
        assert (call["type"], call["name"], words["type"]) == ("mcp_call", "get_weather", "message")


async def test_items_are_edited_and_errors_name_their_event(quiet: ServerProcess) -> None:
    async with SdkCaller(quiet.url) as caller:
        await caller.write("Hello.")
        first = (await caller.wait("conversation.item.done"))["item"]["id"]
        await caller.connection.conversation.item.retrieve(item_id=first)
        assert (await caller.wait("conversation.item.retrieved"))["item"]["content"][0]["text"] == "Hello."
        await caller.connection.conversation.item.delete(item_id=first)
        await caller.wait("conversation.item.deleted")
        for event in (
            {"type": "session.update", "session": {"model": 7}},
            {"type": "session.update", "session": {"tool_choice": {"type": "function", "name": "get_news"}}},
            {"type": "response.cancel"},
            {"type": "conversation.item.truncate", "item_id": first, "content_index": 0, "audio_end_ms": 999_999},
            {"type": "response.create", "response": {"reasoning": {"effort": "high"}}},
            {"type": "input_audio_buffer.append", "audio": "!"},
        ):
            await caller.send(**{"name": event.pop("type"), **event, "event_id": "mine"})
            assert (await caller.wait("error"))["error"]["event_id"] == "mine"


async def test_a_reply_is_truncated_where_the_client_played_to(quiet: ServerProcess) -> None:
    async with SdkCaller(quiet.url) as caller:
        await caller.write(WEATHER)
        await caller.connection.response.create()
        delta = await caller.wait("response.output_audio.delta")
        await caller.connection.response.create(event_id="second")
        refused = (await caller.wait("error"))["error"]
        assert (refused["code"], refused["event_id"]) == ("conversation_already_has_active_response", "second")
        await caller.connection.conversation.item.truncate(item_id=delta["item_id"], content_index=0, audio_end_ms=100)
        done = await caller.wait("response.done")
        assert done["response"]["status"] == "cancelled"
        (truncated,) = [*caller.since(0, "conversation.item.truncated")] or [await caller.wait("conversation.item.truncated")]
        assert (truncated["item_id"], truncated["audio_end_ms"]) == (delta["item_id"], 100)
        await caller.connection.conversation.item.retrieve(item_id=delta["item_id"])
        kept = (await caller.wait("conversation.item.retrieved"))["item"]
        assert len(kept["content"][0]["transcript"].split()) <= 2


async def test_speech_interrupts_a_reply(quiet: ServerProcess, said: Said) -> None:
    async with SdkCaller(quiet.url) as caller:
        await caller.write(WEATHER)
        await caller.connection.response.create()
        await caller.wait("response.output_audio.delta")
        pcm, rate_hz = await said("Stop, what time is it in London?")
        await caller.speak(pcm, rate_hz, silence_s=3.0)
        done = await caller.wait("response.done")
        assert (done["response"]["status"], done["response"]["status_details"]["reason"]) == ("cancelled", "turn_detected")
        assert (await caller.wait("response.done"))["response"]["status"] == "completed"


async def test_a_session_may_only_transcribe(server: ServerProcess, said: Said) -> None:
    async with SdkCaller(server.url) as caller:
        await caller.connection.session.update(session={"type": "transcription"})
        assert (await caller.wait("session.updated"))["session"]["type"] == "transcription"
        pcm, rate_hz = await said(WEATHER)
        count = len(caller.events)
        await caller.speak(pcm, rate_hz, silence_s=3.0)
        final = await caller.wait("conversation.item.input_audio_transcription.completed")
        assert "Paris" in final["transcript"]
        await caller.send("response.create", event_id="mine")
        assert (await caller.wait("error"))["error"]["event_id"] == "mine"
        assert not caller.since(count, "response.created")


@pytest.mark.parametrize("law", ["pcmu", "pcma"])
async def test_g711_is_spoken_both_ways(quiet: ServerProcess, said: Said, law: str) -> None:
    async with SdkCaller(quiet.url) as caller:
        kind = {"type": f"audio/{law}"}
        session = await caller.update(audio={"input": {"format": kind, "turn_detection": None}, "output": {"format": kind}})
        assert session["audio"]["output"]["format"] == kind

        pcm, rate_hz = await said(WEATHER)
        raw = g711.encode(resample(pcm, rate_hz, 8000), alaw=law == "pcma")
        await caller.connection.input_audio_buffer.append(audio=base64.b64encode(raw).decode())
        await caller.connection.input_audio_buffer.commit()
        await caller.connection.response.create()
        done = await caller.wait("response.done")
    assert "Paris" in spoken(done)
    heard = b"".join(base64.b64decode(event["delta"]) for event in caller.since(0, "response.output_audio.delta"))
    assert 1.0 < len(heard) / 8000 < 10.0
    assert np.abs(g711.decode(heard, alaw=law == "pcma")).max() > 1000


async def test_a_sideband_takes_part_in_a_call_over_webrtc(server: ServerProcess) -> None:
    caller = Caller(server.url)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        call_id = caller.location.rsplit("/", 1)[-1]
        async with SdkCaller(server.url, call_id=call_id) as beside:
            since = dialogue.event_count
            await beside.write(WEATHER)
            await beside.connection.response.create()
            done = await beside.wait("response.done")
            assert "Paris" in spoken(done)
            assert not beside.since(0, "response.output_audio.delta")
            told = await dialogue.wait_event(lambda event: event.type == "response.done", since, "the end of the reply")
            assert told.data["response"]["id"] == done["response"]["id"]
    async with SdkCaller(server.url) as other, aiohttp.ClientSession() as http:
        assert other.events[0]["session"]["model"] == "gpt-realtime"
        async with http.get(f"{server.url}/v1/realtime?call_id={call_id}", headers=UPGRADE) as gone:
            assert gone.status == 404


UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": base64.b64encode(b"0" * 16).decode(),
}


async def test_a_browser_gives_its_key_as_a_subprotocol(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("keyed")
    key = "a-key-of-this-test-0123456789"
    with running_server(folder, environment={"VOICEAGENT_KEYS": key}) as keyed:
        async with aiohttp.ClientSession() as http:
            protocols = ("realtime", f"openai-insecure-api-key.{key}")
            async with http.ws_connect(f"{keyed.url}/v1/realtime?model=m", protocols=protocols) as socket:
                assert socket.protocol == "realtime"
                assert (await socket.receive_json())["type"] == "session.created"
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await http.ws_connect(f"{keyed.url}/v1/realtime?model=m", protocols=("realtime",))
            assert refused.value.status == 401
        async with SdkCaller(keyed.url, key=key) as caller:
            assert caller.events[0]["type"] == "session.created"


async def test_extras_come_to_who_asks_for_them(quiet: ServerProcess) -> None:
    async with aiohttp.ClientSession() as http:
        for address, kinds in (("model=m", set()), ("voiceagent_events=true", {"voiceagent.resume", "voiceagent.call_ended"})):
            async with http.ws_connect(f"{quiet.url}/v1/realtime?{address}") as socket:
                created = await socket.receive_json()
                path = f"{quiet.url}/v1/realtime/calls/{created['session']['voiceagent']['call_id']}"
                async with http.delete(path) as ended:
                    assert ended.status == 200
                came = {message.json()["type"] async for message in socket}
                assert {name for name in came if name.startswith("voiceagent.")} == kinds
        async with http.get(f"{quiet.url}/v1/realtime?voiceagent_events=yes", headers=UPGRADE) as refused:
            assert refused.status == 400


async def test_an_ordinary_request_is_told_what_this_is(quiet: ServerProcess) -> None:
    async with aiohttp.ClientSession() as http, http.get(f"{quiet.url}/v1/realtime?model=m") as answer:
        assert answer.status == 426
        assert (await answer.json())["error"]["code"] == "websocket_required"


async def test_a_binary_message_ends_the_call_with_a_code(quiet: ServerProcess) -> None:
    async with aiohttp.ClientSession() as http, http.ws_connect(f"{quiet.url}/v1/realtime") as socket:
        await socket.receive_json()
        await socket.send_bytes(b"\x00")
        async with asyncio.timeout(10):
            while (await socket.receive()).type is aiohttp.WSMsgType.TEXT:
                pass
        assert socket.close_code == aiohttp.WSCloseCode.UNSUPPORTED_DATA
