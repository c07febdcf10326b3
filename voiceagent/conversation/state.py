"""All that the turn engine remembers of a call, as one frozen value, and the rules it goes by."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Literal

from msgspec import Struct

from voiceagent.conversation.events import Refusal
from voiceagent.conversation.history import Chunk, Message, ToolCall
from voiceagent.conversation.reply import Reply
from voiceagent.turn_taking.endpointing import EndpointModel
from voiceagent.turn_taking.manners import EAGER, Manners
from voiceagent.turn_taking.patience import Shape
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


SLOW_MS = 150.0
"""A tool that takes longer is worth predicting while the caller still speaks."""


class ToolRule(Struct, frozen=True):
    """What the turn engine must know of a tool."""

    effect: Literal["none", "idempotent", "external"] = "external"
    """What a run leaves behind. Only what leaves nothing may run before its turn is committed."""
    fillers: tuple[str, ...] = ()
    """What may be said while it runs; empty: `Rules.fillers`."""
    confirm: str = ""
    """What the caller must say yes to before it runs; `{name}` stands for the argument of that name."""
    values: tuple[Shape, ...] = ()
    """What its arguments look like, as far as that is known."""
    typical_ms: float = 0.0
    """How long its runs took so far; 0: none is known."""

    @property
    def worth_predicting(self) -> bool:
        """Whether it may run speculatively, and that would save anything."""
        return self.typical_ms >= SLOW_MS and self.effect == "none"


class Rules(Struct, frozen=True):
    """What the operator set. Times in milliseconds; 0 switches a limit off."""

    language: str = ""
    """The caller's, by its code (`turn_taking.languages`), or AUTO; of one that is not known the voice and the judges decide."""
    instructions: str = ""
    greeting: str = ""
    check_in: str | None = None
    farewell: str | None = None
    apology: str | None = None
    """What the agent says by itself; None: what its language has for that."""
    prompts: Mapping[str, str] = {}
    """What the language model is told beside, by the fields of `Prompts`; what is not there: what its language has."""
    silence_timeout_ms: float = 30_000.0
    max_call_ms: float = 3_600_000.0
    reply_timeout_ms: float = 15_000.0
    final_timeout_ms: float = 5_000.0
    max_tool_rounds: int = 4
    tools: Mapping[str, ToolRule] = {}
    """By name; of a tool that is not here the worst is assumed."""
    filler_after_ms: float = 400.0
    """A tool that has no result for so long after it was started is bridged with a filler; 0: never."""
    fillers: tuple[str, ...] | None = ()
    """None: those of its language."""
    max_speculative_tool_calls: int = 4
    """Tools that a turn may run before its commit; 0: none."""
    endpointing: EndpointModel | None = None
    """Predicts from words and voice whether a pause is the end; None: every pause of `max_endpointing_delay_ms` is."""
    min_endpointing_delay_ms: float = 200.0
    max_endpointing_delay_ms: float = 2100.0
    judges: bool = False
    """Whether there are turn judges that go by words."""
    max_speculative_replies: int = 3
    """Speculative replies in a turn; 0: none."""
    max_speculative_tokens: int = 300
    """Pieces that a turn's speculative replies may cost; beyond that none is begun."""
    busy_load: float = 0.8
    """From this load on nothing is begun that may be thrown away."""
    max_chunks: int = 6
    """Pieces of documents that a turn's prompt takes in, and …"""
    max_chunk_characters: int = 4000
    """… their characters."""
    long_history_tokens: int = 6000
    """By estimate; of a longer history the older half is left out or summed up. 0: never."""
    summarise: bool = False
    manners: Manners = EAGER
    """What the agent's voice does while the caller speaks over it."""
    overlap_ms: float = 1500.0
    """Speech over the agent's that is not understood for this long takes the floor."""


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


class State(Struct, frozen=True):
    """A call between two events."""

    rules: Rules
    spoken: SpokenLanguage = SpokenLanguage()
    """The caller's language."""
    phase: Phase = Phase.NEW
    history: tuple[Message, ...] = ()
    """What was said, without the system message. An assistant's text is what was heard."""
    summary: str = ""
    """Of what was said before."""
    summarising: int = 0
    """So many of the oldest messages are being summed up."""
    summarised: str | None = None
    """And this came of it; it waits for the turn to end."""
    unanswered: str = ""
    """The caller's words that no message in the history holds yet."""
    context: tuple[Chunk, ...] = ()
    """What was found for them and for the open utterance, in the order in which it came."""
    refusal: Refusal | None = None
    """Set where the input guard withheld some of them."""
    utterance_id: int = -1
    """The caller's latest utterance."""
    partial: str = ""
    """Its words so far."""
    stable: str = ""
    """Those that will not change."""
    onset_ms: float = 0.0
    """When it began."""
    pause: Pause | None = None
    """Set while it is silent."""
    asked_ms: float = 0.0
    """When the caller ended what is to be answered."""
    awaiting_final: frozenset[int] = frozenset()
    """Utterances that were endpointed and whose final transcript is still to come."""
    turn: int = 0
    reply: Reply | None = None
    """The live reply, speculative or not. There is never more than one."""
    voice: Literal["full", "ducked", "paused"] = "full"
    """How the reply is said while the caller speaks over it, or has just done so."""
    speculative_replies: int = 0
    """Speculative replies that were begun since the last reply."""
    speculative_tokens: int = 0
    """And what those that were thrown away cost."""
    speculative_calls: tuple[SpeculativeToolCall, ...] = ()
    """Of the caller's turn, until its reply is over."""
    next_speculative_id: int = 1
    predicted: tuple[str, str] | None = None
    """The tool, and its arguments normalised, that was predicted last."""
    confirming: ToolCall | None = None
    """What the caller was asked to confirm."""
    fillers_said: int = 0
    cancelling: Reply | None = None
    """The reply that was cancelled and whose `PlayoutStopped` is still to come."""
    next_reply: NextReply | None = None
    unheard_text: str = ""
    """What the caller has not heard of the reply that the open utterance interrupted."""
    next_reply_id: int = 1
    timers: frozenset[str] = frozenset()
    check_ins: int = 0
    ending: str = ""
    """Set while a farewell is being said: the reason with which the call ends after it."""
