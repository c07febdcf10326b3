"""The parts of a call that all others need: the call's id, its clock, its tasks, and a way to post events.

The tasks of a call, by owner. An owner may have parts: "reply 3/call 1" is a part of "reply 3". The tasks of a
reply end with the reply. All tasks end with the call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Literal

from voiceagent.context.sources import Sources
from voiceagent.conversation.events import Event
from voiceagent.conversation.rules import Degradation
from voiceagent.engines import Engines
from voiceagent.guard.checks import Guards
from voiceagent.latency.budgets import Budgets
from voiceagent.llm.sent_prompt import SentPrompt
from voiceagent.settings.agent import AgentConfig
from voiceagent.store.personal_data import PersonalData
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.spoken_voice import AgentSpeech

NO_SOURCES = Sources()
NOT_REDACTED = PersonalData()


def no_pressure() -> float:
    """The default load of the server: none."""
    return 0.0


@dataclass(frozen=True, slots=True)
class OtherAgent:
    """An agent that calls of another one may be handed off to, with the settings that cannot change within a call."""

    agent: AgentConfig
    tools: ToolSet
    guards: Guards
    speech: AgentSpeech
    sources: Sources


@dataclass(frozen=True, slots=True)
class AgentParts:
    """One per agent. A call may have settings of its own (`replace`)."""

    agent: AgentConfig
    engines: Engines
    guards: Guards
    speech: AgentSpeech
    budgets: Budgets
    sources: Sources = NO_SOURCES
    personal: PersonalData = NOT_REDACTED
    """The personal data that is taken out of what is kept."""
    pressure: Callable[[], float] = no_pressure
    """The load of the server apart from the language model; 1 is full."""
    degradations: Callable[[], tuple[Degradation, ...]] = tuple
    """The things that calls go without at the moment, to keep the latency budgets."""
    others: Mapping[str, OtherAgent] = field(default_factory=dict)
    """The agents that calls may be handed off to, by the names that steps have for them."""


class CallClock:
    """Made when the call begins."""

    def __init__(self) -> None:
        self._began_ms = time.monotonic() * 1000.0

    def now_ms(self) -> float:
        """The time now."""
        return time.monotonic() * 1000.0 - self._began_ms

    def at_ms(self, monotonic_ms: float) -> float:
        """Convert a time of `time.monotonic`, in milliseconds, to the call's clock."""
        return monotonic_ms - self._began_ms


class CallTasks:
    """Starts tasks in the call's task group. The tasks of one owner can be cancelled together."""

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._owned: dict[str, set[asyncio.Task[None]]] = {}

    def start(self, owner: str, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        """Run `work` until it ends, its owner is cancelled, or the call ends."""
        task = self._group.create_task(work, name=owner)
        self._owned.setdefault(owner, set()).add(task)
        task.add_done_callback(lambda done: self._forget(owner, done))
        return task

    def _forget(self, owner: str, task: asyncio.Task[None]) -> None:
        tasks = self._owned.get(owner)
        if tasks is not None:
            tasks.discard(task)
            if not tasks:
                del self._owned[owner]

    def cancel(self, owner: str, spared: Collection[str] = ()) -> None:
        """Cancel the running tasks of the owner and its parts, except for the spared parts."""
        for name in self._owned.keys() - spared:
            if name == owner or name.startswith(f"{owner}/"):
                for task in tuple(self._owned[name]):
                    task.cancel()

    def cancel_all(self) -> None:
        """Cancel all tasks."""
        for owner in tuple(self._owned):
            self.cancel(owner)


EngineName = Literal["llm", "stt", "tts"]


def _count_nothing(engine: EngineName, problem: str) -> None:
    """Counts nothing, for a call that nobody watches."""


def _show_nobody(prompt: SentPrompt) -> None:
    """Shows a prompt to nobody."""


@dataclass(frozen=True, slots=True)
class CallScope:
    """One per call."""

    call_id: str
    clock: CallClock
    tasks: CallTasks
    post: Callable[[Event], None]
    """Feed an event to the turn engine."""
    engine_used: Callable[[EngineName, str], None] = _count_nothing
    """Note that an engine worked, or how it failed: a slug, empty if it worked."""
    prompted: Callable[[SentPrompt], None] = _show_nobody
    """Show a prompt that the language model has got."""

    def now_ms(self) -> float:
        """The time on the call's clock."""
        return self.clock.now_ms()
