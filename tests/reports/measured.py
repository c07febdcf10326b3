"""Turns as a server measures them, with times drawn around means that a test chooses."""

from __future__ import annotations

import random
from collections.abc import Mapping

from voiceagent.latency.spans import Contribution, LegKind, Span, Stage, TurnFacts, TurnReport, Wait, WaitCause

MEANS_MS = {
    WaitCause.UPLINK: 12.0,
    WaitCause.VAD: 2.0,
    WaitCause.ENDPOINT: 320.0,
    WaitCause.STT_WAIT: 40.0,
    WaitCause.LLM_TTFT: 90.0,
    WaitCause.LLM_WRITING: 60.0,
    WaitCause.TTS_FIRST_AUDIO: 70.0,
    WaitCause.PLAYOUT: 10.0,
    WaitCause.OTHER: 3.0,
}


def turns(
    number: int,
    seed: int,
    more_ms: Mapping[WaitCause, float] = {},
    *,
    calls: int = 20,
    at: float = 1000.0,
    profile: str = "cpu",
    leg: LegKind = LegKind.WEBRTC,
    version: str = "1.0",
) -> list[TurnReport]:
    """Turns of so many calls; `more_ms` is added to parts of the wait."""
    drawn = random.Random(seed)
    return [
        _turn(drawn, f"rtc_{seed}_{i % calls}", i // calls + 1, more_ms, at + i, profile, leg, version) for i in range(number)
    ]


def _turn(
    drawn: random.Random,
    call: str,
    number: int,
    more_ms: Mapping[WaitCause, float],
    at: float,
    profile: str,
    leg: LegKind,
    version: str,
) -> TurnReport:
    pieces, spans, start_ms = [], [], 0.0
    for part, mean_ms in MEANS_MS.items():
        ms = drawn.gammavariate(4, mean_ms / 4) + more_ms.get(part, 0.0)
        pieces.append(Contribution(part, start_ms, ms))
        if part.value in Stage.__members__.values():
            spans.append(Span(Stage(part.value), start_ms, ms))
        start_ms += ms
    partial = Span(Stage.STT_PARTIAL, 0.0, 30.0 + drawn.random() * 5 + more_ms.get(WaitCause.GUARD, 0.0))
    wait = Wait(0.0, tuple(pieces))
    facts = TurnFacts("completed", prompt_tokens=300, tokens=20, kept=1, version=version, step="slot", jitter_in_ms=1.25)
    return TurnReport(call, number, at, profile, (partial, *spans), start_ms, None, leg, wait, facts)
