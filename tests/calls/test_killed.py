"""Servers on one store, SQLite or PostgreSQL. One is killed in the middle of a reply, of a tool with an effect, and of the
caller's words: its calls go on at another one, or at one that starts at its address. Then that one stops, as for an upgrade."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from aiohttp import web

from tests.calls.scripted_model import Message, ScriptedModel
from tests.calls.socket_caller import SocketCaller
from tests.calls.test_cuts import check_events
from tests.calls.test_restart import STORY, TOOLS, UNKNOWN, ask_by_webrtc, is_rest, words_heard
from tests.fakes import Said
from tests.kept_calls import whole_transcript
from tests.loopback import on_loopback
from tests.postgresql import postgresql
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.store.database import local_store
from voiceagent.store.schema import reading
from voiceagent.turn_taking.languages import language

SETTINGS = "turn: {resume_after_restart: always}\nphrases: {greeting: Good morning., fillers: []}\n"
ASKS_AGAIN = language("en").sayings.not_understood
KILLED = -9


def script(messages: list[Message]) -> str | tuple[str, str]:
    last = messages[-1]
    if last["role"] == "tool":
        return "I do not know whether the table was booked." if last["content"] == UNKNOWN else f"Hm: {last['content']}"
    return ("book", "{}") if last["content"] == "Book a table." else STORY


@asynccontextmanager
async def agent(folder: Path) -> AsyncIterator[Path]:
    """The file of an agent whose model answers by the script."""
    model = ScriptedModel(script)
    app = web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    async with on_loopback(app) as url:
        (folder / "own_tools.py").write_text(TOOLS)
        (folder / "agent.yaml").write_text(f"tools: [own_tools.py]\nllm: {{base_url: '{url}/v1', model: m}}\n{SETTINGS}")
        yield folder / "agent.yaml"


class Servers:
    """Servers of one agent on one store."""

    def __init__(self, agent: Path, store: dict[str, str], stack: ExitStack) -> None:
        self._agent, self._store, self._stack = agent, store, stack

    async def start(self, name: str, *more: str, port: int = 0, exit_code: int = 0) -> ServerProcess:
        folder = self._agent.parent / name
        folder.mkdir()
        options = ("--config", str(self._agent), *(("--port", str(port)) if port else ()), *more)
        starting = running_server(folder, *options, environment=self._store, exit_code=exit_code)
        return await asyncio.to_thread(self._stack.enter_context, starting)


@asynccontextmanager
async def servers(agent: Path, store: dict[str, str]) -> AsyncIterator[Servers]:
    stack = ExitStack()
    try:
        yield Servers(agent, store, stack)
    finally:
        await asyncio.to_thread(stack.close)


async def kill(server: ServerProcess) -> float:
    server.process.kill()
    await asyncio.to_thread(server.process.wait, 15)
    return time.monotonic()


async def test_calls_go_on_at_another_server_of_the_machine(tmp_path: Path, said: Said) -> None:
    store = {"VOICEAGENT_DATA": str(tmp_path / "shared")}
    async with agent(tmp_path) as file, servers(file, store) as started, AsyncExitStack() as stack:
        starting = started.start("first", "--event-logs", "9", exit_code=KILLED), started.start("second", "--event-logs", "9")
        first, second = await asyncio.gather(*starting)
        calls = await Calls.begun(first, stack)
        await calls.talk(said)
        killed_s = await kill(first)
        calls.by_webrtc.url = second.url
        await calls.go_on(second, killed_s)
        ids = [str(caller.named("session.created")[-1]["session"]["voiceagent"]["call_id"]) for caller in calls.over_sockets]
        ids.append(calls.by_webrtc.call_id)
    assert (tmp_path / "booked").read_text() == "table\n"
    check_history(tmp_path / "shared", *ids)


async def test_calls_go_on_after_a_kill_and_after_an_upgrade_on_one_postgresql(
    tmp_path: Path, postgresql_store: dict[str, str], said: Said
) -> None:
    async with agent(tmp_path) as file, servers(file, postgresql_store) as started, AsyncExitStack() as stack:
        first, second = await asyncio.gather(started.start("first", exit_code=KILLED), started.start("second"))
        calls = await Calls.begun(first, stack)
        await calls.talk(said)
        killed_s = await kill(first)
        starting = asyncio.create_task(started.start("third", port=urlsplit(first.url).port or 0))
        await calls.go_on(second, killed_s)  # the one by WebRTC at its own address, once the third answers there
        third = await starting
        await calls.outlive(second, third)
    assert (tmp_path / "booked").read_text() == "table\n"


@pytest.fixture
def postgresql_store(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables of servers with one PostgreSQL."""
    with postgresql() as running:
        yield {"VOICEAGENT_STORE": running.new_store(tmp_path).url}


@dataclass
class Calls:
    """Calls of one server."""

    story: SocketCaller
    booking: SocketCaller
    speaking: SocketCaller
    by_webrtc: Caller
    dialogue: Dialogue

    @classmethod
    async def begun(cls, server: ServerProcess, stack: AsyncExitStack) -> Calls:
        """Calls whose greeting was heard."""
        story, booking, speaking = [await stack.enter_async_context(SocketCaller(server.url)) for _ in range(3)]
        by_webrtc = await stack.enter_async_context(Caller(server.url))
        dialogue = await stack.enter_async_context(Dialogue(by_webrtc))
        for caller in (story, booking, speaking):
            await caller.wait("response.done")
        await dialogue.wait_greeting()
        return cls(story, booking, speaking, by_webrtc, dialogue)

    @property
    def over_sockets(self) -> tuple[SocketCaller, ...]:
        return self.story, self.booking, self.speaking

    async def talk(self, said: Said) -> None:
        """A tool with an effect runs, a caller is speaking, and the agent is, by either transport."""
        pcm, rate_hz = await said("Book a table for tomorrow evening at seven.")
        await self.booking.write("Book a table.")
        await self.booking.until(lambda: bool(self.booking.named("voiceagent.tool")))
        await self.speaking.speak(pcm[: len(pcm) // 2], rate_hz)
        await self.speaking.wait("voiceagent.transcript.partial")
        await self.story.write("Tell me a story.")
        ask_by_webrtc(self.by_webrtc, "Tell me a story.")
        await self.dialogue.wait_event(lambda event: len(str(event.data.get("heard", "")).split()) > 3, 0, "some words")
        await self.story.until(lambda: words_heard(self.story) > 8)

    async def go_on(self, second: ServerProcess, killed_s: float) -> None:
        """The server was killed. Each call goes on, those over sockets at this server."""
        times = await asyncio.gather(*(taken_up(caller, second, killed_s) for caller in self.over_sockets))
        print(f"taken up {', '.join(f'{one:.2f}' for one in times)} s after the server was killed")
        await asyncio.gather(check_story(self.story), check_booking(self.booking), check_speaking(self.speaking))
        done = await self.dialogue.wait_event(is_rest, 0, "the rest")
        assert STORY.endswith(done.data["response"]["output"][0]["content"][0]["transcript"])
        assert self.by_webrtc.resumed == 1

    async def outlive(self, old: ServerProcess, new: ServerProcess) -> None:
        """The server stops, and none of its calls is lost."""
        since, before = len(self.story.events), len(self.booking.events)
        await self.story.write("Tell me a story.")
        await self.story.until(lambda: len(" ".join(heard_since(self.story, since)).split()) > 4)
        old.process.terminate()
        stopped_s = time.monotonic()
        await asyncio.gather(*(taken_up(caller, new, stopped_s) for caller in self.over_sockets))
        await self.story.until(lambda: " ".join(heard_since(self.story, since)) == STORY)
        await self.booking.write("Tell me a story.")
        await self.booking.until(lambda: bool(heard_since(self.booking, before)))
        check_events(self.story.events)


def check_history(data: Path, story: str, booking: str, speaking: str, by_webrtc: str) -> None:
    """Nothing is missing in what was kept of each call, over both servers."""
    with reading(local_store(data)) as database:
        said = {
            call_id: [entry for entry in whole_transcript(database, call_id) if entry.who != "call"]
            for call_id in (story, booking, speaking, by_webrtc)
        }
    for call_id in (story, by_webrtc):
        greeting, asked, *told = [entry.text for entry in said[call_id]]
        assert (greeting, asked, " ".join(told)) == ("Good morning.", "Tell me a story.", STORY)
    assert [(entry.text, entry.output) for entry in said[booking] if entry.who == "tool"] == [("book", None)]
    assert "Good morning." in [entry.text for entry in said[speaking]]


async def taken_up(caller: SocketCaller, server: ServerProcess, killed_s: float) -> float:
    """Take the call up at another server. Returns how long after the kill it went on, in seconds."""
    await caller.until(lambda: caller.closed[0] is not None)
    caller.url = server.url
    await caller.resume()
    return time.monotonic() - killed_s


def heard_since(caller: SocketCaller, since: int) -> list[str]:
    """The words that were heard, by item, in the events behind the first `since`."""
    told = {event["item_id"]: event["heard"] for event in caller.named("voiceagent.heard", since)}
    return [heard for heard in told.values() if heard]


async def check_story(caller: SocketCaller) -> None:
    """The reply goes on at a word that was not heard, and nothing is missing."""
    await caller.until(lambda: " ".join(caller.heard().values()) == f"Good morning. {STORY}")
    await caller.until(lambda: len(caller.named("response.done")) == 3)
    ended = [event["response"]["status"] for event in caller.named("response.done")]
    assert ended == ["completed", "cancelled", "completed"], [event for event in caller.events if "delta" not in event["type"]]


async def check_booking(caller: SocketCaller) -> None:
    """The tool that had begun does not run again, and the caller is told that nobody knows what came of it."""
    said = "I do not know whether the table was booked."
    await caller.until(lambda: any(one.endswith(said) for one in caller.heard().values()))


async def check_speaking(caller: SocketCaller) -> None:
    """Words of which nobody knows the end are asked for again."""
    await caller.until(lambda: ASKS_AGAIN in caller.heard().values())
