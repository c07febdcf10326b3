"""`serve --reload`: new calls get the agent as its files say now, calls that are up keep the one that they began with."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import ClientSession, web

from tests.calls.scripted_model import Message, ScriptedModel
from tests.calls.socket_caller import SocketCaller
from tests.loopback import on_loopback
from tests.server_process import ServerProcess, running_server
from voiceagent.agent_watch import AgentWatch
from voiceagent.loaded_agent import LoadedAgent
from voiceagent.settings.agent import AgentConfig, load_agent

TOOLS = """
from stock import PRICE
from voiceagent.tools import tool


@tool(effect="none")
def price() -> dict:
    '''The price.'''
    return {{"price": PRICE{more}}}
"""
MOST_S = 30.0


def looks_up(messages: list[Message]) -> str | tuple[str, str]:
    """Ask for the price, and say what the tool has told."""
    last = messages[-1]
    return f"It costs {json.loads(last['content'])['price']}." if last["role"] == "tool" else ("price", "{}")


class Agent:
    """An agent's files, and the server that serves them."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.server: ServerProcess

    def write(self, name: str, text: str) -> None:
        """Replace a file at once, as editors do."""
        (self.folder / f"{name}.new").write_text(text)
        os.replace(self.folder / f"{name}.new", self.folder / name)

    def settings(self, more: str = "", name: str = "Shop") -> str:
        return f"name: {name}\nprofile: embedded\ntools: [tools.py]\nllm: {{base_url: '{self.url}/v1', model: m}}\n{more}"

    async def told(self) -> str:
        """The next line that the server tells."""
        assert self.server.process.stdout is not None
        async with asyncio.timeout(MOST_S):
            return (await asyncio.to_thread(self.server.process.stdout.readline)).strip()

    async def price(self, caller: SocketCaller) -> str:
        """What the agent's tool tells in this call."""
        since = len(caller.events)
        await caller.write("How much is it?")
        await caller.until(lambda: "costs" in said(caller, since))
        return said(caller, since).removeprefix("It costs ").removesuffix(".")


def said(caller: SocketCaller, since: int) -> str:
    done = caller.named("response.output_audio_transcript.done", since)
    return str(done[-1]["transcript"]) if done else ""


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[Agent]:
    model, app = ScriptedModel(looks_up), web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    async with on_loopback(app) as url:
        agent = Agent(folder, url)
        agent.write("stock.py", "PRICE = 'one'\n")
        agent.write("tools.py", TOOLS.format(more=""))
        agent.write("agent.yaml", agent.settings())
        with ExitStack() as stack:  # in a thread, because the model answers from this loop while the server starts
            starting = running_server(folder, "--config", str(folder / "agent.yaml"), "--reload")
            agent.server = await asyncio.to_thread(stack.enter_context, starting)
            yield agent


async def test_new_calls_get_what_the_files_say_and_running_ones_keep_what_they_had(tmp_path: Path) -> None:
    async with served(tmp_path) as agent, SocketCaller(agent.server.url) as first:
        assert await agent.price(first) == "one"
        agent.write("stock.py", "PRICE = 'two'\n")
        assert await agent.told() == "reloaded (stock.py): new calls get it"
        async with SocketCaller(agent.server.url) as second:
            assert await agent.price(second) == "two"
            assert await agent.price(first) == "one"

        agent.write("agent.yaml", agent.settings("steps: nonsense\n"))
        assert (await agent.told()).startswith(
            f"not reloaded, new calls get the agent as it was: {tmp_path / 'agent.yaml'}:5: steps"
        )
        agent.write("agent.yaml", agent.settings("admission: {max_calls: 3}\n", "New shop"))
        later = "; admission changed, which takes a restart"
        assert await agent.told() == f"reloaded (agent.yaml): new calls get it{later}"
        async with ClientSession() as client, client.get(f"{agent.server.url}/v1/voiceagent/about") as answer:
            assert (await answer.json())["agent"] == "New shop"
        async with ClientSession() as client, client.get(f"{agent.server.url}/v1/models") as answer:
            assert (await answer.json())["data"][0]["id"] == "New shop"
        async with ClientSession() as client, client.get(f"{agent.server.url}/v1/voiceagent/monitor") as answer:
            shown = (await answer.content.readuntil(b"\n\n")).decode()
            assert "New shop" in shown

        agent.write("tools.py", TOOLS.format(more=" + MORE").replace("import PRICE", "import MORE, PRICE"))
        assert "tools.py:2: fails to import (ImportError: cannot import name 'MORE'" in await agent.told()
        async with SocketCaller(agent.server.url) as third:
            assert await agent.price(third) == "two"
        agent.write("stock.py", "PRICE = 'three'\nMORE = ' or four'\n")
        assert await agent.told() == f"reloaded (stock.py, tools.py): new calls get it{later}"
        async with SocketCaller(agent.server.url) as fourth:
            assert await agent.price(fourth) == "three or four"
            assert await agent.price(first) == "one"


async def test_an_agent_is_freed_when_its_last_call_has_ended() -> None:
    loaded = LoadedAgent(AgentConfig())
    one, other = loaded.begin_call(), loaded.begin_call()
    freed = asyncio.create_task(loaded.retire())
    one.ended()
    one.ended()  # a call that breaks may tell twice
    await asyncio.sleep(0)
    assert not freed.done()
    other.ended()
    await asyncio.wait_for(freed, MOST_S)


async def test_a_file_that_is_written_in_steps_is_read_once_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voiceagent.agent_watch.LOOK_EVERY_S", 0.01)
    file = tmp_path / "agent.yaml"
    file.write_text("name: A\n")
    watch = AgentWatch(file, load_agent(file), [tmp_path])
    file.unlink()
    changing = asyncio.create_task(watch.changed())
    file.write_text("name: B\n")
    assert await asyncio.wait_for(changing, MOST_S) == {file.resolve()}
    file.write_text("name: [\n")
    await asyncio.wait_for(watch.changed(), MOST_S)
    watch.refused()
    (tmp_path / "late.py").write_text("")
    beside = asyncio.create_task(watch.changed())
    await asyncio.sleep(0)
    file.write_text("name: C\n")
    assert file.resolve() in await asyncio.wait_for(beside, MOST_S)


async def test_a_folder_of_documents_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voiceagent.agent_watch.LOOK_EVERY_S", 0.01)
    file, folder = tmp_path / "agent.yaml", tmp_path / "faq"
    file.write_text("context: [{folder: faq}]\n")
    (folder / "parts").mkdir(parents=True)
    watch = AgentWatch(file, load_agent(file), [tmp_path])
    (folder / ".hidden.md").write_text("Draft.")
    (folder / "picture.png").write_bytes(b"")
    for text in ("We open at nine.", "We open at ten o'clock."):
        (folder / "parts" / "hours.md").write_text(text)
        assert await asyncio.wait_for(watch.changed(), MOST_S) == {folder.resolve()}
    (folder / "parts" / "hours.md").unlink()
    assert await asyncio.wait_for(watch.changed(), MOST_S) == {folder.resolve()}
