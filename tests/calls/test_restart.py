"""Calls that go on at another server process: the first one is stopped in the middle of a reply or of a tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.calls.scripted_model import Message, agent_on
from tests.calls.socket_caller import SocketCaller
from tests.calls.test_cuts import turns_in
from tests.kept_calls import latest_log
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller, ReceivedEvent
from voiceagent.client.dialogue import Dialogue
from voiceagent.conversation import machine
from voiceagent.conversation.history import Message as Kept
from voiceagent.conversation.machine import replay
from voiceagent.turn_taking.languages import language

STORY = "Once upon a time a small boat went out to sea, and the wind was kind, and all the fish were asleep."
UNKNOWN = language("en").prompts.tool_outcome_unknown
TOOLS = '''
import asyncio, pathlib
from voiceagent.tools import tool

@tool
async def book() -> dict[str, str]:
    """Book a table."""
    with pathlib.Path(__file__).with_name("booked").open("a") as file:
        file.write("table\\n")
    await asyncio.sleep(30)
    return {"booked": "table"}
'''


def script(messages: list[Message]) -> str | tuple[str, str]:
    """Tell a story, or book a table; say what is known of it."""
    last = messages[-1]
    if last["role"] == "tool":
        return "I do not know whether the table was booked." if last["content"] == UNKNOWN else f"Hm: {last['content']}"
    if "again" in last["content"]:
        return "You wanted a story."
    return ("book", "{}") if "table" in last["content"] else STORY


@asynccontextmanager
async def stopped_and_started(server: ServerProcess) -> AsyncIterator[ServerProcess]:
    """Stop the server, and start another one at the same address on the same store."""
    server.process.terminate()
    assert await asyncio.to_thread(server.process.wait, 15) == 0
    (server.data / "server.log").rename(server.data / "first.log")
    starting = running_server(
        server.data, "--config", str(server.data / "agent.yaml"), "--event-logs", "9", "--port", str(urlsplit(server.url).port)
    )
    with ExitStack() as stack:
        yield await asyncio.to_thread(stack.enter_context, starting)


def said_in(server: ServerProcess, call_id: str) -> tuple[Kept, ...]:
    """The history of a call, after its log has replayed to the same decisions."""
    head, steps = latest_log(server.data, call_id)
    state, known = machine.start(head.rules, head.left), list(steps)
    assert all(step.same for step in replay(head.rules, ((step.event, step.actions) for step in known), head.left))
    for step in known:
        state, _ = machine.step(state, step.event)
    return state.memory.history


SETTINGS = "turn: {resume_after_restart: true}\nphrases: {greeting: Good morning., fillers: []}\n"


async def test_calls_go_on_at_the_next_server(tmp_path: Path) -> None:
    async with agent_on(tmp_path, script, TOOLS, SETTINGS) as server, AsyncExitStack() as stack:
        story = await stack.enter_async_context(SocketCaller(server.url))
        booking = await stack.enter_async_context(SocketCaller(server.url))
        lost = await stack.enter_async_context(SocketCaller(server.url))
        by_webrtc = await stack.enter_async_context(Caller(server.url))
        dialogue = await stack.enter_async_context(Dialogue(by_webrtc))
        await booking.wait("response.done")
        await booking.write("Book a table.")
        await booking.until(lambda: bool(booking.named("voiceagent.tool")))
        await dialogue.wait_greeting()
        await lost.wait("response.done")
        await lost.write("Tell me a story.")
        await lost.until(lambda: words_heard(lost) > 4)
        got = lost.last_id
        await lost.until(lambda: words_heard(lost) > 10)
        await lost.cut()
        await story.wait("response.done")
        ask_by_webrtc(by_webrtc, "Tell me a story.")
        await story.write("Tell me a story.")
        await story.until(lambda: words_heard(story) > 5)
        await dialogue.wait_event(lambda event: len(str(event.data.get("heard", "")).split()) > 3, 0, "some words")
        async with stopped_and_started(server) as second:
            await asyncio.gather(
                check_lost(lost, got, second),
                check_story(story, second),
                check_booking(booking),
                check_webrtc(by_webrtc, dialogue, second),
            )
    assert (tmp_path / "booked").read_text() == "table\n"


def words_heard(caller: SocketCaller) -> int:
    return len(" ".join(caller.heard().values()).split())


def ask_by_webrtc(caller: Caller, text: str) -> None:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    caller.send_event({"type": "conversation.item.create", "item": item})
    caller.send_event({"type": "response.create"})


async def check_story(caller: SocketCaller, second: ServerProcess) -> None:
    """The reply goes on at its first unheard word, and the conversation is there. The old token is good until the next one is
    used, which its client may not have yet."""
    assert caller.closed[0] == 1012
    before, first_call, since = caller.token, caller.call_id, len(caller.events)
    await caller.resume()
    done = await caller.wait("response.done", since)
    assert done["response"]["status"] == "completed"
    rest = done["response"]["output"][0]["content"][0]["transcript"]
    assert rest
    assert STORY.endswith(rest)
    assert " ".join(caller.heard().values()) == f"Good morning. {STORY}"
    await caller.write("Say it again, what did I want?")
    await caller.until(lambda: len(caller.named("response.done", since)) == 2)
    ids = [event["event_id"] for event in caller.events]
    assert len(set(ids)) == len(ids), "an event came twice"
    call_id = caller.named("session.created", since)[0]["session"]["voiceagent"]["call_id"]
    assert call_id != first_call
    item = next(event["item"]["id"] for event in caller.named("conversation.item.added") if event["item"]["role"] == "user")
    await caller.send("conversation.item.retrieve", item_id=item)
    assert (await caller.wait("conversation.item.retrieved", since))["item"]["content"][0]["text"] == "Tell me a story."
    await caller.cut()
    caller.token = before
    await caller.resume()
    assert caller.named("session.created")[-1]["session"]["voiceagent"]["call_id"] == call_id
    await caller.cut()
    await caller.resume()
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await caller._http.ws_connect(f"{second.url}/v1/realtime", headers={"Authorization": f"Bearer {before}"})
    assert refused.value.status == 401
    await caller.hang_up()
    history = await asyncio.to_thread(said_in, second, call_id)
    assert turns_in(history[1:]) == [("Tell me a story.", STORY), ("Say it again, what did I want?", "You wanted a story.")]


async def check_lost(caller: SocketCaller, got: str, second: ServerProcess) -> None:
    """The connection was lost before the server stopped. What was sent behind the last event that came is said again."""
    since, caller.last_id = len(caller.events), got
    await caller.resume()
    await caller.until(lambda: len(caller.named("response.done", since)) == 2)
    rest = caller.named("response.done", since)[-1]["response"]["output"][0]["content"][0]["transcript"]
    assert STORY.endswith(rest)
    assert 1 <= len(STORY.split()) - len(rest.split()) <= 5
    call_id = caller.named("session.created", since)[0]["session"]["voiceagent"]["call_id"]
    await caller.hang_up()
    assert turns_in((await asyncio.to_thread(said_in, second, call_id))[1:]) == [("Tell me a story.", STORY)]


async def check_booking(caller: SocketCaller) -> None:
    """The tool that ran does not run again, and the caller is told that nobody knows what came of it."""
    since = len(caller.events)
    await caller.resume()
    done = await caller.wait("response.done", since)
    said = done["response"]["output"][-1]["content"][0]["transcript"]
    assert said == "I do not know whether the table was booked."


async def check_webrtc(caller: Caller, dialogue: Dialogue, second: ServerProcess) -> None:
    """The Python client has taken the call up by itself."""
    done = await dialogue.wait_event(is_rest, 0, "the rest")
    assert caller.resumed == 1
    assert STORY.endswith(done.data["response"]["output"][0]["content"][0]["transcript"])
    told = [event.data["response"] for event in dialogue.events_since(0) if event.type == "response.done"]
    assert [response["status"] for response in told] == ["completed", "cancelled", "completed"]
    await caller.hangup()
    history = await asyncio.to_thread(said_in, second, caller.call_id)
    assert turns_in(history[1:]) == [("Tell me a story.", STORY)]


def is_rest(event: ReceivedEvent) -> bool:
    response = event.data.get("response")
    if event.type != "response.done" or not isinstance(response, dict) or response["status"] != "completed":
        return False
    return "Good morning." not in str(response)
