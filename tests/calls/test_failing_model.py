"""A language model that fails in calls: the client is told of each failed reply, the operator sees it, and the server says that
it is not ready until the model works again. Real server, real WebRTC, a model server that fails on purpose."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.calls.sdk_caller import SdkCaller
from tests.llm.faulty_server import FaultyServer, faulty_server
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue

TIMEOUTS = "options: {llm: {first_token_timeout_s: 0.5, inactivity_timeout_s: 0.5}}"


@asynccontextmanager
async def agent_on(model: FaultyServer, folder: Path) -> AsyncIterator[ServerProcess]:
    (folder / "agent.yaml").write_text(f"llm: {{base_url: '{model.url}', model: m}}\n{TIMEOUTS}\n")
    starting = running_server(folder, "--config", str(folder / "agent.yaml"))
    with ExitStack() as stack:  # in a thread, because the model answers from this loop while the server starts
        yield await asyncio.to_thread(stack.enter_context, starting)


async def ready(server: ServerProcess, *, wanted: bool) -> str:
    """Wait until the server says that it is ready, or not. Returns why not."""
    async with asyncio.timeout(30), aiohttp.ClientSession() as session:
        while True:
            async with session.get(f"{server.url}/readyz") as response:
                body = json.loads(await response.text())
                if body["ready"] == wanted:
                    assert response.status == (200 if wanted else 503)
                    return str(body["reason"])
            await asyncio.sleep(0.05)


async def metrics(server: ServerProcess) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/metrics") as response:
        return await response.text()


Told = tuple[str, str, str, set[str]]
"""The error's code; the status of the response, the code in its details, and the status of each of its items."""
FAILED: Told = ("llm_failed", "failed", "llm_failed", {"incomplete"})


def told(error: dict[str, Any], done: dict[str, Any]) -> Told:
    """What a client is told of a reply that failed."""
    response = done["response"]
    code = response["status_details"]["error"]["code"]
    return error["error"]["code"], response["status"], code, {item["status"] for item in response["output"]}


async def ask(caller: Caller, dialogue: Dialogue) -> Told:
    """Type something."""
    since = dialogue.event_count
    content = [{"type": "input_text", "text": "Good morning."}]
    caller.send_event({"type": "output_audio_buffer.clear"})
    caller.send_event({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}})
    caller.send_event({"type": "response.create"})
    error = await dialogue.wait_event(lambda event: event.type == "error", since, "an error")
    done = await dialogue.wait_event(lambda event: event.type == "response.done", since, "the end of the reply")
    return told(error.data, done.data)


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("401", "key_refused"),
        ("404", "no_such_model"),
        ("500", "refused"),
        ("silent", "too_late"),
        ("stalls", "too_late"),
        ("garbage", "unreadable"),
        ("gives up", "given_up"),
    ],
)
async def test_every_failed_reply_is_told_and_counted_and_the_server_is_not_ready(
    tmp_path: Path, fault: str, problem: str
) -> None:
    async with faulty_server() as model, agent_on(model, tmp_path) as server:
        await ready(server, wanted=True)
        model.fault = fault
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            assert await ask(caller, dialogue) == FAILED
            reason = await ready(server, wanted=False)
            assert f"The language model fails ({problem})" in reason
            counted = await metrics(server)
            assert f'voiceagent_llm_problems_total{{problem="{problem}"}} 1' in counted
            assert 'voiceagent_failed_replies_total{code="llm_failed"} 1' in counted
            assert 'voiceagent_engine_up{engine="llm"} 0' in counted
            model.fault = ""
            await ready(server, wanted=True)


async def test_a_reply_that_is_cut_is_incomplete_on_both_transports(tmp_path: Path) -> None:
    async with faulty_server() as model, agent_on(model, tmp_path) as server:
        over_websocket, over_webrtc = SdkCaller(server.url), Caller(server.url)
        async with over_websocket as caller, over_webrtc as peer, Dialogue(peer) as dialogue:
            await caller.write("Good morning.")
            await caller.connection.response.create(response={"max_output_tokens": 1})
            cut = await caller.wait("response.done")
            peer.send_event({"type": "output_audio_buffer.clear"})
            peer.send_event({"type": "response.create", "response": {"max_output_tokens": 1}})
            done = await dialogue.wait_event(
                lambda event: event.type == "response.done" and event.data["response"]["max_output_tokens"] == 1, 0, "its end"
            )
            for response in (cut["response"], done.data["response"]):
                assert (response["status"], response["status_details"]["reason"]) == ("incomplete", "max_output_tokens")
                assert [item["status"] for item in response["output"]] == ["incomplete"]
            for model.fault in ("stalls", "500"):
                await caller.write("Good morning.")
                await caller.connection.response.create()
                assert told(await caller.wait("error"), await caller.wait("response.done")) == FAILED


async def test_a_server_whose_model_is_not_up_yet_is_not_ready_until_it_is(tmp_path: Path) -> None:
    async with faulty_server() as model:
        model.fault = "503"
        async with agent_on(model, tmp_path) as server:
            assert "The language model fails" in await ready(server, wanted=False)
            model.fault = ""
            await ready(server, wanted=True)


async def test_words_in_place_of_a_forced_call_are_an_error_and_are_not_said(tmp_path: Path) -> None:
    tool = {
        "type": "function",
        "name": "get_time",
        "description": "The time.",
        "parameters": {"type": "object", "properties": {}},
    }
    async with faulty_server() as model, agent_on(model, tmp_path) as server, SdkCaller(server.url) as caller:
        for tools, said in (([tool], "called no tool"), ([], "not offered")):
            await caller.update(tools=tools, tool_choice="required", output_modalities=["text"])
            await caller.write("Good morning.")
            await caller.connection.response.create()
            error = (await caller.wait("error"))["error"]
            assert (error["code"], said in error["message"]) == ("llm_failed", True)
            done = (await caller.wait("response.done"))["response"]
            assert done["status"] == "failed"
        assert "there" not in "".join(event["delta"] for event in caller.since(0, "response.output_text.delta"))
