"""The sessions that a test has with a language model, by the names that the test gives them."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from voiceagent.llm.embedded import EmbeddedEngine
from voiceagent.llm.embedded_jobs import KvCache
from voiceagent.llm.embedded_session import EmbeddedSession

_OPEN: WeakKeyDictionary[EmbeddedEngine, dict[str, EmbeddedSession]] = WeakKeyDictionary()


def session_of(engine: EmbeddedEngine, name: str) -> EmbeddedSession:
    """The session of that name, opened at the first time."""
    sessions = _OPEN.setdefault(engine, {})
    if name not in sessions:
        sessions[name] = engine.open(name)
    return sessions[name]


def cache_of(engine: EmbeddedEngine, name: str) -> KvCache:
    """Its KV cache, which it must have."""
    cache = session_of(engine, name).conversation.cache
    assert cache is not None
    return cache


async def end(engine: EmbeddedEngine, name: str) -> None:
    """Close the session; the next of that name is another one."""
    await _OPEN.setdefault(engine, {}).pop(name, engine.open(name)).close()
