"""What the turn engine wants done. `call.py` carries actions out and feeds what comes of them back as events.
`Notice`s are the part of it that the client is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from voiceagent.conversation.history import Message


@dataclass(frozen=True, slots=True)
class Action:
    """Base of all actions."""


@dataclass(frozen=True, slots=True)
class Transcribe(Action):
    """Decode the whole utterance, in a pause or after its endpoint; answered by `FinalTranscript` unless speech resumes."""

    utterance_id: int


@dataclass(frozen=True, slots=True)
class JudgeTurn(Action):
    """The words up to the pause are known: let the turn judges that go by words say whether the caller has finished; answered by
    `TurnJudged`, or not. The judges that go by sound begin when the pause does."""

    utterance_id: int
    pause_id: int
    messages: tuple[Message, ...]
    """The next prompt, if these were all the words; the last message is the caller's."""


@dataclass(frozen=True, slots=True)
class LanguageChanged(Action):
    """The caller speaks another language now: hear and speak that."""

    language: str
    """Its code."""


@dataclass(frozen=True, slots=True)
class SetEndpointing(Action):
    """Report the open utterance's silence: `SilenceReached` once it has lasted `eager_ms`, `Endpoint` once `endpoint_ms`, counted
    in received audio since the last voiced sample. Holds until speech resumes."""

    utterance_id: int
    eager_ms: float
    endpoint_ms: float


@dataclass(frozen=True, slots=True)
class DiscardUtterance(Action):
    """The open utterance was nothing to answer (a cough, an "mm-hm"): forget it, what follows is a new one."""

    utterance_id: int


@dataclass(frozen=True, slots=True)
class Prefill(Action):
    """Let the language model read what is known of the next prompt; a later one, or a `Generate`, replaces it. With
    `predict_for`, the open utterance, it is asked as well which tools it would call: answered by `ToolPredicted`, or not."""

    messages: tuple[Message, ...]
    predict_for: int | None = None


@dataclass(frozen=True, slots=True)
class Generate(Action):
    """Run the language model; answered by `TextDelta`, `ToolCallRequested` …, then `GenerationDone` or `…Failed`."""

    reply_id: int
    messages: tuple[Message, ...]
    speculative: bool = False
    """Whether it may be thrown away: then others go first."""


@dataclass(frozen=True, slots=True)
class Summarise(Action):
    """Have the language model sum up the beginning of the conversation, beside all else; answered by one `Summarised`."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class RunTool(Action):
    """Run a tool; answered by exactly one `ToolFinished`."""

    reply_id: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class RunSpeculativeTool(Action):
    """Run a tool without effect before its turn is committed; answered by `SpeculativeToolFinished` unless cancelled."""

    speculative_id: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CancelSpeculativeTool(Action):
    """Nobody waits for it any more."""

    speculative_id: int


@dataclass(frozen=True, slots=True)
class SpeculativeToolEnded(Action):
    """A reply asked for a tool that ran speculatively, or none did. For the measurements only."""

    speculative_id: int
    name: str
    used: bool
    saved_ms: float
    """By so much earlier it ran than it was asked for, as far as its run lasted."""


@dataclass(frozen=True, slots=True)
class Speak(Action):
    """Synthesise a clause and queue it behind the reply's earlier ones; answered by `ClauseAudio` or `ClauseFailed`."""

    reply_id: int
    clause: int
    text: str


@dataclass(frozen=True, slots=True)
class CancelReply(Action):
    """Cancel all work for the reply and send no further frame of it; answered by exactly one `PlayoutStopped`."""

    reply_id: int


@dataclass(frozen=True, slots=True)
class PauseReply(Action):
    """Send no frame of the reply for now; what is synthesised queues up."""

    reply_id: int


@dataclass(frozen=True, slots=True)
class Attenuate(Action):
    """Say the reply softer by so much, at once and without a click; 0 is its full level."""

    reply_id: int
    gain_db: float


@dataclass(frozen=True, slots=True)
class Attend(Action):
    """The utterance is spoken over the reply: report what is heard of it frame by frame (`OverlapHeard`), and decode it
    sooner."""

    utterance_id: int


@dataclass(frozen=True, slots=True)
class ResumeReply(Action):
    """Send the paused reply at its full level, from the very sample at which it was paused; where `clause` names the one that was
    being sent, from `from_ms` of its audio, the beginning of the word that was cut."""

    reply_id: int
    clause: int = -1
    from_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class EndClauseAt(Action):
    """Send nothing of the clause beyond `end_ms` of its audio: something better is there to say."""

    reply_id: int
    clause: int
    end_ms: float


@dataclass(frozen=True, slots=True)
class SpeculationEnded(Action):
    """A speculative reply was kept or thrown away. For the measurements only."""

    reply_id: int
    outcome: str
    """`kept`; or why it was not: `resumed` (the caller spoke on), `changed` (other words were committed), `failed`, `ended`."""
    tokens: int
    """Pieces that the language model made for it until then."""


@dataclass(frozen=True, slots=True)
class GuardHit(Action):
    """A guard's line is said instead of what the language model wrote (`output`), or of an answer (`input`). For the
    measurements only."""

    reply_id: int
    direction: str
    rule: str


@dataclass(frozen=True, slots=True)
class SetTimer(Action):
    """Start, or start again, the named timer; answered by `TimerFired` unless cleared."""

    name: str
    due_ms: float
    """On the call's clock."""


@dataclass(frozen=True, slots=True)
class ClearTimer(Action):
    """Stop the named timer."""

    name: str


@dataclass(frozen=True, slots=True)
class End(Action):
    """Free everything of the call."""

    reason: str


@dataclass(frozen=True, slots=True)
class Notice(Action):
    """Base of what the client is told."""


@dataclass(frozen=True, slots=True)
class CallerStarted(Notice):
    """The caller began to speak; `onset_ms` on the call's clock."""

    utterance_id: int
    onset_ms: float


@dataclass(frozen=True, slots=True)
class CallerStopped(Notice):
    """The caller's utterance was endpointed."""

    utterance_id: int
    speech_end_ms: float


@dataclass(frozen=True, slots=True)
class CallerPartial(Notice):
    """Words of the open utterance so far."""

    utterance_id: int
    stable: str
    unstable: str


@dataclass(frozen=True, slots=True)
class CallerFinal(Notice):
    """The utterance's committed text; empty when no words were found."""

    utterance_id: int
    text: str


@dataclass(frozen=True, slots=True)
class ReplyStarted(Notice):
    """A reply began. `turn` counts the caller's turns from 1; 0 is a reply that no turn asked for (the greeting)."""

    reply_id: int
    turn: int


@dataclass(frozen=True, slots=True)
class ReplyText(Notice):
    """A clause was handed to synthesis."""

    reply_id: int
    clause: int
    text: str


@dataclass(frozen=True, slots=True)
class ReplyHeard(Notice):
    """More of the reply was heard: `heard` is all of it so far, to the word; nothing yet where the first word has only begun."""

    reply_id: int
    heard: str


@dataclass(frozen=True, slots=True)
class ToolStarted(Notice):
    """A tool was called."""

    reply_id: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolEnded(Notice):
    """A tool ended."""

    reply_id: int
    call_id: str
    name: str
    output: str
    ok: bool


@dataclass(frozen=True, slots=True)
class ReplyEnded(Notice):
    """The reply is over: `status` is completed, interrupted, cancelled or failed. `heard` + `unheard` is its text."""

    reply_id: int
    status: str
    heard: str
    unheard: str


@dataclass(frozen=True, slots=True)
class Failure(Notice):
    """Something failed and the caller was told so aloud; `code` is a slug, `message` one line."""

    code: str
    message: str


AnyAction: TypeAlias = (
    Transcribe
    | JudgeTurn
    | LanguageChanged
    | SetEndpointing
    | DiscardUtterance
    | Prefill
    | Generate
    | Summarise
    | RunTool
    | RunSpeculativeTool
    | CancelSpeculativeTool
    | SpeculativeToolEnded
    | Speak
    | CancelReply
    | PauseReply
    | Attenuate
    | Attend
    | ResumeReply
    | EndClauseAt
    | SpeculationEnded
    | GuardHit
    | SetTimer
    | ClearTimer
    | End
    | Notice
)
"""Each of them: whoever carries actions out matches all."""
