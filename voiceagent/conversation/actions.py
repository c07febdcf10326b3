"""The turn engine's requests: what it wants done. `voiceagent/call` carries actions out and feeds the results back as events.
`Notice`s are the actions that tell the client something."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from voiceagent.conversation.history import Message
from voiceagent.conversation.rules import Degradation, ReplyRules
from voiceagent.turn_taking.patience import ExpectedValue


class Action(Struct, frozen=True):
    """Base of all actions."""


class Transcribe(Action, frozen=True):
    """Decode the whole utterance, in a pause or after its endpoint. Answered by `FinalTranscript`, unless speech resumes."""

    utterance_id: int


class ExpectValue(Action, frozen=True):
    """The agent asked for such a value, and the utterance that has just begun may be it."""

    utterance_id: int
    value: ExpectedValue


class JudgeTurn(Action, frozen=True):
    """The words up to the pause are known. Ask the turn judges that go by words whether the caller has finished. Each may answer
    with `TurnJudged`. The judges that go by sound begin with the pause."""

    utterance_id: int
    pause_id: int
    messages: tuple[Message, ...]
    """The next prompt if these were all words. The last message is the caller's."""


class LanguageChanged(Action, frozen=True):
    """The caller speaks another language now. Recognise and speak this one."""

    language: str
    """The language's code."""


class SetEndpointing(Action, frozen=True):
    """Report the open utterance's silence: `SilenceReached` after `eager_ms`, `Endpoint` after `endpoint_ms`. Both count received
    audio since the last voiced sample. They apply until speech resumes."""

    utterance_id: int
    eager_ms: float
    endpoint_ms: float


class DiscardUtterance(Action, frozen=True):
    """The open utterance needs no answer (a cough, an "mm-hm"). Forget it; further speech is a new utterance."""

    utterance_id: int


class Prefill(Action, frozen=True):
    """Have the language model read the known part of the next prompt. A later `Prefill` or `Generate` replaces it. With
    `predict_for`, the id of the open utterance, it is also asked which tools it would call. It may answer with
    `ToolPredicted`."""

    messages: tuple[Message, ...]
    predict_for: int | None = None


class Generate(Action, frozen=True):
    """Run the language model. Answered by `TextDelta` and `ToolCallRequested`, then `GenerationDone`, `GenerationFailed` or
    `OutputBlocked`."""

    reply_id: int
    messages: tuple[Message, ...]
    speculative: bool = False
    """True if the result may be discarded. Other work then goes first."""
    rules: ReplyRules | None = None
    """Rules of this reply, if there are any."""


class EndGeneration(Action, frozen=True):
    """Stop the reply's generation. What was generated stays; nothing more of it is wanted."""

    reply_id: int


class Summarise(Action, frozen=True):
    """Have the language model summarise the beginning of the conversation in the background. Answered by one `Summarised`."""

    messages: tuple[Message, ...]
    handoff: int = 0
    """The handoff that it is for; 0: for none."""
    timeout_ms: float = 30_000.0


class RunTool(Action, frozen=True):
    """Run a tool. Answered by exactly one `ToolFinished`."""

    reply_id: int
    call_id: str
    name: str
    arguments: str


class CancelTool(Action, frozen=True):
    """Cancel a tool without effect that ran on after its reply. Nothing needs its result any more."""

    reply_id: int
    call_id: str


class RunSpeculativeTool(Action, frozen=True):
    """Run a tool without effect before its turn is committed. Answered by `SpeculativeToolFinished`, unless it is cancelled."""

    speculative_id: int
    name: str
    arguments: str


class CancelSpeculativeTool(Action, frozen=True):
    """Cancel a speculative tool call. Nothing needs its result any more."""

    speculative_id: int


class SpeculativeToolEnded(Action, frozen=True):
    """A speculative tool call was used by a reply, or was not. For the metrics only."""

    speculative_id: int
    name: str
    used: bool
    saved_ms: float
    """Time from its beginning until the reply asked for it; at most the duration of the run."""


class Speak(Action, frozen=True):
    """Synthesise a clause and queue it behind the reply's earlier ones. Answered by `ClauseAudio` or `ClauseFailed`."""

    reply_id: int
    clause: int
    text: str


class CancelReply(Action, frozen=True):
    """Cancel all work for the reply and send no further frame of it. Answered by exactly one `PlayoutStopped`."""

    reply_id: int
    keeps: tuple[str, ...] = ()
    """The ids of the calls whose tools run on although they have no effect. Tools with effects always run on."""


class PauseReply(Action, frozen=True):
    """Send no frame of the reply for now. Synthesised audio waits in the queue."""

    reply_id: int


class Attenuate(Action, frozen=True):
    """Change the reply's level by so many dB, at once and without a click. 0 is full level."""

    reply_id: int
    gain_db: float


class Attend(Action, frozen=True):
    """The caller speaks over the reply. Report what is heard of the utterance frame by frame (`OverlapHeard`), and decode it
    sooner."""

    utterance_id: int


class ResumeReply(Action, frozen=True):
    """Send the paused reply at full level, from the sample at which it was paused. If `clause` is given, go back to `from_ms` of
    that clause's audio, the beginning of the cut word. The cue, if there is one, is said first. It is no part of the reply."""

    reply_id: int
    clause: int = -1
    from_ms: float = 0.0
    cue: str = ""


class EndClauseAt(Action, frozen=True):
    """Send nothing of the clause after `end_ms` of its audio, because the answer is ready."""

    reply_id: int
    clause: int
    end_ms: float


class SpeculationEnded(Action, frozen=True):
    """A speculative reply was kept or discarded. For the metrics only."""

    reply_id: int
    outcome: str
    """`kept`, or why it was not: `resumed` (the caller spoke on), `changed` (other words were committed), `failed`, `ended`."""
    tokens: int
    """Number of tokens the language model generated for it."""


class GuardHit(Action, frozen=True):
    """A guard's line is said instead of the language model's text (`output`) or instead of an answer (`input`). For the metrics
    only."""

    reply_id: int
    direction: str
    rule: str


class SetTimer(Action, frozen=True):
    """Start or restart the named timer. Answered by `TimerFired`, unless it is cleared."""

    name: str
    due_ms: float
    """On the call's clock."""


class ClearTimer(Action, frozen=True):
    """Stop the named timer."""

    name: str


class Transfer(Action, frozen=True):
    """Transfer the caller to a person. `events.TransferFailed` is the answer where that fails; else the call ends."""

    to: str = ""
    """The person's name in the settings. Empty: the person for callers who ask for one."""


class End(Action, frozen=True):
    """End the call and free its resources."""

    reason: str
    detail: str = ""
    """The agent's own words for the reason."""


class Notice(Action, frozen=True):
    """Base of the actions that tell the client something."""


class AgentChanged(Action, frozen=True):
    """Another agent has taken over: think, speak and check by its settings from now on."""

    agent: str
    """Its name in `Rules.agents`."""
    summary: bool
    """True if it reads a summary of what was said."""


class StepChanged(Notice, frozen=True):
    """The call is in another step of the agent's graph now."""

    step: str


class Degraded(Notice, frozen=True):
    """The call goes without these from now on, to keep the latency budgets. Empty: it is as usual."""

    degradations: tuple[Degradation, ...]


ValueStage: TypeAlias = Literal["collecting", "heard", "confirmed", "given_up"]


class ValueCollected(Notice, frozen=True):
    """A value that the turn engine collects has reached a stage: it is asked for, it is read back, it is known, or it is given
    up."""

    name: str
    """A value of the step, or `tool.parameter`."""
    stage: ValueStage
    value: str = ""
    """Empty: none is known."""
    kind: str = ""
    most_keys: int = 0
    """Most keys by which it may be keyed in at a telephone; 0: it cannot be."""


class CallerStarted(Notice, frozen=True):
    """The caller began to speak; `onset_ms` on the call's clock."""

    utterance_id: int
    onset_ms: float


class CallerCommitted(Notice, frozen=True):
    """The client ended the caller's turn by hand."""

    utterance_id: int
    onset_ms: float


class CallerIdle(Notice, frozen=True):
    """The caller has said nothing for the time after which the client wants the agent to speak again."""

    since_ms: float


class CallerStopped(Notice, frozen=True):
    """The caller's utterance was endpointed."""

    utterance_id: int
    speech_end_ms: float


class CallerPartial(Notice, frozen=True):
    """Words of the open utterance so far."""

    utterance_id: int
    stable: str
    unstable: str


class CallerFinal(Notice, frozen=True):
    """The utterance's committed text; empty when no words were found."""

    utterance_id: int
    text: str


AnswerToNoWords: TypeAlias = Literal["phrase", "apology", "offer", "check_in", "nothing"]


class NotUnderstood(Notice, frozen=True):
    """The utterance sounds like a turn, and no word of it was understood. `times` is how many such turns have come in a row."""

    utterance_id: int
    times: int
    answer: AnswerToNoWords
    """The agent's answer: that it has not understood, that something went wrong, the offer of a person, whether the caller is
    still there, or nothing."""


class ReplyStarted(Notice, frozen=True):
    """A reply began. `turn` counts the caller's turns from 1; 0 is a reply that no turn asked for (the greeting)."""

    reply_id: int
    turn: int
    key: str = ""
    """The client's name for the wish that it fulfils."""
    text_only: bool = False
    is_detached: bool = False


class ReplyCounted(Notice, frozen=True):
    """The tokens of a reply that is about to end: an estimate, where the language model's engine did not count them."""

    reply_id: int
    prompt_tokens: int
    tokens: int
    cached_tokens: int | None = None
    """Tokens of its prompts that were not read again. None: it is not known."""


class ReplyText(Notice, frozen=True):
    """A clause was handed to synthesis."""

    reply_id: int
    clause: int
    text: str


class ReplyHeard(Notice, frozen=True):
    """The caller heard more of the reply. `heard` is all of it so far, to the word. It is empty while the first word is being
    sent."""

    reply_id: int
    heard: str


class ReplyCorrected(Notice, frozen=True):
    """The client has played less of a reply that is over than was taken for heard: this much of its audio."""

    reply_id: int
    heard: str
    played_ms: float


class ToolStarted(Notice, frozen=True):
    """A tool was called."""

    reply_id: int
    call_id: str
    name: str
    arguments: str


class ToolEnded(Notice, frozen=True):
    """A tool ended."""

    reply_id: int
    call_id: str
    name: str
    output: str
    ok: bool


class ReplyEnded(Notice, frozen=True):
    """The reply is over. `status` is completed, interrupted, cancelled, incomplete
    (it has reached its limit of tokens) or failed. `heard` and `unheard` together are its text."""

    reply_id: int
    status: str
    heard: str
    unheard: str


class Failure(Notice, frozen=True):
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
    | EndGeneration
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
    | Transfer
    | End
    | AgentChanged
    | Notice
)
"""All actions. `Call` carries each of them out."""
