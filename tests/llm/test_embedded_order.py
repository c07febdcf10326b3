"""Which call the embedded engine's worker goes on with."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.llm.sessions import session_of
from voiceagent.conversation.history import Message
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.embedded.jobs import AHEAD_S, FIRST_PIECES, PIECE_S, Job, WorkerConversation
from voiceagent.llm.embedded.worker import EmbeddedOptions, EmbeddedWorker
from voiceagent.llm.engine import Urgency
from voiceagent.models.registry import resolve

SHORT = (Message("system", "You are a friendly voice assistant."), Message("user", "Thank you."))
LONG = (Message("system", "You are a friendly voice assistant. " * 150), Message("user", "Thank you."))
"""Read in several pieces."""


@pytest.fixture
async def engine() -> AsyncIterator[EmbeddedEngine]:
    loaded = EmbeddedEngine(resolve("micro-lm"), EmbeddedOptions(context_tokens=4096))
    yield loaded
    await loaded.close()


@pytest.fixture
def order(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """The job of each step so far."""
    steps: list[Job] = []
    advance = EmbeddedWorker._advance

    def noting(worker: EmbeddedWorker, job: Job) -> bool:
        steps.append(job)
        return advance(worker, job)

    monkeypatch.setattr(EmbeddedWorker, "_advance", noting)
    return steps


def job(engine: EmbeddedEngine, messages: tuple[Message, ...], *, ahead: bool = False) -> Job:
    made = Job(WorkerConversation(), 0 if ahead else 40, None, Urgency.AHEAD if ahead else Urgency.REPLY)
    made.ids = session_of(engine, "any").prompt.ids(messages, ())
    return made


async def run(engine: EmbeddedEngine, *jobs: Job) -> None:
    for one in jobs:
        engine.worker.put(one)
    for one in jobs:
        while await one.tokens.get() is not None:
            pass


def last(order: list[Job], job: Job) -> int:
    return max(at for at, one in enumerate(order) if one is job)


async def test_of_two_replies_the_first_asked_for_is_written_first(engine: EmbeddedEngine, order: list[Job]) -> None:
    first, second = job(engine, SHORT), job(engine, SHORT)
    await run(engine, first, second)
    assert last(order, first) + 1 == order.index(second)


async def test_a_reply_is_written_while_a_long_prompt_is_read_ahead(engine: EmbeddedEngine, order: list[Job]) -> None:
    ahead, reply = job(engine, LONG, ahead=True), job(engine, SHORT)
    await run(engine, ahead, reply)
    assert last(order, reply) < last(order, ahead)


async def test_a_reply_that_is_heard_for_seconds_gives_way_to_a_new_one(engine: EmbeddedEngine, order: list[Job]) -> None:
    heard, new = job(engine, SHORT), job(engine, SHORT)
    heard.pieces = 100
    await run(engine, heard, new)
    assert last(order, new) < last(order, heard)


async def test_a_job_is_due_before_its_speech_pauses(engine: EmbeddedEngine) -> None:
    reply, ahead = job(engine, SHORT), job(engine, SHORT, ahead=True)
    assert AHEAD_S <= ahead.due_s - reply.due_s < AHEAD_S + 1
    asked_s = reply.due_s
    reply.pieces = FIRST_PIECES
    assert reply.due_s == asked_s
    reply.pieces += 5
    assert reply.due_s == pytest.approx(asked_s + 5 * PIECE_S)


async def test_the_session_counts_what_will_be_spoken(engine: EmbeddedEngine, order: list[Job]) -> None:
    async for _ in session_of(engine, "words").generate(SHORT, ()):
        pass
    assert order[-1].pieces > 0
