"""Who waited for whom, from spans alone. Every order of two sides' speech gives times that add up."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.analysis.conversation_times import conversation_times
from voiceagent.analysis.speech_spans import JOIN_S, SpeechSpan

EDGES = st.lists(st.integers(0, 2000), max_size=40, unique=True).map(sorted)


def side(edges: list[int]) -> list[SpeechSpan]:
    """Spans between every other edge, in tenths of a second, which no gap within a side is shorter than."""
    spans = [SpeechSpan(start / 10, end / 10) for start, end in zip(edges[::2], edges[1::2], strict=False)]
    return [span for before, span in pairwise((SpeechSpan(-1, -1), *spans)) if span.start_s - before.end_s >= JOIN_S]


@given(EDGES, EDGES)
def test_the_whole_is_speech_and_silence(caller_edges: list[int], agent_edges: list[int]) -> None:
    caller, agent = side(caller_edges), side(agent_edges)
    times = conversation_times(caller, agent)
    spans = (*caller, *agent)
    whole_s = max((span.end_s for span in spans), default=0.0) - min((span.start_s for span in spans), default=0.0)
    added_s = times.caller_s + times.agent_s + (sum(times.silences_ms) - sum(times.overlaps_ms)) / 1000
    assert added_s == pytest.approx(whole_s)
    assert all(turn.response_ms >= 0 for turn in times.turns)
    assert len(times.turns) + len(times.cut_ins) <= len(agent)
    assert all(one.stop_ms is None or one.stop_ms > 0 for one in times.interruptions)


def test_a_backchannel_within_a_reply_is_no_turn() -> None:
    caller = [SpeechSpan(0, 2), SpeechSpan(5, 5.4)]
    agent = [SpeechSpan(2.5, 6), SpeechSpan(6.3, 12)]
    times = conversation_times(caller, agent)
    assert [(turn.caller_end_s, turn.response_ms) for turn in times.turns] == [(2, 500)]
    assert [one.onset_s for one in times.interruptions] == [5]
