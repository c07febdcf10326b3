"""What the calls of an agent share: its settings, engines, guards, speech and documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from voiceagent.context.sources import Sources
from voiceagent.engines import Engines
from voiceagent.guard.checks import Guards
from voiceagent.latency.budgets import Budgets
from voiceagent.settings.agent import AgentConfig
from voiceagent.tts.spoken_voice import AgentSpeech

NO_SOURCES = Sources()


def no_pressure() -> float:
    """The default load of the server: none."""
    return 0.0


@dataclass(frozen=True, slots=True)
class AgentParts:
    """One per agent. A call may have settings of its own (`replace`)."""

    agent: AgentConfig
    engines: Engines
    guards: Guards
    speech: AgentSpeech
    budgets: Budgets
    sources: Sources = NO_SOURCES
    pressure: Callable[[], float] = no_pressure
    """How busy the server is apart from the language model; 1 is full."""
