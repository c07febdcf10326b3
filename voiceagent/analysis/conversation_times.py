"""The times of a conversation, out of who spoke when: responses, interruptions, overlaps and gaps. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from voiceagent.analysis.speech_spans import SpeechSpan

STOPPED_S = 0.3
"""A silence of the agent, within what it says, that counts as a stop."""
WENT_ON_S = 2.0
"""An agent that speaks so long after the caller's last word was not interrupted."""
ONE_TURN_S = 0.5
"""Speech of the caller that is closer belongs to one interruption."""


@dataclass(frozen=True, slots=True)
class AnsweredTurn:
    """The agent answered."""

    caller_end_s: float
    response_ms: float


@dataclass(frozen=True, slots=True)
class Interruption:
    """The caller began to speak while the agent spoke."""

    onset_s: float
    stop_ms: float | None
    """The onset → the agent's silence; None for an agent that went on, as over a backchannel."""


@dataclass(frozen=True, slots=True)
class CutIn:
    """The agent began to speak while the caller spoke."""

    onset_s: float
    overlap_ms: float


@dataclass(frozen=True, slots=True)
class ConversationTimes:
    """The measured times; lists in the order of the call."""

    turns: list[AnsweredTurn]
    interruptions: list[Interruption]
    cut_ins: list[CutIn]
    caller_gaps_ms: list[float]
    """The agent's end → the caller's next word."""
    silences_ms: list[float]
    """Nobody spoke, between speech."""
    overlaps_ms: list[float]
    """Both spoke."""
    caller_s: float
    agent_s: float


def conversation_times(caller: Sequence[SpeechSpan], agent: Sequence[SpeechSpan]) -> ConversationTimes:
    """The times between both sides' speech, each in order."""
    overlaps = [(max(a.start_s, c.start_s), min(a.end_s, c.end_s)) for a in agent for c in _near(caller, a) if _meet(a, c)]
    return ConversationTimes(
        turns=[AnsweredTurn(end_s, (start_s - end_s) * 1000) for end_s, start_s in _answers(caller, agent)],
        interruptions=_interruptions(caller, agent),
        cut_ins=_cut_ins(caller, agent),
        caller_gaps_ms=[(start_s - end_s) * 1000 for end_s, start_s in _answers(agent, caller)],
        silences_ms=_silences_ms(sorted((*caller, *agent), key=lambda span: span.start_s)),
        overlaps_ms=[(end_s - start_s) * 1000 for start_s, end_s in overlaps],
        caller_s=_length_s(caller),
        agent_s=_length_s(agent),
    )


def _answers(first: Sequence[SpeechSpan], second: Sequence[SpeechSpan]) -> list[tuple[float, float]]:
    """The end of each turn of the first side, and the start of the second's answer."""
    found, before_s, taken = [], 0.0, 0
    for span in second:
        while taken < len(first) and first[taken].end_s <= span.start_s:
            taken += 1
        speaks = taken < len(first) and first[taken].start_s < span.start_s
        if taken and not speaks and first[taken - 1].end_s > before_s:
            found.append((first[taken - 1].end_s, span.start_s))
        before_s = max(before_s, span.end_s)
    return found


def _cut_ins(caller: Sequence[SpeechSpan], agent: Sequence[SpeechSpan]) -> list[CutIn]:
    return [
        CutIn(span.start_s, (min(said.end_s, span.end_s) - span.start_s) * 1000)
        for before, span in pairwise((SpeechSpan(0.0, 0.0), *agent))
        for said in _near(caller, span)
        if before.end_s <= said.start_s < span.start_s
    ]


def _interruptions(caller: Sequence[SpeechSpan], agent: Sequence[SpeechSpan]) -> list[Interruption]:
    said, spoken = _joined(caller, ONE_TURN_S), _joined(agent, STOPPED_S)
    found = []
    for span in said:
        met = next((talk for talk in _near(spoken, span) if talk.start_s <= span.start_s < talk.end_s), None)
        if met:
            went_on = met.end_s > span.end_s + WENT_ON_S
            found.append(Interruption(span.start_s, None if went_on else (met.end_s - span.start_s) * 1000))
    return found


def _silences_ms(spans: Sequence[SpeechSpan]) -> list[float]:
    found, end_s = [], spans[0].end_s if spans else 0.0
    for span in spans:
        if span.start_s > end_s:
            found.append((span.start_s - end_s) * 1000)
        end_s = max(end_s, span.end_s)
    return found


def _joined(spans: Sequence[SpeechSpan], closer_s: float) -> list[SpeechSpan]:
    if not spans:
        return []
    apart = [0, *(i for i, (one, two) in enumerate(pairwise(spans), 1) if two.start_s - one.end_s >= closer_s), len(spans)]
    return [SpeechSpan(spans[first].start_s, spans[end - 1].end_s) for first, end in pairwise(apart)]


def _near(spans: Sequence[SpeechSpan], to: SpeechSpan) -> list[SpeechSpan]:
    return [span for span in spans if span.start_s < to.end_s and to.start_s < span.end_s]


def _meet(one: SpeechSpan, two: SpeechSpan) -> bool:
    return one.start_s < two.end_s and two.start_s < one.end_s


def _length_s(spans: Sequence[SpeechSpan]) -> float:
    return sum(span.end_s - span.start_s for span in spans)
