"""A call that an agent hands off to another one, in whole calls whose language model a script plays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from aiohttp import web

from tests.calls.scripted_model import Message
from tests.calls.socket_caller import SocketCaller
from tests.calls.test_examples import Asked, say
from tests.loopback import on_loopback
from tests.server_process import ServerProcess, running_server
from voiceagent.conversation.machine import replay
from voiceagent.store.database import local_store
from voiceagent.store.event_log import read_log

SENTENCE = "It is a quarter past nine."
FRONT = f"""name: Front desk
profile: embedded
instructions: You are the front desk.
tools: [front.py]
llm: {{base_url: 'ADDRESS/v1', model: m}}
phrases: {{greeting: "{SENTENCE}", handoff: One moment.}}
steps:
  reason:
    instructions: Ask why they call.
    values: {{reason: {{type: string, enum: [invoice, other]}}, name: {{type: string}}}}
    next: [{{to: billing, when: {{reason: invoice}}}}]
  billing: {{handoff: desks/billing.yaml}}
"""
BILLING = """name: Billing
instructions: You are the billing desk.
tools: [billing.py]
options: {tts: {length_scale: 2.0}}
guard: {output: {phrases: [bankrupt], line: I cannot say that.}}
steps:
  number:
    instructions: Ask for the number of the invoice.
    values: {number: {type: integer}}
    next: [{to: front}]
  front: {handoff: ../front.yaml, summary: false, pass_values: [number]}
"""
TOOL = '''from voiceagent.tools import CallContext, tool


@tool
def {name}(call: CallContext) -> str:
    """A tool."""
    call.state["{name}"] = True
    return ", ".join(call.state)
'''
SUMMARY = "Ann has an invoice."
CALLS = {
    "invoice": ("note", {"reason": "invoice", "name": "Ann"}),
    "front door": ("open_door", {}),
    "send it": ("send_invoice", {}),
    "forty-two": ("note", {"number": 42}),
}


def desks(messages: list[Message]) -> str | tuple[str, str]:
    """Note what is told, and say a sentence that both agents say."""
    system, last = messages[0], messages[-1]
    if last["content"].startswith("Sum up"):
        return SUMMARY
    if last["role"] == "tool":
        return SENTENCE
    if "Ann" in system["content"] and "invoice" in last["content"]:  # the other agent's first words
        return SENTENCE
    if "broke" in last["content"]:
        return "You are bankrupt."
    for word, (name, arguments) in CALLS.items():
        if word in last["content"]:
            return name, json.dumps(arguments)
    return SENTENCE


@asynccontextmanager
async def desks_on(folder: Path, model: Asked) -> AsyncIterator[ServerProcess]:
    app = web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    async with on_loopback(app) as url:
        (folder / "desks").mkdir()
        (folder / "front.yaml").write_text(FRONT.replace("ADDRESS", url))
        (folder / "front.py").write_text(TOOL.format(name="open_door"))
        (folder / "desks" / "billing.yaml").write_text(BILLING)
        (folder / "desks" / "billing.py").write_text(TOOL.format(name="send_invoice"))
        starting = running_server(folder, "--config", str(folder / "front.yaml"), "--event-logs", "9")
        with ExitStack() as stack:  # in a thread, because the model answers from this loop while the server starts
            yield await asyncio.to_thread(stack.enter_context, starting)


def samples(caller: SocketCaller) -> int:
    """The audio since the last time."""
    count = sum(map(len, caller.audio)) // 2
    caller.audio.clear()
    return count


async def test_the_other_agent_has_its_own_instructions_tools_voice_and_guard(tmp_path: Path) -> None:
    model = Asked(desks)
    async with desks_on(tmp_path, model) as server, SocketCaller(server.url) as caller:
        await caller.wait("response.done")
        greeting = samples(caller)
        await say(caller, "Open the front door.")
        samples(caller)
        since = len(caller.events)
        await caller.write("I have an invoice.")
        handoff = await caller.wait("voiceagent.handoff")
        assert (handoff["agent"], handoff["summary"]) == ("Billing", True)
        await caller.until(lambda: len(caller.named("response.done", since)) == 2)
        heard = [event["heard"] for event in caller.named("voiceagent.heard", since)]
        assert "One moment." in heard
        assert heard[-1] == SENTENCE
        assert model.tools[-1] == {"send_invoice", "note"}
        known = 'Known so far: {"name": "Ann", "reason": "invoice"}'
        assert model.prompts[-1][0]["content"].startswith(
            f"You are the billing desk.\n\nAsk for the number of the invoice.\n\n{known}\n\n"
        )
        assert model.prompts[-1][0]["content"].endswith(SUMMARY)
        assert [message["content"] for message in model.prompts[-1][1:]] == ["I have an invoice."]
        samples(caller)
        await say(caller, "What time is it?")
        assert samples(caller) > 1.5 * greeting
        await say(caller, "Please send it.")
        assert "open_door, send_invoice" in str(model.prompts[-1])
        await say(caller, "I am broke.")
        assert caller.named("voiceagent.heard")[-1]["heard"] == "I cannot say that."
        since = len(caller.events)
        await caller.write("The number is forty-two.")
        await caller.wait("voiceagent.handoff", since)
        assert caller.named("voiceagent.handoff")[-1]["agent"] == "Front desk"
        steps = ["reason", "billing", "number", "front", "reason"]
        await caller.until(lambda: [event["step"] for event in caller.named("voiceagent.step")] == steps)
        await caller.until(lambda: model.tools[-1] == {"open_door", "note"})
        assert 'Known so far: {"number": 42}' in model.prompts[-1][0]["content"]
        call_id = caller.call_id
    head, recorded = read_log(local_store(tmp_path), call_id)
    decided = [(step.event, step.actions) for step in recorded]
    assert all(step.same for step in replay(head.rules, decided, head.left))
