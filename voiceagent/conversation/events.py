"""What can happen to a call. Events flow into `machine.step`; each carries its own time, so that a recorded call
replays to the same decisions. `at_ms` is the call's clock: milliseconds since the call began, monotonic."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.conversation.history import Chunk
from voiceagent.turn_taking.pause import Prosody


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""

    at_ms: float


@dataclass(frozen=True, slots=True)
class CallStarted(Event):
    """The first leg is up: audio can flow both ways."""


@dataclass(frozen=True, slots=True)
class HangUp(Event):
    """The call is to end: the caller hung up, the leg was lost, the server is stopping. `reason` is a slug."""

    reason: str


@dataclass(frozen=True, slots=True)
class SpeechStarted(Event):
    """The caller began to speak (confirmed by the VAD). `utterance_id` rises by one with each utterance."""

    utterance_id: int
    onset_ms: float
    """When the first voiced audio was received, on the call's clock."""


@dataclass(frozen=True, slots=True)
class SpeechPaused(Event):
    """The open utterance fell silent, a moment ago: a pause for breath or for thought, or its end."""

    utterance_id: int
    pause_id: int
    """Rises by one with each pause of the call."""
    speech_end_ms: float
    """When the last voiced audio was received, on the call's clock."""
    voiced_ms: float
    """Speech of the utterance so far, pauses left out."""
    prosody: Prosody
    load: float = 0.0
    """How busy the engines are: 0 idle, 1 no room for work that may be thrown away."""


@dataclass(frozen=True, slots=True)
class SpeechResumed(Event):
    """The caller spoke on after a pause: no endpoint came in it."""

    utterance_id: int


@dataclass(frozen=True, slots=True)
class OverlapHeard(Event):
    """Asked for by `actions.Attend`: the open utterance after one more frame."""

    utterance_id: int
    voiced_ms: float
    """Speech so far, pauses left out."""
    silence_ms: float
    """Audio received since the last voiced sample."""


@dataclass(frozen=True, slots=True)
class TurnJudged(Event):
    """A turn judge has said how likely it is that the caller has finished in this pause."""

    utterance_id: int
    pause_id: int
    judge: str
    """Its name."""
    chance: float
    """0 to 1."""
    took_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class SilenceReached(Event):
    """The pause has lasted for the `eager_ms` of the last `SetEndpointing`."""

    utterance_id: int
    pause_id: int


@dataclass(frozen=True, slots=True)
class Endpoint(Event):
    """The pause has lasted for the `endpoint_ms` of the last `SetEndpointing`: the caller has finished the utterance."""

    utterance_id: int
    speech_end_ms: float
    """When the last voiced audio was received, on the call's clock."""
    uplink_ms: float = 0.0
    """How long that audio waited between its packet's arrival and the VAD (jitter buffer, decode)."""
    vad_ms: float = 0.0
    """How long the VAD took over it."""


@dataclass(frozen=True, slots=True)
class Transcript(Event):
    """A partial transcript of the open utterance: `stable` will not change, `unstable` may."""

    utterance_id: int
    stable: str
    unstable: str
    decode_ms: float = 0.0
    """How long the decode behind it took."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the language model may not read what the caller said."""

    rule: str
    """The guard's, by name."""
    line: str
    """Said instead of an answer."""


@dataclass(frozen=True, slots=True)
class FinalTranscript(Event):
    """The text of the whole utterance up to its last pause, to be committed if the endpoint comes in that pause; empty when
    the audio held no words."""

    utterance_id: int
    text: str
    pause_id: int = 0
    refusal: Refusal | None = None
    """Set where the input guard withheld the words; `text` is a note of that then."""
    guard_ms: float = 0.0
    """How long the input guard took over it."""
    language: str = ""
    """What the recogniser takes it for, by its code; empty: it was told, or does not say."""


@dataclass(frozen=True, slots=True)
class ContextFound(Event):
    """Documents hold this about what the caller has said so far of the utterance."""

    utterance_id: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class TextDelta(Event):
    """The language model produced text for a reply, and the output guard let it pass."""

    reply_id: int
    text: str
    tokens: int = 1
    """Pieces of the language model's in it."""
    held_ms: float = 0.0
    """How long the first of them waited for its check."""
    guard_ms: float = 0.0
    """How long the check took."""


@dataclass(frozen=True, slots=True)
class ToolCallRequested(Event):
    """The language model asks for a tool; complete, never partial. `arguments` is a JSON object as text."""

    reply_id: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class GenerationDone(Event):
    """The language model finished its current generation for the reply."""

    reply_id: int


@dataclass(frozen=True, slots=True)
class GenerationFailed(Event):
    """The language model failed; nothing more comes for this generation."""

    reply_id: int
    error: str


@dataclass(frozen=True, slots=True)
class OutputBlocked(Event):
    """The output guard stopped the generation: `line` is to be said instead of what was to come. Nothing more comes of it."""

    reply_id: int
    rule: str
    line: str
    guard_ms: float = 0.0
    """How long the check took."""


@dataclass(frozen=True, slots=True)
class ToolFinished(Event):
    """A tool ended. `output` is what the model is told (JSON text, also for an error)."""

    reply_id: int
    call_id: str
    output: str
    ok: bool


@dataclass(frozen=True, slots=True)
class SpeculativeToolFinished(Event):
    """A tool that ran speculatively ended; the fields are those of `ToolFinished`."""

    speculative_id: int
    output: str
    ok: bool


@dataclass(frozen=True, slots=True)
class ToolPredicted(Event):
    """By what the caller has said so far of the utterance, this tool will be asked for."""

    utterance_id: int
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """One word inside a clause's audio."""

    text: str
    start_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class ClauseAudio(Event):
    """Audio of a clause is about to enter the playout queue: it comes before any `Played` of that audio."""

    reply_id: int
    clause: int
    duration_ms: float
    """Of the clause's audio so far, this piece included."""
    words: tuple[SpokenWord, ...]
    """All words of the clause so far."""
    complete: bool = True
    """False when more audio of the clause follows."""


@dataclass(frozen=True, slots=True)
class ClauseFailed(Event):
    """Synthesis of a clause failed: nothing more of it will be heard than was sent already."""

    reply_id: int
    clause: int
    error: str


@dataclass(frozen=True, slots=True)
class Played(Event):
    """The leg has really sent the clause's audio up to `played_ms` (all earlier clauses are wholly sent)."""

    reply_id: int
    clause: int
    played_ms: float


@dataclass(frozen=True, slots=True)
class PlayoutStopped(Event):
    """Answer to `actions.CancelReply`: nothing of the reply will be sent any more, and this much was.
    `clause` is -1 when nothing was."""

    reply_id: int
    clause: int
    played_ms: float


@dataclass(frozen=True, slots=True)
class TimerFired(Event):
    """A timer set by `actions.SetTimer` has run out."""

    name: str


@dataclass(frozen=True, slots=True)
class Summarised(Event):
    """The summary that `actions.Summarise` asked for; empty when it failed."""

    text: str


@dataclass(frozen=True, slots=True)
class TextReceived(Event):
    """The caller typed a message instead of speaking it (`conversation.item.create`)."""

    text: str
    refusal: Refusal | None = None
    """As in `FinalTranscript`."""
    context: tuple[Chunk, ...] = ()
    """What documents hold about it."""


@dataclass(frozen=True, slots=True)
class ReplyRequested(Event):
    """The client asks for a reply now (`response.create`)."""


@dataclass(frozen=True, slots=True)
class ReplyCancelled(Event):
    """The client asks to stop the current reply (`response.cancel`, `output_audio_buffer.clear`)."""


@dataclass(frozen=True, slots=True)
class InstructionsChanged(Event):
    """The client gave the agent new instructions (`session.update`); they hold from the next generation on."""

    instructions: str


@dataclass(frozen=True, slots=True)
class LastWords(Event):
    """Say this, whatever goes on, and end the call after it."""

    text: str
    reason: str
    """Why the call ends, a slug."""
