"""Splits a caller's wait for the first sound of a reply into contributions. They follow one another without gap or overlap, so
they add up to the wait. Work that ran beside other work counts only where it held the reply up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise


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
