"""The sessions that a test has with a language model, by the names that the test gives them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from weakref import WeakKeyDictionary

from voiceagent.conversation.history import Message
from voiceagent.llm.embedded.embedded import EmbeddedEngine, EmbeddedSession
from voiceagent.llm.embedded.jobs import Job, KvCache
from voiceagent.llm.engine import ToolSchema, Urgency

_OPEN: WeakKeyDictionary[EmbeddedEngine, dict[str, EmbeddedSession]] = WeakKeyDictionary()


def session_of(engine: EmbeddedEngine, name: str) -> EmbeddedSession:
    """The session of that name, opened at the first time."""
    sessions = _OPEN.setdefault(engine, {})
    if name not in sessions:
        sessions[name] = engine.open(name)
    return sessions[name]


def tokens_of(
    session: EmbeddedSession, messages: Sequence[Message], tools: Sequence[ToolSchema], count: int
) -> AsyncGenerator[int, None]:
    """The tokens of an answer, at most `count`."""
    job = Job(session.conversation, count, session._model.constraints.of(tools), Urgency.REPLY)
    return session._tokens(job, messages, tools)


def cache_of(engine: EmbeddedEngine, name: str) -> KvCache:
    """Its KV cache, which it must have."""
    cache = session_of(engine, name).conversation.cache
    assert cache is not None
    return cache


async def end(engine: EmbeddedEngine, name: str) -> None:
    """Close the session; the next of that name is another one."""
    await _OPEN.setdefault(engine, {}).pop(name, engine.open(name)).close()
