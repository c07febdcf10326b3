"""Tools that know their call, and an agent that ends its calls, in whole calls over real WebRTC."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx2

from tests.calls.scripted_model import Message, agent_on
from tests.fakes import Said
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue

TOOLS = '''
import asyncio
from dataclasses import dataclass
from voiceagent.tools import CallContext, tool

@dataclass
class Kept:
    looks: int = 0

@tool
async def look(call: CallContext[Kept]) -> dict[str, object]:
    """Look the time up."""
    call.state.looks += 1
    call.say("I am looking.")
    await asyncio.sleep(1.0)
    return {"looks": call.state.looks, "customer": call.parameters.get("customer", "nobody"), "said": call.said[-1].text}
'''
QUESTION, GOODBYE = "What time is it in Paris?", "Goodbye."
SETTINGS = """
end_call: true
phrases: {greeting: {text: "This call is recorded.", interruptible: false}, farewell: "Goodbye."}
"""


def script(messages: list[Message]) -> str | tuple[str, str]:
    """Look, tell the result, and end the call when the caller takes leave."""
    last = messages[-1]
    if last["role"] == "tool":
        found = json.loads(last["content"])
        return f"Look {found['looks']} for {found['customer']}."
    return ("end_call", '{"reason": "the caller took leave"}') if "bye" in last["content"].lower() else ("look", "{}")


async def heard_in(dialogue: Dialogue) -> list[str]:
    events = [event.data for event in dialogue.events_since(0) if event.type == "voiceagent.heard"]
    return list({data["item_id"]: data["heard"] for data in events}.values())


async def call(url: str, said: Said, customer: str) -> tuple[list[str], str]:
    """A call with a client secret that tells the agent's tools of a customer. Returns what was heard, and why it ended."""
    terms = {"voiceagent": {"parameters": {"customer": customer}}}
    async with httpx2.AsyncClient() as http:
        response = await http.post(f"{url}/v1/realtime/client_secrets", json=terms)
        secret = response.json()["value"]
    async with Caller(url, token=secret) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        await dialogue.turn(QUESTION, *(await said(QUESTION)))
        await dialogue.turn(GOODBYE, *(await said(GOODBYE)))
        await dialogue.wait_event(lambda event: event.type == "voiceagent.call_ended", 0, "the end of the call")
        return await heard_in(dialogue), dialogue.call_end_reason


async def test_two_callers_at_once_have_calls_of_their_own_and_the_agent_ends_them(tmp_path: Path, said: Said) -> None:
    async with agent_on(tmp_path, script, TOOLS, SETTINGS) as server:
        calls = await asyncio.gather(call(server.url, said, "Ann"), call(server.url, said, "Bob"))
    for (heard, reason), customer in zip(calls, ("Ann", "Bob"), strict=True):
        assert heard == ["This call is recorded.", f"I am looking. Look 1 for {customer}.", "Goodbye."]
        assert reason == "agent_ended"


async def test_what_is_said_over_a_protected_greeting_is_answered_after_it(tmp_path: Path, said: Said) -> None:
    long = SETTINGS.replace(
        "This call is recorded.", "This call is recorded so that we can learn from it and do better next time."
    )
    async with (
        agent_on(tmp_path, script, TOOLS, long) as server,
        Caller(server.url) as caller,
        Dialogue(caller) as dialogue,
    ):
        await dialogue.wait_event(lambda event: event.type == "voiceagent.heard", 0, "the beginning of the greeting")
        caller.say(*(await said(QUESTION)))
        await dialogue.wait_event(
            lambda event: event.type == "voiceagent.heard" and "nobody." in event.data["heard"], 0, "the answer"
        )
        heard = await heard_in(dialogue)
    assert heard[0] == "This call is recorded so that we can learn from it and do better next time."
    assert heard[1].endswith("Look 1 for nobody.")


async def test_the_operator_ends_a_call_with_a_goodbye(tmp_path: Path) -> None:
    async with agent_on(tmp_path, script, TOOLS, SETTINGS) as server, Caller(server.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        async with httpx2.AsyncClient() as http:
            wrong = await http.post(f"{server.url}/v1/calls/{caller.call_id}/end", json={"why": "late"})
            assert (wrong.status_code, wrong.json()["error"]["code"]) == (400, "invalid_body")
            assert (await http.post(f"{server.url}/v1/calls/rtc_0/end")).status_code == 404
            response = await http.post(f"{server.url}/v1/calls/{caller.call_id}/end", json={"reason": "closing time"})
            assert response.status_code == 202
        await dialogue.wait_event(lambda event: event.type == "voiceagent.call_ended", 0, "the end of the call")
        assert await heard_in(dialogue) == ["This call is recorded.", "Goodbye."]
    assert dialogue.call_end_reason == "agent_ended"
