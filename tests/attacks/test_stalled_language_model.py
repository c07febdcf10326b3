"""A language model that stops in the middle of a reply, its connection open: a filler bridges the wait, and after three seconds
the fallback goes on where it stopped, or the apology is said."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.beside import beside
from tests.attacks.figures import hold, within
from tests.attacks.typed import typed
from tests.fakes import SecondModel, SecondSession
from tests.llm.faulty_server import FaultyServer, chunk, faulty_server
from tests.server_process import running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.embedded.jobs import KvCache, WorkerConversation
from voiceagent.llm.engine import Generated, GeneratedText, LlmEngine, ToolSchema, Urgency
from voiceagent.llm.servers.fallback import FallbackEngine
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.models.registry import resolve
from voiceagent.settings.agent import LlmSettings
from voiceagent.turn_taking.languages.en import ENGLISH

SYSTEM = Message("system", "You are a friendly voice assistant. Answer in one or two short sentences.")
HELLO = Message("user", "Hello.")
APOLOGY = "Sorry, I lost my thread."
BEGINNING = chunk({"content": "Hello there. "}) + chunk({"content": "How"})
DEAD_AIR_MS = 4000.0


@pytest.fixture
async def server() -> AsyncIterator[FaultyServer]:
    async with faulty_server() as running:
        running.fault, running.stream_body = "stalls", BEGINNING
        yield running


def over_http(server: FaultyServer, inactivity_timeout_s: float = 0.3) -> OpenAiEngine:
    return OpenAiEngine(OpenAiOptions(base_url=server.url, inactivity_timeout_s=inactivity_timeout_s))


async def generated(model: LlmEngine, taken: list[Generated]) -> None:
    async with aclosing(model.open("call").generate((SYSTEM, HELLO), [])) as stream:
        async for piece in stream:
            taken.append(piece)  # noqa: PERF401 - what came before it fails is wanted


def text(pieces: list[Generated]) -> str:
    return "".join(piece.text for piece in pieces if isinstance(piece, GeneratedText))


@pytest.mark.parametrize("fault", ["stalls", "trickles"])
async def test_a_reply_that_gains_nothing_is_given_up_within_its_time(server: FaultyServer, fault: str) -> None:
    server.fault = fault
    model, taken = over_http(server), list[Generated]()
    began_s = time.monotonic()
    with pytest.raises(EngineError, match="sent nothing in time"):
        await generated(model, taken)
    assert time.monotonic() - began_s < 2
    assert text(taken) == "Hello there. How"
    await asyncio.wait_for(server.disconnected.wait(), 5)
    await model.close()


def test_the_time_is_three_seconds_unless_it_is_set() -> None:
    assert LlmSettings().inactivity_timeout_s == OpenAiOptions(base_url="").inactivity_timeout_s == 3.0


async def test_the_fallback_goes_on_where_it_stopped(server: FaultyServer) -> None:
    model, taken = FallbackEngine(over_http(server), EmbeddedEngine(resolve("micro-lm"))), list[Generated]()
    await generated(model, taken)
    assert text(taken).startswith("Hello there. How can")
    assert model.problems["fallback_answered"] == 1
    await model.close()


class BreaksAfterACall(SecondSession):
    """Asks for a tool, and fails."""

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        yield ToolCall("c1", "get_time", '{"city": "Oslo"}')
        raise EngineError("on purpose")


class BreakingModel(SecondModel):
    def open(self, call_id: str) -> SecondSession:
        return BreaksAfterACall(self.told)


async def test_a_reply_that_has_asked_for_a_tool_is_not_gone_on_with() -> None:
    model, taken = FallbackEngine(BreakingModel(), SecondModel()), list[Generated]()
    with pytest.raises(EngineError):
        await generated(model, taken)
    assert [type(piece) for piece in taken] == [ToolCall]
    await model.close()


async def test_a_call_in_the_text_of_a_reply_that_stops_is_not_run_and_the_fallback_answers(server: FaultyServer) -> None:
    called = '<tool_call>\n{"name": "get_time", "arguments": {"city": "Oslo"}}\n</tool_call>'
    server.stream_body = chunk({"content": called})
    model, taken = FallbackEngine(over_http(server), SecondModel()), list[Generated]()
    await generated(model, taken)
    assert [piece for piece in taken if isinstance(piece, ToolCall | GeneratedText)] == [GeneratedText("the fallback")]
    await model.close()


async def test_an_embedded_model_that_hangs_says_so_and_still_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    model, taken, woken = EmbeddedEngine(resolve("micro-lm"), hangs_s=0.3, ending_s=0.3), list[Generated](), threading.Event()
    make = model.worker.cache

    class Hanging:
        """A generator that makes three tokens and then hangs."""

        def __init__(self, generator: Any) -> None:
            self._generator, self._left = generator, 3

        def __getattr__(self, name: str) -> Any:
            return getattr(self._generator, name)

        def generate_next_token(self) -> None:
            self._left -= 1
            if self._left < 0:
                woken.wait(20)
            self._generator.generate_next_token()

    def hanging(conversation: WorkerConversation) -> KvCache:
        cache = make(conversation)
        cache.generator = Hanging(cache.generator)  # type: ignore[assignment]  # it has all that is used of a Generator
        return cache

    monkeypatch.setattr(model.worker, "cache", hanging)
    try:
        async with asyncio.timeout(10):
            with pytest.raises(EngineError, match="hangs"):
                await generated(model, taken)
            assert taken
            with pytest.raises(EngineError, match="hangs"):
                await generated(model, taken)
            await model.open("call").close()
            await model.close()
    finally:
        woken.set()


async def heard_in_a_call(server: FaultyServer, folder: Path, more: str = "") -> tuple[str, float, list[dict[str, Any]]]:
    """What the caller of an agent on the stalling server hears, the longest silence in it, and the errors that were told."""
    config = folder / "agent.yaml"
    config.write_text(f'name: Stalled\nphrases: {{apology: "{APOLOGY}"}}\nllm: {{base_url: "{server.url}"{more}}}\n')
    server.fault = ""  # it answers while the other starts
    async with beside(running_server(folder, "--config", str(config))) as running:
        server.fault = "stalls"
        async with Caller(running.url) as caller, Dialogue(caller) as dialogue:
            voiced_ms = list[float]()
            caller.on_frame = lambda frame: voiced_ms.append(frame.received_ms) if abs(frame.pcm).max() > 500 else None
            caller.send_event({"type": "output_audio_buffer.clear"})
            caller.send_event(typed("Hello."))
            caller.send_event({"type": "response.create"})
            done = await dialogue.wait_event(lambda event: event.type == "response.done", 0, "the reply's end")
            await caller.wait_quiet(400)
            silences_ms = [later - earlier for earlier, later in pairwise(voiced_ms)]
            said = done.data["response"]["output"][-1]["content"][0]["transcript"]
            return said, max(silences_ms), dialogue.errors


async def test_the_caller_hears_an_apology_after_three_seconds(server: FaultyServer, tmp_path: Path) -> None:
    heard, silence_ms, errors = await heard_in_a_call(server, tmp_path)
    assert heard in [f"Hello there. {filler} {APOLOGY}" for filler in ENGLISH.sayings.fillers]
    hold(within("a language model that stops in mid-reply: silence that the caller hears", silence_ms, DEAD_AIR_MS, "ms"))
    assert [error["code"] for error in errors] == ["llm_failed"]


async def test_the_caller_hears_the_fallback_go_on_after_three_seconds(server: FaultyServer, tmp_path: Path) -> None:
    heard, silence_ms, errors = await heard_in_a_call(server, tmp_path, ", fallback: embedded")
    assert heard.startswith(tuple(f"Hello there. {filler} How can" for filler in ENGLISH.sayings.fillers))
    hold(within("a language model that stops in mid-reply: silence that the caller hears", silence_ms, DEAD_AIR_MS, "ms"))
    assert errors == []
