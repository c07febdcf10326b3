"""The stages of a turn and their measured intervals, and the contributions that a caller's wait for the first sound of a reply
is split into. Contributions follow one another without gap or overlap, so they add up to the wait. Work that ran beside other
work counts only where it held the reply up. `latency.turns` makes a `TurnReport` for every turn; the budgets are checked
against it, the store keeps it, the page draws it as a waterfall."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

# --- what a caller waits for ------------------------------------------------------------------------------------------


class WaitCause(StrEnum):
    """The causes of the parts of a wait, in the order in which a turn goes. A part whose value is also a `Stage` is the
    contribution of that stage to the wait."""

    UPLINK = "uplink"
    """The last voiced audio waited in the jitter buffer and was decoded."""
    VAD = "vad"
    """The voice detector judged it."""
    ENDPOINT = "endpoint"
    """The caller's silence had to last, because more speech might have followed."""
    STT_WAIT = "stt_wait"
    """The silence was long enough, and the words were still missing."""
    LLM_TTFT = "llm_ttft"
    """The language model had not written anything yet."""
    LLM_WRITING = "llm_writing"
    """The language model wrote, and the first clause or the tool calls were not complete."""
    GUARD = "guard"
    """The first clause was checked."""
    TOOL = "tool"
    """A tool ran."""
    TTS_FIRST_AUDIO = "tts_first_audio"
    """The first clause was synthesised."""
    HELD = "held"
    """The reply was ready, and was held back because the caller spoke."""
    PLAYOUT = "playout"
    """The first audio waited for its frame on the line."""
    OTHER = "other"
    """Nothing that is measured went on."""


PRECEDENCE = (
    *(WaitCause.UPLINK, WaitCause.VAD, WaitCause.ENDPOINT, WaitCause.STT_WAIT, WaitCause.HELD, WaitCause.PLAYOUT),
    *(WaitCause.TTS_FIRST_AUDIO, WaitCause.GUARD, WaitCause.LLM_WRITING, WaitCause.LLM_TTFT, WaitCause.TOOL),
)
"""The order in which causes of the same time count: the first of them held the reply up. Until the turn is over, the reply could
not be heard whatever was ready. After it, the cause nearest to the line counts: a language model that writes on behind the first
clause delays nothing."""


@dataclass(frozen=True, slots=True)
class WaitInterval:
    """An interval in which something was done for a turn, on the call's clock."""

    part: WaitCause
    start_ms: float
    end_ms: float


@dataclass(frozen=True, slots=True)
class Contribution:
    """One piece of a wait."""

    part: WaitCause
    start_ms: float
    """From the beginning of the wait."""
    duration_ms: float


@dataclass(frozen=True, slots=True)
class Wait:
    """A caller's wait for the first sound of a reply, and its causes."""

    began_ms: float
    """The end of the caller's speech, or the time of the request for a reply to a typed message, on the call's clock."""
    contributions: tuple[Contribution, ...]
    """In order of time."""
    typed: bool = False
    """True when the client asked for the reply, and not the caller's speech."""

    @property
    def duration_ms(self) -> float:
        """The whole wait: the sum of the contributions."""
        return sum(part.duration_ms for part in self.contributions)

    def totals_ms(self) -> dict[WaitCause, float]:
        """The contribution of each part, in the order of `WaitCause`."""
        sums = dict.fromkeys(WaitCause, 0.0)
        for piece in self.contributions:
            sums[piece.part] += piece.duration_ms
        return {part: ms for part, ms in sums.items() if ms > 0}


def split(began_ms: float, heard_ms: float, work: Iterable[WaitInterval]) -> tuple[Contribution, ...]:
    """The contributions to the wait from `began_ms` to `heard_ms`, the time of the first sound. Intervals of `work` may overlap
    and may reach beyond the wait. Time in which none of them ran is `WaitCause.OTHER`."""
    inside = [piece for piece in work if piece.end_ms > began_ms and piece.start_ms < heard_ms and piece.end_ms > piece.start_ms]
    edges = {began_ms, heard_ms} | {ms for piece in inside for ms in (piece.start_ms, piece.end_ms) if began_ms < ms < heard_ms}
    found: list[tuple[WaitCause, float, float]] = []
    for start_ms, end_ms in pairwise(sorted(edges)):
        running = {piece.part for piece in inside if piece.start_ms <= start_ms and piece.end_ms >= end_ms}
        part = next((part for part in PRECEDENCE if part in running), WaitCause.OTHER)
        if found and found[-1][0] is part:
            found[-1] = (part, found[-1][1], end_ms)
        else:
            found.append((part, start_ms, end_ms))
    return tuple(Contribution(part, start_ms - began_ms, end_ms - start_ms) for part, start_ms, end_ms in found)


@dataclass(frozen=True, slots=True)
class Responsible:
    """The owner of a part of a wait, and the setting that changes it."""

    owner: str
    """caller, network, machine, model, tool, guard, setting or unexplained."""
    setting: str
    """The setting or command that changes it; empty: none does."""


RESPONSIBLE = {
    WaitCause.UPLINK: Responsible("network", ""),
    WaitCause.VAD: Responsible("machine", "admission.max_calls"),
    WaitCause.ENDPOINT: Responsible("setting", "turn.manner"),
    WaitCause.STT_WAIT: Responsible("model", "stt, options.stt"),
    WaitCause.LLM_TTFT: Responsible("model", "llm, options.llm; shorter instructions"),
    WaitCause.LLM_WRITING: Responsible("model", "llm, options.llm; replies that begin with a short clause"),
    WaitCause.GUARD: Responsible("guard", "guard.output, guard.input"),
    WaitCause.TOOL: Responsible("tool", "the tool itself; turn.filler_after_ms; effect: none, so that it runs ahead"),
    WaitCause.TTS_FIRST_AUDIO: Responsible("model", "tts, options.tts"),
    WaitCause.HELD: Responsible("caller", "turn.overlap"),
    WaitCause.PLAYOUT: Responsible("machine", "admission.max_calls"),
    WaitCause.OTHER: Responsible("unexplained", ""),
}


# --- the stages of a turn ---------------------------------------------------------------------------------------------


class Stage(StrEnum):
    """A named step of a turn. The values are the keys of `latency_budgets.yaml` and of the wire protocol's turn events."""

    UPLINK = "uplink"
    """The last voiced audio: from its packet's arrival to its decoded frame (jitter buffer, decode)."""
    VAD = "vad"
    """From that frame to the VAD's verdict on it."""
    ENDPOINT = "endpoint"
    """From the end of speech to the decision that the caller has finished. It includes uplink and VAD, but not the wait for
    missing words (`stt_wait`)."""
    TURN_JUDGE = "turn_judge"
    """One turn judge's judgement of a pause, from its question to its answer; off the critical path."""
    STT_PARTIAL = "stt_partial"
    """One decode of the open utterance; off the critical path."""
    STT_FINAL = "stt_final"
    """From the pause in which the caller finished to its final transcript; off the critical path if it came in time."""
    STT_WAIT = "stt_wait"
    """From when the silence was long enough, or the endpoint came, to the words that were still missing then; 0 if none were
    missing."""
    LLM_TTFT = "llm_ttft"
    """From the request to the language model's first token or tool call."""
    LLM_INTER_TOKEN = "llm_inter_token"
    """The mean gap between pieces of a generation after the first; its span starts at the first piece."""
    GUARD = "guard"
    """The check of a clause of the reply before it may be spoken, or of what the caller said before it may be answered."""
    TOOL = "tool"
    """One tool's run; on the critical path of the turns that call one before they speak."""
    TTS_FIRST_AUDIO = "tts_first_audio"
    """From the first clause's hand-over to the synthesiser to its first audio."""
    PLAYOUT = "playout"
    """From that audio, or from the commit where the audio waited for the commit, to the first frame on the line."""
    ANSWER = "answer"
    """From the commit of the turn to the first frame of the reply on the line: the wait that remains once it is decided that the
    caller has finished."""
    VOICE_TO_VOICE = "voice_to_voice"
    """The whole: from the end of the caller's speech to the first frame of the reply on the line."""
    BARGE_IN_STOP = "barge_in_stop"
    """The whole: from the onset of the speech that interrupted a reply to the reply's last frame on the line. If the reply went
    on in between, that time is included. A typed message and a request to stop are no such speech."""


class LegKind(StrEnum):
    """The way by which a call came. The values stand behind a profile's name in `latency_budgets.yaml`, and in reports."""

    WEBRTC = "webrtc"
    WEBSOCKET = "websocket"
    TELEPHONE = "telephone"
    TEXT = "text"


WHOLES = (Stage.VOICE_TO_VOICE, Stage.BARGE_IN_STOP)
"""Stages that are measured from end to end; every other stage is a part."""

CRITICAL_PATH = (Stage.ENDPOINT, Stage.STT_WAIT, Stage.ANSWER)
"""The parts that follow one another in every spoken turn, in order; their sum cannot exceed voice_to_voice."""


@dataclass(frozen=True, slots=True)
class Span:
    """One measured interval of a turn. A stage may occur several times in a turn (partials, rounds of tools), or not at all."""

    stage: Stage
    start_ms: float
    """On the call's clock."""
    duration_ms: float


@dataclass(frozen=True, slots=True)
class TurnFacts:
    """The counts of a turn, and how its reply ended."""

    status: str = ""
    """`completed`, `interrupted`, `cancelled` or `failed`."""
    cut_off: bool = False
    """True if the caller spoke within `CUT_OFF_MS` of the reply's first sound, and the reply gave way: they had probably not
    finished."""
    prompt_tokens: int = 0
    tokens: int = 0
    tools: int = 0
    tools_failed: int = 0
    kept: int = 0
    """Speculative replies that became the answer."""
    discarded: int = 0
    """Speculative replies that did not."""
    wasted_tokens: int = 0
    """That the language model generated for those."""
    version: str = ""
    """The version of voiceagent that measured the turn."""
    step: str = ""
    """The agent's step in which the reply began; empty: the agent has none."""
    jitter_in_ms: float | None = None
    """That of the caller's packets since the turn before: the mean difference of the transit times of two that follow each other.
    None: the leg has no such packets."""
    jitter_out_ms: float | None = None
    """The same of the agent's packets, as they were handed to the network."""
    degraded: tuple[str, ...] = ()
    """The names of `Degradation`s under which the reply began."""


CUT_OFF_MS = 1000.0


@dataclass(frozen=True, slots=True)
class TurnReport:
    """The times of one turn's stages. Holds times only: no words, no audio."""

    call_id: str
    turn: int
    """Counts the caller's turns of the call from 1."""
    at: float
    """The end of the turn, in seconds since the Unix epoch."""
    profile: str
    spans: tuple[Span, ...]
    """The spans of the parts, in order of their start."""
    voice_to_voice_ms: float | None
    """None when nothing of the reply was heard, or when it answers a typed message."""
    barge_in_stop_ms: float | None
    """None when no speech interrupted the reply."""
    leg: LegKind = LegKind.WEBRTC
    """The kind of leg that the call came by."""
    wait: Wait | None = None
    """The caller's wait, from voice to voice or from a typed message on. None when nothing of the reply was heard."""
    facts: TurnFacts = TurnFacts()

    def durations_ms(self) -> dict[Stage, list[float]]:
        """Every measured duration of the turn by stage, including the wholes."""
        measured: dict[Stage, list[float]] = {}
        for span in self.spans:
            measured.setdefault(span.stage, []).append(span.duration_ms)
        if self.voice_to_voice_ms is not None:
            measured[Stage.VOICE_TO_VOICE] = [self.voice_to_voice_ms]
        if self.barge_in_stop_ms is not None:
            measured[Stage.BARGE_IN_STOP] = [self.barge_in_stop_ms]
        return measured
