"""The turns that the endpointer is fitted to and judged on: what is held out stays out, and they are heard as a call
hears them."""

from __future__ import annotations

import itertools
import random
from itertools import islice

import numpy as np
import pytest

from bench.curve_plot import Curve, plot
from bench.endpointing_demo import silences
from models.train import endpoint_hear
from models.train.endpoint_hear import HeardPause, HeardTurn, bundled_whisper, hear_turn, spoken_turns
from models.train.endpoint_score import score
from models.train.endpoint_speak import voices
from models.train.endpoint_turns import LONGEST_PAUSE_MS, Part, draw_turn
from voiceagent.call import hearing
from voiceagent.turn_taking.endpointing import EndpointingDelays, PauseEvidence, Prosody

PARTS: tuple[Part, ...] = ("fit", "tune", "held_out")


def pause(at_ms: float, lasted_ms: float, *, is_end: bool, words: str = "What time is it?") -> HeardPause:
    return HeardPause(words, words, 900.0, 1.0, 0.0, at_ms, 100.0, lasted_ms, 5.0, is_end)


def test_no_voice_is_in_two_parts() -> None:
    fit, tune, held_out = (set(voices(part)) for part in ("fit", "tune", "held_out"))
    assert not fit & tune
    assert not fit & held_out
    assert not tune & held_out


def test_no_sentence_of_a_part_is_said_in_another() -> None:
    rng = random.Random(4)
    said = {part: {" ".join(unit.written for unit in draw_turn(rng, part).units) for _ in range(400)} for part in PARTS}
    for one, other in itertools.combinations(PARTS, 2):
        assert not {text for text in said[one] & said[other] if len(text.split()) > 3}


def test_a_spoken_turn_holds_its_pauses_and_they_are_heard() -> None:
    found = next(pair for pair in spoken_turns("tune", 11) if pair[0].pauses)
    turn, spoken = found
    assert sum(p.length_ms for p in turn.pauses) <= LONGEST_PAUSE_MS * len(turn.pauses)
    assert spoken.word_ends_ms == tuple(sorted(spoken.word_ends_ms))
    assert spoken.end_ms == pytest.approx(spoken.word_ends_ms[-1], abs=400)
    assert np.abs(spoken.audio).max() > 1000


async def test_the_true_end_of_a_turn_is_one_of_its_pauses() -> None:
    engine = bundled_whisper()
    try:
        heard = [await hear_turn(engine, turn, spoken) for turn, spoken in islice(spoken_turns("fit", 21), 6)]
    finally:
        await engine.close()
    spoken_of = [turn for turn in heard if turn.pauses]
    assert len(spoken_of) >= 4
    for turn in spoken_of:
        assert turn.pauses[-1].is_end
        assert turn.pauses[-1].lasted_ms > 2000
        assert turn.pauses[-1].at_ms == pytest.approx(turn.end_ms + 100, abs=250)


def test_hearing_is_that_of_a_call() -> None:
    for name in ("FRAME_MS", "PAUSE_MS", "PREROLL_MS", "PROSODY_FRAMES", "SAMPLES_PER_MS"):
        assert getattr(endpoint_hear, name) == getattr(hearing, name)


def test_a_rule_that_ends_a_turn_in_a_pause_cuts_it_off() -> None:
    turn = HeardTurn("", "What time is it?", 2000.0, (pause(1000, 700, is_end=False), pause(2100, 3000, is_end=True)))
    hasty, patient = (score([turn], lambda *_, ms=ms: EndpointingDelays(0.0, ms)) for ms in (300.0, 800.0))
    assert hasty.cut_off == 1.0
    assert patient.cut_off == 0.0
    assert patient.median_ms == 800.0
    assert patient.begun_median_ms == 120.0
    assert patient.wasted_a_turn == 1.0


def test_another_detectors_silences_are_pauses_too() -> None:
    turn = HeardTurn("", "", 200.0, ())
    found = silences(turn, [False, True, False, False, True, True, False, False, False], 32.0).pauses
    assert [(p.at_ms, p.lasted_ms, p.is_end) for p in found] == [(96.0, 64.0, False), (224.0, 96.0, True)]


def test_the_plot_is_an_svg_with_every_curve() -> None:
    drawn = plot([Curve("ours", [(200.0, 5.0), (300.0, 3.0)]), Curve("theirs", [(400.0, 30.0)])], (250.0, 4.0), (350.0, 5.0))
    assert drawn.startswith("<svg")
    assert "ours" in drawn
    assert "theirs" in drawn


def test_the_evidence_of_a_pause_is_the_endpointers() -> None:
    assert pause(100, 200, is_end=True).evidence("Why?") == PauseEvidence("What time is it?", "Why?", 900.0, Prosody(1.0, 0.0))
