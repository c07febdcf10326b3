"""All that the turn engine remembers of a call, as one frozen value, and the rules it goes by."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from voiceagent.conversation.history import Message
from voiceagent.conversation.reply import Reply


class Phase(Enum):
    """Where a call stands. Exactly one holds at any time."""

    NEW = "new"
    """No audio flows yet."""
    IDLE = "idle"
    """Nobody speaks and nothing is being answered."""
    HEARING = "hearing"
    """The caller speaks."""
    FINALISING = "finalising"
    """The caller has finished; the final transcript is being made."""
    THINKING = "thinking"
    """A reply is being made, or waits for the dropped one to settle; none of it was heard."""
    SPEAKING = "speaking"
    """The caller hears the reply."""
    ENDED = "ended"
    """The call is over."""


LIVE = frozenset(Phase) - {Phase.NEW, Phase.ENDED}


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator set. Times in milliseconds; 0 switches a limit off."""

    instructions: str = ""
    greeting: str = ""
    check_in: str = "Are you still there?"
    farewell: str = "Goodbye."
    apology: str = "Sorry, something went wrong."
    silence_timeout_ms: float = 30_000.0
    max_call_ms: float = 3_600_000.0
    reply_timeout_ms: float = 15_000.0
    final_timeout_ms: float = 5_000.0
    max_tool_rounds: int = 4


@dataclass(frozen=True, slots=True)
class Want:
    """A reply to start as soon as the dropped one has settled: an answer to the caller, the rest of the interrupted
    reply, or given text."""

    kind: Literal["answer", "resume", "say"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class State:
    """A call between two events."""

    rules: Rules
    phase: Phase = Phase.NEW
    history: tuple[Message, ...] = ()
    """What was said, without the system message. An assistant's text is what was heard."""
    unanswered: str = ""
    """The caller's words that no message in the history holds yet."""
    utterance_id: int = -1
    """The caller's latest utterance."""
    partial: str = ""
    """Its words so far."""
    awaiting_final: frozenset[int] = frozenset()
    """Utterances that were endpointed and whose final transcript is still to come."""
    turn: int = 0
    reply: Reply | None = None
    """The live reply. There is never more than one."""
    dropping: Reply | None = None
    """The reply that was dropped and whose `PlayoutStopped` is still to come."""
    want: Want | None = None
    rest: str = ""
    """What the caller has not heard of the reply that the open utterance interrupted."""
    next_reply_id: int = 1
    timers: frozenset[str] = frozenset()
    check_ins: int = 0
    ending: str = ""
    """Set while a farewell is being said: the reason with which the call ends after it."""
