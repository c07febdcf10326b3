"""Engines that fail in calls are noticed, and those that work again, too."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes import SecondModel, SecondSession
from voiceagent.call.scope import EngineName
from voiceagent.conversation.actions import Failure, NotUnderstood
from voiceagent.conversation.events import TimerFired
from voiceagent.conversation.history import Message
from voiceagent.engines import Engines
from voiceagent.errors import EngineError
from voiceagent.llm.engine import Generated, GeneratedText, Thought, ToolSchema, Urgency
from voiceagent.server.monitoring.engine_health import MAX_FAILURES, EngineHealth, ProbeTimes, probes_of
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.server.monitoring.observers import Measured
from voiceagent.store.database import local_store
from voiceagent.store.turns import TurnStore
from voiceagent.store.writer import StoreWriter


class Asked:
    """An engine that is asked by itself. It works unless it has a problem."""

    def __init__(self) -> None:
        self.problem = ""
        self.times = asyncio.Queue[None]()

    async def __call__(self) -> None:
        self.times.put_nowait(None)
        if self.problem:
            raise EngineError("on purpose", self.problem)


async def at_no_cost() -> None:
    """The model's server is up."""


@asynccontextmanager
async def watched(health: EngineHealth, look: Callable[[], Awaitable[None]] = at_no_cost) -> AsyncIterator[Asked]:
    asked = Asked()
    async with health.watched({"stt": asked, "llm": asked, "tts": asked}, look):
        yield asked


async def settle(asked: Asked) -> None:
    """Until the engine has been asked once more."""
    while not asked.times.empty():
        asked.times.get_nowait()
    async with asyncio.timeout(10):
        await asked.times.get()
    await asyncio.sleep(0)
    await asyncio.sleep(0)


@pytest.mark.parametrize("engine", ["stt", "llm", "tts"])
async def test_an_engine_that_fails_in_a_call_and_by_itself_is_down_until_it_works(engine: EngineName) -> None:
    health = EngineHealth()
    async with watched(health) as asked:
        asked.problem = "key_refused"
        health.used(engine, "key_refused")
        await settle(asked)
        assert health.down == {engine: "key_refused"}
        assert "(key_refused)" in health.reason
        health.used(engine, "")
        assert (health.down, health.reason) == ({}, "")
        assert health.problems[engine] == {"key_refused": 1}


async def test_an_engine_that_works_by_itself_is_down_only_after_several_failures_in_a_row() -> None:
    health = EngineHealth()
    async with watched(health) as asked:
        for _ in range(3 * MAX_FAILURES):  # each second use works
            health.used("llm", "broken_off")
            await settle(asked)
            assert not health.down
            health.used("llm", "")
        for _ in range(MAX_FAILURES):
            health.used("llm", "broken_off")
        assert health.down == {"llm": "broken_off"}
        await settle(asked)
        assert not health.down, "it works by itself"
        health.used("llm", "broken_off")
        assert health.down == {"llm": "broken_off"}, "it fails in calls all the same"


async def test_an_engine_that_is_down_is_asked_until_it_works() -> None:
    health = EngineHealth(ProbeTimes(every_s=0.01))
    async with watched(health) as asked:
        asked.problem = "unreachable"
        health.doubt("llm")
        await settle(asked)
        await settle(asked)
        assert health.down == {"llm": "unreachable"}
        asked.problem = ""
        await settle(asked)
        assert not health.down


async def test_a_language_model_whose_server_is_gone_is_noticed_without_a_call() -> None:
    gone = Asked()
    gone.problem = "unreachable"
    health = EngineHealth(ProbeTimes(look_every_s=0.01))
    async with watched(health, gone) as asked:
        asked.problem = "unreachable"
        await settle(gone)
        assert health.down == {"llm": "unreachable"}
        asked.problem = gone.problem = ""
        await settle(asked)
        assert not health.down


async def test_an_engine_that_hangs_is_down() -> None:
    health = EngineHealth(ProbeTimes(timeout_s=0.01, every_s=0.01))
    stopped = asyncio.Queue[None]()

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.put_nowait(None)

    async with health.watched({"stt": hang, "llm": hang, "tts": hang}, at_no_cost), asyncio.timeout(10):
        health.used("llm", "too_late")
        await stopped.get()
        await stopped.get()
        assert health.down == {"llm": "too_late"}


async def test_turns_that_are_not_understood_are_counted_by_what_the_agent_says(tmp_path: Path) -> None:
    metrics = Metrics()
    observer = Measured(metrics, TurnStore(StoreWriter(local_store(tmp_path))))
    observer.stepped(TimerFired(0.0, "final"), (NotUnderstood(1, 1, "phrase"), NotUnderstood(2, 3, "check_in")))
    assert 'voiceagent_not_understood_total{answer="check_in"} 1' in metrics.render()
    assert 'voiceagent_not_understood_total{answer="phrase"} 1' in metrics.render()


async def test_replies_that_fail_without_an_error_of_the_engine_count_as_the_models(tmp_path: Path) -> None:
    metrics = Metrics()
    observer = Measured(metrics, TurnStore(StoreWriter(local_store(tmp_path))))
    for code in ("reply_timeout", "empty_reply", "reply_timeout"):
        observer.stepped(TimerFired(0.0, "reply"), (Failure(code, "on purpose"),))
    observer.stepped(TimerFired(0.0, "reply"), (Failure("nothing_to_answer", "the client's mistake"),))
    assert metrics.failed_replies == {"reply_timeout": 2, "empty_reply": 1}
    assert metrics.health.problems["llm"] == {"too_late": 2, "empty": 1}
    assert metrics.health.down == {"llm": "too_late"}
    assert 'voiceagent_engine_up{engine="llm"} 0' in metrics.render()
    assert 'voiceagent_failed_replies_total{code="reply_timeout"} 2' in metrics.render()


class Thinker(SecondSession):
    """Thinks for longer than it may be silent, and answers; or is silent."""

    def __init__(self, told: list[Sequence[Message]], thinks: bool) -> None:
        super().__init__(told)
        self.thinks = thinks

    async def generate(
        self, messages: Sequence[Message], tools: Sequence[ToolSchema], urgency: Urgency = Urgency.REPLY, must_call: str = ""
    ) -> AsyncGenerator[Generated, None]:
        for _ in range(20):
            await asyncio.sleep(0.02)  # the delay is the fault
            if self.thinks:
                yield Thought(1)
        yield GeneratedText("Hello.")


class ThinkingModel(SecondModel):
    def __init__(self, thinks: bool) -> None:
        super().__init__()
        self.thinks = thinks

    def open(self, call_id: str) -> SecondSession:
        return Thinker(self.told, self.thinks)


@pytest.mark.parametrize("thinks", [True, False])
async def test_a_model_that_thinks_for_long_works_and_one_that_is_silent_does_not(thinks: bool) -> None:
    engines = Engines(stt=None, llm=ThinkingModel(thinks), tts=None)  # type: ignore[arg-type]  # only the language model is asked
    think = probes_of(engines, "Be kind.", silent_s=0.2)["llm"]
    if thinks:
        await think()
    else:
        with pytest.raises(EngineError, match="nothing came from it"):
            await think()
