"""Tells a journal what the call would leave for another server, should this one be killed: at once where something was said, done
or decided, otherwise at most once in `EVERY_S`. The event loop only copies the call; the journal has the rest worked out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol

from msgspec import Struct

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.state import State
from voiceagent.conversation.sudden_end import left_at
from voiceagent.realtime.session import LeftSession, RealtimeSession

EVERY_S = 1.0
TURNING_POINTS = (
    act.CallerFinal,
    act.ReplyStarted,
    act.ReplyEnded,
    act.ReplyCorrected,
    act.RunTool,
    act.ToolStarted,
    act.ToolEnded,
    act.StepChanged,
    act.ValueCollected,
    act.AgentChanged,
)
"""Actions after which the journal is told at once."""
TURNING_EVENTS = (ev.GenerationDone, ev.TextReceived, ev.HistoryAdded, ev.HistoryRemoved, ev.CallStateKept, ev.ConnectionResumed)
"""Events after which it is."""


class LeftCall(Struct, frozen=True):
    """A call for another server to go on with."""

    state: State
    session: LeftSession
    settings: dict[str, object]
    """The settings of its session that begin a call: instructions, and tools with the credentials of MCP servers."""
    call_id: str = ""
    """Its id where it was left."""
    said: tuple[act.CallerFinal, ...] = ()
    """The caller's words that its sudden end there has made final, and nobody has noted."""
    replies: tuple[act.ReplyEnded, ...] = ()
    """The same of the agent's words, as far as they were heard."""

    @property
    def last(self) -> tuple[act.AnyAction, ...]:
        """All that nobody has noted."""
        return (*self.said, *self.replies)


class Journal(Protocol):
    """Keeps what a call would leave. Its methods are called on the event loop."""

    def note(self, left: Callable[[], LeftCall | None]) -> None:
        """Keep this in place of what it had. `left` may be called in any thread. None: the call is not to go on elsewhere."""
        ...

    async def is_written(self) -> bool:
        """Wait until it is kept. Returns False if it is not, and something earlier may be."""
        ...


class JournalNotes:
    """One per call."""

    def __init__(self, journal: Journal, copied: Callable[[], Callable[[], LeftCall | None]]) -> None:
        """`copied` copies the call as it is now, and returns what makes of the copy what is left."""
        self._journal = journal
        self._copied = copied
        self._timer: asyncio.TimerHandle | None = None
        self._is_soon: asyncio.Handle | None = None

    def stepped(self, event: ev.Event, actions: tuple[act.AnyAction, ...]) -> None:
        """The turn engine has handled an event, with these actions."""
        loop = asyncio.get_running_loop()
        if isinstance(event, TURNING_EVENTS) or any(isinstance(action, TURNING_POINTS) for action in actions):
            if self._is_soon is None:
                self._is_soon = loop.call_soon(self.tell)
        elif self._timer is None:
            self._timer = loop.call_later(EVERY_S, self.tell)

    def tell(self) -> None:
        """Tell the journal what the call would leave now."""
        self.close()
        self._journal.note(self._copied())

    async def effect_may_begin(self) -> bool:
        """The last action runs a tool with an effect. Returns True once that is kept, so that no other server runs it again."""
        self.tell()
        return await self._journal.is_written()

    def close(self) -> None:
        """Tell nothing more of what has happened so far."""
        for handle in (self._timer, self._is_soon):
            if handle is not None:
                handle.cancel()
        self._timer = self._is_soon = None


async def effect_may_always_begin() -> bool:
    """No journal is kept."""
    return True


def copied(
    call_id: str, state: State, session: RealtimeSession, settings: dict[str, object], at_ms: float
) -> Callable[[], LeftCall | None]:
    """Returns what makes of this call what it leaves at this time."""
    return partial(_left, call_id, state, session.as_if_lost(), settings, at_ms)


def _left(call_id: str, state: State, session: RealtimeSession, settings: dict[str, object], at_ms: float) -> LeftCall | None:
    found = left_at(state, at_ms)
    if found is None:
        return None
    left, actions = found
    for action in actions:
        if isinstance(action, act.Notice):
            session.on_notice(action, at_ms)
    return LeftCall(
        left,
        session.left(),
        settings,
        call_id,
        said=tuple(action for action in actions if isinstance(action, act.CallerFinal)),
        replies=tuple(action for action in actions if isinstance(action, act.ReplyEnded)),
    )
