"""The examples of agents that do a job, in whole calls whose language model a script plays."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from aiohttp import web

from tests.calls.scripted_model import Answer, Message, ScriptedModel
from tests.calls.socket_caller import SocketCaller
from tests.loopback import on_loopback
from tests.server_process import ServerProcess, running_server

EXAMPLES = Path(__file__).parents[2] / "examples"


def reception(messages: list[Message]) -> str | tuple[str, str]:
    """Note what is told, book, and say something short."""
    last = messages[-1]
    if last["role"] == "tool":
        return "All right."
    calls = {
        "appointment": ("note", {"reason": "appointment"}),
        "Friday": ("note", {"day": "Friday", "surname": "Kovacs"}),
        "book": ("book", {"day": "Friday", "time": "9 AM", "surname": "Kovacs"}),
    }
    for word, (name, arguments) in calls.items():
        if word in last["content"]:
            return name, json.dumps(arguments)
    return "Yes?"


class Asked(ScriptedModel):
    """Remembers the tools that it was offered, too."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer)
        self.tools: list[set[str]] = []

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body: dict[str, Any] = await request.json()
        self.tools.append({tool["function"]["name"] for tool in body.get("tools", [])})
        return await super().complete(request)


@asynccontextmanager
async def example(name: str, folder: Path, model: Asked, file: str = "agent.yaml") -> AsyncIterator[ServerProcess]:
    app = web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    async with on_loopback(app) as url:
        shutil.copytree(EXAMPLES / name, folder, dirs_exist_ok=True)
        agent = yaml.safe_load((folder / file).read_text())
        agent |= {"profile": "embedded", "llm": {"base_url": f"{url}/v1", "model": "m"}}
        (folder / "agent.yaml").write_text(yaml.safe_dump(agent, sort_keys=False))
        with ExitStack() as stack:  # in a thread, because the model answers from this loop while the server starts
            yield await asyncio.to_thread(stack.enter_context, running_server(folder, "--config", str(folder / "agent.yaml")))


async def say(caller: SocketCaller, text: str) -> None:
    """Write something, and wait for the end of the reply."""
    since = len(caller.events)
    await caller.write(text)
    await caller.wait("response.done", since)


async def test_the_clinic_takes_the_way_that_its_file_says(tmp_path: Path) -> None:
    model = Asked(reception)
    async with example("clinic", tmp_path, model) as server, SocketCaller(server.url) as caller:
        await caller.wait("response.done")  # the greeting
        await say(caller, "Hello?")
        assert model.tools[-1] == {"note", "go_to_step", "end_call"}
        assert "whether they want an appointment" in model.prompts[-1][0]["content"]
        await say(caller, "I need an appointment.")
        assert model.tools[-1] == {"note", "go_to_step", "end_call", "free_times", "book"}
        assert 'Known so far: {"reason": "appointment"}' in model.prompts[-1][0]["content"]
        await say(caller, "On Friday, the name is Kovacs.")
        await say(caller, "Please book nine o'clock.")
        assert "Shall I book 9 AM on Friday for Kovacs?" in str(caller.events)
        await say(caller, "Yes, please.")
        steps = [event["step"] for event in caller.named("voiceagent.step")]
        assert steps == ["reason", "slot", "goodbye"]
        assert model.tools[-1] == {"end_call"}
        await say(caller, "I want to start over.")
        assert [event["step"] for event in caller.named("voiceagent.step")] == [*steps, "reason"]
        assert "Known so far" not in model.prompts[-1][0]["content"]


def taking_values(messages: list[Message]) -> str | tuple[str, str]:
    """Note what is told and is not collected, book, and say something short."""
    last = messages[-1]
    if last["role"] == "tool":
        return "All right."
    day = next((json.loads(m["content"])["noted"]["day"] for m in messages if '"noted": {"day"' in str(m["content"])), "")
    calls = {
        "appointment": ("note", {"reason": "appointment"}),
        "Kovacs": ("note", {"surname": "Kovacs"}),
        "book": ("reserve", {"day": day, "time": "9 AM", "surname": "Kovacs"}),
    }
    for word, (name, arguments) in calls.items():
        if word in last["content"]:
            return name, json.dumps(arguments)
    return "Yes?"


def said(caller: SocketCaller) -> str:
    """The agent's last words."""
    return str(caller.named("response.output_audio_transcript.done")[-1]["transcript"])


async def test_the_clinic_takes_values_without_the_model(tmp_path: Path) -> None:
    model = Asked(taking_values)
    async with example("clinic", tmp_path, model, "collecting.yaml") as server, SocketCaller(server.url) as caller:
        await caller.wait("response.done")  # the greeting
        await say(caller, "Hello?")
        assert model.tools[-1] == {"note", "go_to_step", "end_call"}
        assert "whether they want an appointment" in model.prompts[-1][0]["content"]
        await say(caller, "I need an appointment.")
        assert said(caller) == "For which day?"
        await say(caller, "Tomorrow.")
        assert model.tools[-1] == {"note", "go_to_step", "end_call", "free_times", "reserve"}
        assert 'Known so far: {"reason": "appointment"}' in model.prompts[-1][0]["content"]
        tomorrow = (datetime.now().astimezone().date() + timedelta(1)).isoformat()
        assert {"name": "day", "stage": "confirmed", "value": tomorrow}.items() <= caller.named("voiceagent.value")[-1].items()
        await say(caller, "The name is Kovacs.")
        await say(caller, "Please book nine o'clock.")
        assert said(caller) == "On which number can we reach you?"
        await say(caller, "212 555")
        assert said(caller) == "And the rest, please?"
        await say(caller, "0147")
        await say(caller, "no, 212 555 0148")
        assert said(caller) == "2 1 2, 5 5 5, 0 1 4 8, is that right?"
        await say(caller, "Yes.")
        assert said(caller) == "Shall I book 9 AM for Kovacs?"
        await say(caller, "Yes, please.")
        assert json.loads(model.prompts[-1][-1]["content"])["we_call"] == "+12125550148"
        steps = [event["step"] for event in caller.named("voiceagent.step")]
        assert steps == ["reason", "slot", "goodbye"]
        assert model.tools[-1] == {"end_call"}


def order_desk(messages: list[Message]) -> str | tuple[str, str]:
    """Take the order as it is said."""
    last = messages[-1]
    if last["role"] == "tool":
        found = json.loads(last["content"])
        return f"Number {found['number']}." if "number" in found else f"That makes {found.get('total', 'nothing')}."
    calls = {
        "off": ("remove_dish", {"dish": "soup"}),
        "soup": ("add_dish", {"dish": "soup", "count": 2}),
        "salad": ("add_dish", {"dish": "salad"}),
        "place": ("place_order", {}),
        "Goodbye": ("end_call", {"reason": "the order is placed"}),
    }
    for word, (name, arguments) in calls.items():
        if word in last["content"]:
            return name, json.dumps(arguments)
    return "Yes?"


def heard(caller: SocketCaller) -> str:
    """All that the agent has said."""
    return " ".join(event["transcript"] for event in caller.named("response.output_audio_transcript.done"))


async def test_the_order_desk_keeps_two_callers_orders_apart_and_hangs_up(tmp_path: Path) -> None:
    model = Asked(order_desk)
    async with (
        example("orders", tmp_path, model) as server,
        SocketCaller(server.url) as ann,
        SocketCaller(server.url) as bob,
    ):
        await asyncio.gather(ann.wait("response.done"), bob.wait("response.done"))  # the greeting
        await asyncio.gather(say(ann, "Two bowls of soup."), say(bob, "A salad."))
        await asyncio.gather(say(ann, "And a salad."), say(bob, "That is all."))
        await say(ann, "Take the soup off.")
        assert "That makes 16.00 euros. That makes 7.00 euros." in heard(ann)
        for caller in (ann, bob):
            await say(caller, "Please place the order.")
            assert "Shall I place the order?" in heard(caller)
            await say(caller, "Yes, please.")
        assert ("Number 1." in heard(ann), "Number 2." in heard(bob)) == (True, True)
        await ann.write("Goodbye.")
        ended = await ann.wait("voiceagent.call_ended")
        assert ended["reason"] == "agent_ended"
        assert "Goodbye." in heard(ann)
        assert not bob.named("voiceagent.call_ended")


def survey(messages: list[Message]) -> str | tuple[str, str]:
    """Ask for a remark, keep it, and end the call."""
    last = messages[-1]
    if last["role"] == "tool":
        return "Would you like to add something?" if "noted" in last["content"] else "Thank you, goodbye."
    calls = {"cold": ("keep_remark", {"remark": "The room was cold."}), "no time": ("go_to_step", {"step": "declined"})}
    calls["That is all"] = ("end_call", {"reason": "the survey is over"})
    for word, (name, arguments) in calls.items():
        if word in last["content"]:
            return name, json.dumps(arguments)
    return "It takes a minute."


async def test_the_survey_asks_its_three_questions_keeps_the_answers_and_hangs_up(tmp_path: Path) -> None:
    model = Asked(survey)
    async with (
        example("survey", tmp_path, model) as server,
        SocketCaller(server.url) as ann,
        SocketCaller(server.url) as bob,
    ):
        await asyncio.gather(ann.wait("response.done"), bob.wait("response.done"))  # the greeting
        assert "nothing else. First, how was your visit: good, fair or poor?" in heard(ann)
        for answer in ("How long does it take?", "It was very good.", "No.", "Yes, I would."):
            await say(ann, answer)
        assert "It takes a minute. First, how was your visit" in heard(ann)
        told = [(event["name"], event["value"]) for event in ann.named("voiceagent.value") if event["stage"] == "confirmed"]
        assert told == [("visit", "good"), ("on_time", "no"), ("again", "yes")]
        assert [event["step"] for event in ann.named("voiceagent.step")] == ["questions", "remark"]
        await say(ann, "The waiting room was cold.")
        assert "Would you like to add something?" in heard(ann)
        await ann.write("That is all.")
        assert (await ann.wait("voiceagent.call_ended"))["reason"] == "agent_ended"
        await say(bob, "I have no time.")
        assert [event["step"] for event in bob.named("voiceagent.step")] == ["questions", "declined"]
        assert not bob.named("voiceagent.call_ended")
