"""What the turn engine wants done. `voiceagent/call` carries actions out and feeds the results back as events. `Notice`s are the
actions that tell the client something.

The file is long because it is the turn engine's whole vocabulary: a class of a few lines for each action."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from voiceagent.conversation.history import Message
from voiceagent.turn_taking.expected_value import ExpectedValue


@dataclass(frozen=True, slots=True)
class Action:
    """Base of all actions."""


@dataclass(frozen=True, slots=True)
class Transcribe(Action):
    """Decode the whole utterance, in a pause or after its endpoint. Answered by `FinalTranscript`, unless speech resumes."""

    utterance_id: int


@dataclass(frozen=True, slots=True)
class ExpectValue(Action):
    """The agent asked for such a value, and the utterance that has just begun may be it."""

    utterance_id: int
    value: ExpectedValue


@dataclass(frozen=True, slots=True)
class JudgeTurn(Action):
    """The words up to the pause are known. Ask the turn judges that go by words whether the caller has finished. Each may answer
    with `TurnJudged`. The judges that go by sound begin with the pause."""

    utterance_id: int
    pause_id: int
    messages: tuple[Message, ...]
    """The next prompt if these were all words. The last message is the caller's."""


@dataclass(frozen=True, slots=True)
class LanguageChanged(Action):
    """The caller speaks another language now. Recognise and speak this one."""

    language: str
    """The language's code."""


@dataclass(frozen=True, slots=True)
class SetEndpointing(Action):
    """Report the open utterance's silence: `SilenceReached` after `eager_ms`, `Endpoint` after `endpoint_ms`. Both count received
    audio since the last voiced sample. They apply until speech resumes."""

    utterance_id: int
    eager_ms: float
    endpoint_ms: float


@dataclass(frozen=True, slots=True)
class DiscardUtterance(Action):
    """The open utterance needs no answer (a cough, an "mm-hm"). Forget it; further speech is a new utterance."""

    utterance_id: int


@dataclass(frozen=True, slots=True)
class Prefill(Action):
    """Have the language model read the known part of the next prompt. A later `Prefill` or `Generate` replaces it. With
    `predict_for`, the id of the open utterance, it is also asked which tools it would call. It may answer with
    `ToolPredicted`."""

    messages: tuple[Message, ...]
    predict_for: int | None = None


@dataclass(frozen=True, slots=True)
class Generate(Action):
    """Run the language model. Answered by `TextDelta` and `ToolCallRequested`, then `GenerationDone`, `GenerationFailed` or
    `OutputBlocked`."""

    reply_id: int
    messages: tuple[Message, ...]
    speculative: bool = False
    """Whether the result may be discarded. Other work then goes first."""


@dataclass(frozen=True, slots=True)
class Summarise(Action):
    """Have the language model summarise the beginning of the conversation in the background. Answered by one `Summarised`."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class RunTool(Action):
    """Run a tool. Answered by exactly one `ToolFinished`."""

    reply_id: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CancelTool(Action):
    """Cancel a tool without effect that ran on after its reply. Nothing needs its result any more."""

    reply_id: int
    call_id: str


@dataclass(frozen=True, slots=True)
class RunSpeculativeTool(Action):
    """Run a tool without effect before its turn is committed. Answered by `SpeculativeToolFinished`, unless it is cancelled."""

    speculative_id: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class CancelSpeculativeTool(Action):
    """Cancel a speculative tool call. Nothing needs its result any more."""

    speculative_id: int


@dataclass(frozen=True, slots=True)
class SpeculativeToolEnded(Action):
    """A speculative tool call was used by a reply, or was not. For the metrics only."""

    speculative_id: int
    name: str
    used: bool
    saved_ms: float
    """How much earlier it began than the reply asked for it; at most the duration of the run."""


@dataclass(frozen=True, slots=True)
class Speak(Action):
    """Synthesise a clause and queue it behind the reply's earlier ones. Answered by `ClauseAudio` or `ClauseFailed`."""

    reply_id: int
    clause: int
    text: str


@dataclass(frozen=True, slots=True)
class CancelReply(Action):
    """Cancel all work for the reply and send no further frame of it. Answered by exactly one `PlayoutStopped`."""

    reply_id: int
    keeps: tuple[str, ...] = ()
    """The ids of the calls whose tools run on although they have no effect. Tools with effects always run on."""


@dataclass(frozen=True, slots=True)
class PauseReply(Action):
    """Send no frame of the reply for now. Synthesised audio waits in the queue."""

    reply_id: int


@dataclass(frozen=True, slots=True)
class Attenuate(Action):
    """Change the reply's level by so many dB, at once and without a click. 0 is full level."""

    reply_id: int
    gain_db: float


@dataclass(frozen=True, slots=True)
class Attend(Action):
    """The caller speaks over the reply. Report what is heard of the utterance frame by frame (`OverlapHeard`), and decode it
    sooner."""

    utterance_id: int


@dataclass(frozen=True, slots=True)
class ResumeReply(Action):
    """Send the paused reply at full level, from the sample at which it was paused. If `clause` is given, go back to `from_ms` of
    that clause's audio, the beginning of the cut word."""

    reply_id: int
    clause: int = -1
    from_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class EndClauseAt(Action):
    """Send nothing of the clause after `end_ms` of its audio, because the answer is ready."""

    reply_id: int
    clause: int
    end_ms: float


@dataclass(frozen=True, slots=True)
class SpeculationEnded(Action):
    """A speculative reply was kept or discarded. For the metrics only."""

    reply_id: int
    outcome: str
    """`kept`, or why it was not: `resumed` (the caller spoke on), `changed` (other words were committed), `failed`, `ended`."""
    tokens: int
    """How many tokens the language model generated for it."""


@dataclass(frozen=True, slots=True)
class GuardHit(Action):
    """A guard's line is said instead of the language model's text (`output`) or instead of an answer (`input`). For the metrics
    only."""

    reply_id: int
    direction: str
    rule: str


@dataclass(frozen=True, slots=True)
class SetTimer(Action):
    """Start or restart the named timer. Answered by `TimerFired`, unless it is cleared."""

    name: str
    due_ms: float
    """On the call's clock."""


@dataclass(frozen=True, slots=True)
class ClearTimer(Action):
    """Stop the named timer."""

    name: str


@dataclass(frozen=True, slots=True)
class PutThrough(Action):
    """Put the caller through to a person. `events.PutThroughFailed` is the answer where that fails; else the call ends."""


@dataclass(frozen=True, slots=True)
class End(Action):
    """End the call and free its resources."""

    reason: str


@dataclass(frozen=True, slots=True)
class Notice(Action):
    """Base of the actions that tell the client something."""


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


AnswerToNoWords: TypeAlias = Literal["phrase", "apology", "offer", "check_in", "nothing"]


@dataclass(frozen=True, slots=True)
class NotUnderstood(Notice):
    """The utterance sounds like a turn, and no word of it was understood. `times` is how many such turns have come in a row."""

    utterance_id: int
    times: int
    answer: AnswerToNoWords
    """What the agent says: that it has not understood, that something went wrong, the offer of a person, whether the caller is
    still there, or nothing."""


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
    """The caller heard more of the reply. `heard` is all of it so far, to the word. It is empty while the first word is being
    sent."""

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
    """The reply is over. `status` is completed, interrupted, cancelled or failed. `heard` and `unheard` together are its text."""

    reply_id: int
    status: str
    heard: str
    unheard: str


@dataclass(frozen=True, slots=True)
class Failure(Notice):
    """Something failed. `code` is a slug, `message` is one line."""

    code: str
    message: str


AnyAction: TypeAlias = (
    Transcribe
    | ExpectValue
    | JudgeTurn
    | LanguageChanged
    | SetEndpointing
    | DiscardUtterance
    | Prefill
    | Generate
    | Summarise
    | RunTool
    | CancelTool
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
    | PutThrough
    | End
    | Notice
)
"""All actions. What carries them out matches every one."""
