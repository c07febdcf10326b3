"""What the calls of an agent share: its settings, its engines, its guards, how it speaks, what it may look up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from voiceagent.config import AgentConfig
from voiceagent.context.sources import Sources
from voiceagent.engines import Engines
from voiceagent.guard.checks import Guards
from voiceagent.latency.budgets import Budgets
from voiceagent.tts.spoken_voice import Speech

NO_SOURCES = Sources()


def no_pressure() -> float:
    """Of a server that has nothing else to do."""
    return 0.0


@dataclass(frozen=True, slots=True)
class AgentParts:
    """One per agent; a call may have settings of its own (`replace`)."""

    agent: AgentConfig
    engines: Engines
    guards: Guards
    speech: Speech
    budgets: Budgets
    sources: Sources = NO_SOURCES
    pressure: Callable[[], float] = no_pressure
    """How busy the server is, besides the language model: 1 is full."""
