"""All that the turn engine remembers of a call, as one frozen value in parts."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Literal

from msgspec import Struct

from voiceagent.conversation.events import Refusal
from voiceagent.conversation.history import Chunk, Message, ToolCall
from voiceagent.conversation.reply import Reply
from voiceagent.conversation.rules import Rules
from voiceagent.turn_taking.pause import Prosody
from voiceagent.turn_taking.spoken_language import SpokenLanguage


class Phase(Enum):
    """Where a call stands. Exactly one holds at any time."""

    NEW = "new"
    """No audio flows yet."""
    IDLE = "idle"
    """Nobody speaks and nothing is being answered."""
    HEARING = "hearing"
    """The caller speaks, or pauses. A reply that was being spoken is paused; a speculative one may be in the making."""
    FINALISING = "finalising"
    """The caller has finished; the final transcript is being made."""
    THINKING = "thinking"
    """A reply is being made, or waits for the cancelled one to settle; none of it was heard."""
    SPEAKING = "speaking"
    """The caller hears the reply."""
    ENDED = "ended"
    """The call is over."""


LIVE = frozenset(Phase) - {Phase.NEW, Phase.ENDED}


class NextReply(Struct, frozen=True):
    """A reply to start as soon as the cancelled one has settled: an answer to the caller, the rest of the interrupted
    reply, or given text."""

    kind: Literal["answer", "resume", "say"]
    text: str = ""


class Pause(Struct, frozen=True):
    """The silence in which the open utterance is, or in which it was endpointed."""

    pause_id: int
    speech_end_ms: float
    voiced_ms: float
    prosody: Prosody
    load: float
    decoding: bool
    """Whether its words are being decoded, or were."""
    text: str | None = None
    """The utterance's words; None until they are decoded."""
    refusal: Refusal | None = None
    """Set where the input guard withheld the words."""
    language: str = ""
    """What the recogniser takes the words for."""
    judged: Mapping[str, float] = {}
    """What turn judges have said of it, by their names."""


class SpeculativeToolCall(Struct, frozen=True):
    """A tool without effect that runs, or ran, before its turn was committed."""

    speculative_id: int
    name: str
    arguments: str
    """Normalised."""
    started_ms: float
    output: str | None = None
    """None while it runs."""
    ok: bool = False
    finished_ms: float = 0.0
    used: bool = False
    """Whether a committed reply took it."""


class Memory(Struct, frozen=True):
    """What was said."""

    history: tuple[Message, ...] = ()
    """Without the system message. An assistant's text is what was heard."""
    turns: int = 0
    """So many the caller has taken so far, whether they are still in the history or not."""
    summary: str = ""
    """Of what was said before."""
    summarising: int = 0
    """So many of the oldest messages are being summed up."""
    summarised: str | None = None
    """And this came of it; it waits for the turn to end."""


class CallerTurn(Struct, frozen=True):
    """What the caller has said since the last turn was answered."""

    unanswered: str = ""
    """The words that no message in the history holds yet; those of the open utterance are not among them."""
    awaiting_final: frozenset[int] = frozenset()
    """Utterances that were endpointed and whose final transcript is still to come."""
    context: tuple[Chunk, ...] = ()
    """What was found for the words and for the open utterance, in the order in which it came."""
    refusal: Refusal | None = None
    """Set where the input guard withheld some of them."""
    ended_ms: float = 0.0
    """When the caller ended what is to be answered, or is being answered."""


class Utterance(Struct, frozen=True):
    """The caller's latest."""

    utterance_id: int = -1
    onset_ms: float = 0.0
    """When it began."""
    partial: str = ""
    """Its words so far."""
    stable: str = ""
    """Those that will not change."""
    pause: Pause | None = None
    """Set while it is silent."""


class Replies(Struct, frozen=True):
    """What goes from one reply to the next, beside the history, and how the live one is said."""

    voice: Literal["full", "ducked", "paused"] = "full"
    """The live one's while the caller speaks over it, or has just done so."""
    cancelling: Reply | None = None
    """The reply that was cancelled and whose `PlayoutStopped` is still to come."""
    unheard_text: str = ""
    """What the caller has not heard of the reply that the open utterance interrupted."""
    next_reply: NextReply | None = None
    next_reply_id: int = 1
    confirming: ToolCall | None = None
    """What the caller was asked to confirm."""
    fillers_said: int = 0


class Speculation(Struct, frozen=True):
    """What was begun before the caller's turn was committed."""

    replies: int = 0
    """Speculative replies that were begun since the last reply."""
    tokens: int = 0
    """And what those that were thrown away cost."""
    tool_calls: tuple[SpeculativeToolCall, ...] = ()
    """Of the caller's turn, until its reply is over."""
    next_id: int = 1
    """Of a speculative tool call."""
    predicted: tuple[str, str] | None = None
    """The tool, and its arguments normalised, that was predicted last."""


class Silence(Struct, frozen=True):
    """What the agent did because nobody spoke."""

    check_ins: int = 0
    """So often it asked whether the caller is still there."""
    ending: str = ""
    """Set while a farewell is being said: the reason with which the call ends after it."""


class State(Struct, frozen=True):
    """A call between two events."""

    rules: Rules
    spoken: SpokenLanguage = SpokenLanguage()
    """The caller's language."""
    phase: Phase = Phase.NEW
    memory: Memory = Memory()
    caller_turn: CallerTurn = CallerTurn()
    utterance: Utterance = Utterance()
    reply: Reply | None = None
    """The live reply, speculative or not. There is never more than one."""
    replies: Replies = Replies()
    speculation: Speculation = Speculation()
    silence: Silence = Silence()
    timers: frozenset[str] = frozenset()
