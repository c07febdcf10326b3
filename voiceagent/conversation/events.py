"""The events of a call: what can happen to it. `machine.step` takes one event after the other. Each event carries its own time,
so that a recorded call replays to the same decisions. `at_ms` is on the call's clock: monotonic milliseconds since the call
began."""

from __future__ import annotations

from msgspec import Struct

from voiceagent.conversation.history import Chunk, Message, ToolCall
from voiceagent.conversation.rules import Degradation, EndpointingRules, MemoryRules, ReplyRules, ReplyWish, TurnRules
from voiceagent.turn_taking.endpointing import Prosody


class Event(Struct, frozen=True):
    """Base of all events."""

    at_ms: float


class CallStarted(Event, frozen=True):
    """The first leg is up: audio can flow both ways."""

    today: str = ""
    """The date at the server, as ISO 8601 writes it."""


class HangUp(Event, frozen=True):
    """The call must end: the caller hung up, the leg was lost, or the server stops. `reason` is a slug."""

    reason: str


class HeardUntil(Struct, frozen=True):
    """A place in a reply. Of what was sent beyond it, in this reply and later ones, the caller has heard nothing."""

    reply_id: int
    clause: int
    played_ms: float


class ConnectionLost(Event, frozen=True):
    """The caller's connection broke, and may come back."""

    heard: HeardUntil | None = None
    """None: all that was sent was heard."""
    alive_ms: float | None = None
    """The caller's last sign of life. None: there is none to go by."""


class CallerReturns(Event, frozen=True):
    """The caller, whose connection is lost, has presented its token. Its new connection is not up yet."""


class ConnectionResumed(Event, frozen=True):
    """The caller has a connection again."""

    heard: HeardUntil | None = None
    """Set if the client got less than it was taken to have heard."""


class HandedOver(Event, frozen=True):
    """The server stops, and another one goes on with the call."""

    asks_again: bool = False
    """True if the caller is asked to say again what they are saying: nobody will know the words."""


class SpeechStarted(Event, frozen=True):
    """The caller began to speak (confirmed by the VAD). `utterance_id` rises by one with each utterance."""

    utterance_id: int
    onset_ms: float
    """Time at which the first voiced audio was received, on the call's clock."""


class SpeechPaused(Event, frozen=True):
    """The open utterance has just fallen silent. The silence may be a pause or the utterance's end."""

    utterance_id: int
    pause_id: int
    """Rises by one with each pause of the call."""
    speech_end_ms: float
    """Time at which the last voiced audio was received, on the call's clock."""
    voiced_ms: float
    """Speech of the utterance so far, pauses left out."""
    prosody: Prosody
    load: float = 0.0
    """Load of the engines: 0 is idle; at 1 there is no room for speculative work."""
    words_chance: float | None = None
    """The chance, 0 to 1, that the sound before the pause is words, and no cough, laugh or hum. None: it was not judged."""


class SpeechResumed(Event, frozen=True):
    """The caller spoke on after a pause. The pause held no endpoint."""

    utterance_id: int


class OverlapHeard(Event, frozen=True):
    """The speech and the silence of the open utterance so far, frame by frame. `actions.Attend` asks for it."""

    utterance_id: int
    voiced_ms: float
    """Speech so far, pauses left out."""
    silence_ms: float
    """Audio received since the last voiced sample."""
    words_chance: float | None = None
    """The chance, 0 to 1, that the sound so far is words, and no cough, laugh or hum. None: the sound was not judged."""


class TurnJudged(Event, frozen=True):
    """A turn judge has answered whether the caller has finished in this pause."""

    utterance_id: int
    pause_id: int
    judge: str
    """The judge's name."""
    chance: float | None
    """Probability, 0 to 1, that the caller has finished. None: the judge cannot tell, or failed."""
    took_ms: float = 0.0


class SilenceReached(Event, frozen=True):
    """The pause has lasted for the `eager_ms` of the last `SetEndpointing`."""

    utterance_id: int
    pause_id: int


class Endpoint(Event, frozen=True):
    """The pause has lasted for the `endpoint_ms` of the last `SetEndpointing`: the caller has finished the utterance."""

    utterance_id: int
    speech_end_ms: float
    """Time at which the last voiced audio was received, on the call's clock."""
    uplink_ms: float = 0.0
    """Wait of that audio between its packet's arrival and the VAD (jitter buffer and decode)."""
    vad_ms: float = 0.0
    """Duration of the VAD for it."""


class Transcript(Event, frozen=True):
    """A partial transcript of the open utterance: `stable` will not change, `unstable` may."""

    utterance_id: int
    stable: str
    unstable: str
    decode_ms: float = 0.0
    """Duration of the decode."""


class Refusal(Struct, frozen=True):
    """The input guard's reason to keep what the caller said from the language model."""

    rule: str
    """The name of the guard's rule."""
    line: str
    """The agent's line instead of an answer."""


class FinalTranscript(Event, frozen=True):
    """The text of the whole utterance up to its last pause. It is committed if the endpoint comes in that pause. It is empty when
    the audio held no words."""

    utterance_id: int
    text: str
    pause_id: int = 0
    refusal: Refusal | None = None
    """Set if the input guard withheld the words; `text` is then a note that says so."""
    guard_ms: float = 0.0
    """Duration of the input guard's check."""
    language: str = ""
    """The code of the language that the recogniser detected. Empty if it was given the language, or does not report one."""
    failed: bool = False
    """True if the recogniser failed. `text` is then the last partial transcript."""


class ContextFound(Event, frozen=True):
    """The documents hold these chunks about the words of the utterance so far."""

    utterance_id: int
    chunks: tuple[Chunk, ...]


class TextDelta(Event, frozen=True):
    """The language model produced text for a reply, and the output guard let it pass."""

    reply_id: int
    text: str
    tokens: int = 1
    """Number of the language model's tokens in it."""
    held_ms: float = 0.0
    """Wait of the first of these tokens for the check."""
    guard_ms: float = 0.0
    """Duration of the check."""
    may_call: bool = True
    """False if the language model was offered no tools."""


class ThoughtGenerated(Event, frozen=True):
    """A sign of life of the language model: it thinks, or writes a tool call. It comes at most once a second."""

    reply_id: int
    tokens: int = 1
    """Number of tokens it wrote since the last such event."""


class ToolCallBegun(Event, frozen=True):
    """The language model has begun to write a tool call. The text before it is complete."""

    reply_id: int


class ToolCallRequested(Event, frozen=True):
    """The language model asks for a tool. The call is complete. `arguments` is a JSON object as text."""

    reply_id: int
    call_id: str
    name: str
    arguments: str


class GenerationDone(Event, frozen=True):
    """The language model finished its current generation for the reply."""

    reply_id: int
    cut_short: bool = False
    """True if it was stopped at the reply's limit of tokens."""
    prompt_tokens: int = 0
    """The tokens of its prompt; 0 if the language model's engine did not count them."""
    tokens: int = 0
    """The tokens that it wrote, where those of the prompt were counted."""
    cached_tokens: int | None = None
    """Tokens of the prompt that were not read again. None if the engine does not tell."""


class GenerationFailed(Event, frozen=True):
    """The language model failed. This generation gives nothing more."""

    reply_id: int
    error: str


class OutputBlocked(Event, frozen=True):
    """The output guard stopped the generation. The agent says `line` instead of the rest. This generation gives nothing more."""

    reply_id: int
    rule: str
    line: str
    guard_ms: float = 0.0
    """Duration of the check."""


class ToolFinished(Event, frozen=True):
    """A tool ended. `output` is what the model reads: JSON text, also for an error."""

    reply_id: int
    call_id: str
    output: str
    ok: bool


class SpeculativeToolFinished(Event, frozen=True):
    """A tool that ran speculatively ended. The fields are those of `ToolFinished`."""

    speculative_id: int
    output: str
    ok: bool


class ToolPredicted(Event, frozen=True):
    """The language model predicts from the words of the utterance so far that it will call this tool."""

    utterance_id: int
    name: str
    arguments: str


class SpokenWord(Struct, frozen=True):
    """One word inside a clause's audio."""

    text: str
    start_ms: float
    end_ms: float


class ClauseAudio(Event, frozen=True):
    """Audio of a clause is about to enter the playout queue. This event comes before any `Played` of that audio."""

    reply_id: int
    clause: int
    duration_ms: float
    """Duration of the clause's audio so far, with this part."""
    words: tuple[SpokenWord, ...]
    """All words of the clause so far."""
    complete: bool = True
    """False when more audio of the clause follows."""


class ClauseFailed(Event, frozen=True):
    """The synthesis of a clause failed. The caller hears no more of it than was already sent."""

    reply_id: int
    clause: int
    error: str


class Played(Event, frozen=True):
    """The leg has sent the clause's audio up to `played_ms`, and all of the earlier clauses."""

    reply_id: int
    clause: int
    played_ms: float


class PlayoutStopped(Event, frozen=True):
    """The answer to `actions.CancelReply`. The leg sent the reply up to `played_ms` of this clause and sends no more of it.
    `clause` is -1 when nothing was sent."""

    reply_id: int
    clause: int
    played_ms: float


class TimerFired(Event, frozen=True):
    """A timer set by `actions.SetTimer` has run out."""

    name: str


class Summarised(Event, frozen=True):
    """The summary that `actions.Summarise` asked for; empty when it failed or was late."""

    text: str
    handoff: int = 0
    """See `actions.Summarise`."""


class TextReceived(Event, frozen=True):
    """The caller typed a message instead of speaking it (`conversation.item.create`)."""

    text: str
    refusal: Refusal | None = None
    """See `FinalTranscript`."""
    context: tuple[Chunk, ...] = ()
    """Passages of the documents about the message."""
    key: str = ""
    """The client's name for the message."""


class UtteranceCommitted(Event, frozen=True):
    """The client ended the caller's turn by hand: this utterance is one, and its words are to be found."""

    utterance_id: int
    onset_ms: float
    """Time at which its audio began, on the call's clock."""


class UtteranceCleared(Event, frozen=True):
    """The client wants the open utterance to be forgotten."""


class HistoryAdded(Event, frozen=True):
    """The client adds a message to the conversation, which needs no answer of its own."""

    message: Message
    key: str
    """The client's name for it."""
    behind: str | None = None
    """The key of the message behind which it is put. Empty: at the beginning. None: at the end."""
    confirming: ToolCall | None = None
    """The tool call that the message, which is the agent's, asks the caller to confirm."""


class HistoryRemoved(Event, frozen=True):
    """The client takes something out of the conversation."""

    key: str
    text: str = ""
    """The words of it, where the message holds others, too."""
    tool_call_id: str = ""
    """The reply's tool call that goes, with its result. Empty: all of it goes."""


class ReplyTruncated(Event, frozen=True):
    """The client has played this much of a reply, and no more."""

    reply_id: int
    played_ms: float


class ReplyRequested(Event, frozen=True):
    """The client asks for a reply now (`response.create`)."""

    wish: ReplyWish = ReplyWish()


class ReplyCancelled(Event, frozen=True):
    """The client asks to stop the current reply (`response.cancel`, `output_audio_buffer.clear`)."""


class InstructionsChanged(Event, frozen=True):
    """The client gave the agent new instructions (`session.update`). They apply from the next generation on."""

    instructions: str


class SettingsChanged(Event, frozen=True):
    """The client changed rules of the call. None: they stay."""

    endpointing: EndpointingRules | None = None
    turns: TurnRules | None = None
    replies: ReplyRules | None = None
    memory: MemoryRules | None = None


class Announce(Event, frozen=True):
    """Say this in place of whatever goes on, and go on after it."""

    text: str
    protected: bool = False
    """True if it is said to its end, whatever the caller says meanwhile."""
    greets: bool = False
    """True if it is a greeting that comes late. The first question follows it, as it follows a greeting."""


class PersonRequested(Event, frozen=True):
    """The caller asks for a person by a key."""


class TransferRequested(Event, frozen=True):
    """A tool has the caller transferred once the reply is over."""

    to: str
    """The person's name in the settings."""


class EndRequested(Event, frozen=True):
    """A tool or the operator has the call end once the reply is over, unless the caller objects."""

    detail: str = ""
    """Their words for the reason."""


class ProgressMade(Event, frozen=True):
    """A running tool has something for the caller to hear meanwhile."""

    reply_id: int
    call_id: str
    text: str
    speculative_id: int = -1
    """Set, in place of the reply and the call, if the tool began before its turn was committed."""


class DegradationChanged(Event, frozen=True):
    """The server's latency budgets ask calls to go without these from now on."""

    degradations: tuple[Degradation, ...]


class CallStateKept(Event, frozen=True):
    """Tools have changed what they keep of the call."""

    state: str
    """JSON text."""


class TransferFailed(Event, frozen=True):
    """Nobody has taken the call over that `actions.Transfer` asked for."""


class LastWords(Event, frozen=True):
    """Say this in place of whatever goes on, and end the call after it."""

    text: str
    reason: str
    """The reason for which the call ends, a slug."""


FRAMES = (Played, OverlapHeard)
"""These come for each frame of audio, and most of them cause no action."""
