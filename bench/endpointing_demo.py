"""Endpoints on the demo's own grammar (`models/train/endpoint_turns.py`), heard by the bundled Whisper, without judges: ours,
which is fitted to none of it, and a fixed silence behind webrtcvad alone and behind Silero alone. Set (a) of
`bench/endpointing.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np
import webrtcvad
from numpy.typing import NDArray

from bench.harness import Figure
from models.train.endpoint_hear import HeardPause, HeardTurn, bundled_whisper, hear_turn, spoken_turns
from models.train.endpoint_score import Score, score
from voiceagent.settings.agent import TurnSettings
from voiceagent.turn_taking.endpointing import WITHOUT_JUDGES, EndpointingDelays, EndpointModel
from voiceagent.turn_taking.languages.en import ENGLISH
from voiceagent.vad.detector import WINDOW_SAMPLES, SileroStream

SEED = 20261123
PACK = Path(__file__).resolve().parents[1] / "examples" / "demo" / "endpointing.json"
"""The demo's own weights of the same features (`models/train/turns/fit.py --demo`)."""
TURNS = 800
MOST_CUT_OFF, MOST_MEDIAN_MS = 5.0, 350.0
RISK = (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)
"""Chances that ours takes."""
FIXED_MS = (100, 150, 200, 250, 300, 350, 400, 500, 600, 700, 800, 1000, 1200, 1400, 1600, 1800, 2000)
WEBRTC_MODE = 3
"""The quickest to call silence."""
WEBRTC_SAMPLES = 320
SILERO_SPEECH, SILERO_SILENCE = 0.5, 0.35
SAMPLES_PER_MS = 16
PERCENT = 100.0

Audio = NDArray[np.int16]


@dataclass(slots=True)
class Heard:
    """The held-out turns as each detector hears them."""

    ours: list[HeardTurn] = field(default_factory=list)
    webrtc: list[HeardTurn] = field(default_factory=list)
    silero: list[HeardTurn] = field(default_factory=list)


async def measure() -> Iterator[Figure]:
    """Set (a)'s figures: about three minutes."""
    heard = await hear()
    settings = TurnSettings()
    shortest_ms, longest_ms = settings.endpointing_delays_ms
    model = WITHOUT_JUDGES
    known = chances(model, heard.ours)

    def by(judge: EndpointModel) -> Score:
        return score(heard.ours, lambda _, pause: judge.delays_for(known[id(pause)], shortest_ms, longest_ms))

    pack = EndpointModel(**json.loads(PACK.read_text(encoding="utf-8")))
    known_to_pack = {
        id(p): pack.completeness(p.evidence(t.asked), ENGLISH) if p.words else 0.0 for t in heard.ours for p in t.pauses
    }
    own = score(heard.ours, lambda _, pause: pack.delays_for(known_to_pack[id(pause)], shortest_ms, longest_ms))
    ours = [by(replace(model, risk=risk)) for risk in RISK]
    webrtc, silero = ([fixed(turns, delay_ms) for delay_ms in FIXED_MS] for turns in (heard.webrtc, heard.silero))
    return figures(by(model), own, ours, webrtc, silero, heard)


async def hear() -> Heard:
    """Speak and hear the held-out turns."""
    heard = Heard()
    engine = bundled_whisper()
    try:
        for turn, spoken in islice(spoken_turns("held_out", SEED), TURNS):
            heard.ours.append(await hear_turn(engine, turn, spoken))
            silent = heard.ours[-1]
            heard.webrtc.append(silences(silent, webrtc_speech(spoken.audio), WEBRTC_SAMPLES / SAMPLES_PER_MS))
            heard.silero.append(silences(silent, silero_speech(spoken.audio), WINDOW_SAMPLES / SAMPLES_PER_MS))
    finally:
        await engine.close()
    return heard


def webrtc_speech(audio: Audio) -> list[bool]:
    """webrtcvad's answer for each 20 ms of mono 16 kHz audio."""
    detector = webrtcvad.Vad(WEBRTC_MODE)
    frames = audio[: len(audio) // WEBRTC_SAMPLES * WEBRTC_SAMPLES].reshape(-1, WEBRTC_SAMPLES)
    return [bool(detector.is_speech(frame.tobytes(), SAMPLES_PER_MS * 1000)) for frame in frames]


def silero_speech(audio: Audio) -> list[bool]:
    """Silero's answer for each 32 ms, with the two thresholds its authors use."""
    stream, speaking, found = SileroStream(), False, []
    windows = audio[: len(audio) // WINDOW_SAMPLES * WINDOW_SAMPLES].reshape(-1, WINDOW_SAMPLES).astype(np.float32) / 32768
    for window in windows:
        speaking = stream.probability(window) >= (SILERO_SILENCE if speaking else SILERO_SPEECH)
        found.append(speaking)
    return found


def silences(turn: HeardTurn, speech: list[bool], step_ms: float) -> HeardTurn:
    """The turn with the silences that a detector finds in it instead of ours; nothing is known about them but their length."""
    pauses: list[HeardPause] = []
    began: int | None = None
    for index, speaking in enumerate([*speech, True]):
        if not speaking and began is None and any(speech[:index]):
            began = index
        elif speaking and began is not None:
            at_ms, is_last = (began + 1) * step_ms, index == len(speech)
            lasted_ms = (index - began) * step_ms
            pauses.append(HeardPause("", "", 0.0, None, 0.0, at_ms, step_ms, lasted_ms, 0.0, is_last or at_ms >= turn.end_ms))
            began = None
    return replace(turn, pauses=tuple(pauses))


def fixed(turns: list[HeardTurn], delay_ms: float) -> Score:
    """A fixed silence ends every turn."""
    return score(turns, lambda _, pause: EndpointingDelays(delay_ms, delay_ms))


def chances(model: EndpointModel, turns: list[HeardTurn]) -> dict[int, float]:
    """Returns the probability that a model gives every pause, by the pause's id; 0 without words, as in a call."""
    found = ((turn.asked, pause) for turn in turns for pause in turn.pauses)
    return {id(pause): model.completeness(pause.evidence(asked), ENGLISH) if pause.words else 0.0 for asked, pause in found}


def figures(
    chosen: Score, own: Score, ours: list[Score], webrtc: list[Score], silero: list[Score], heard: Heard
) -> Iterator[Figure]:
    """The table."""
    hesitant = [turn for turn in heard.ours if any(hesitates(pause) for pause in turn.pauses)]
    yield Figure("(a) turns", chosen.turns, "", "", True)
    yield Figure("(a) turns with a hesitation of 200 ms or more", len(hesitant), "", "", True)
    for name, found in (("as it runs", chosen), ("with the demo's pack", own)):
        yield Figure(f"(a) {name}: false cutoffs", PERCENT * found.cut_off, "%", "", True)
        yield Figure(f"(a) {name}: p50", found.median_ms, "ms", "", True)
        yield Figure(f"(a) {name}: mean", found.mean_ms, "ms", "", True)
        yield Figure(f"(a) {name}: p90", found.p90_ms, "ms", "", True)
        yield Figure(f"(a) {name}: speculative replies thrown away a turn", found.wasted_a_turn, "", "", True)
    yield Figure("(a) turns not heard", chosen.missed, "", "", True)
    for name, scores in (("voiceagent", ours), ("Silero, fixed silence", silero), ("webrtcvad, fixed silence", webrtc)):
        cut_off = least(scores, lambda found: found.median_ms <= MOST_MEDIAN_MS, lambda found: found.cut_off)
        median_ms = least(scores, lambda found: PERCENT * found.cut_off <= MOST_CUT_OFF, lambda found: found.median_ms)
        yield Figure(f"(a) {name}: false cutoffs at p50 ≤ 350 ms", PERCENT * cut_off, "%", "", True)
        yield Figure(f"(a) {name}: p50 at false cutoffs ≤ 5 %", median_ms, "ms", "", True)


def hesitates(pause: HeardPause) -> bool:
    """True for a pause inside a turn that is long enough to be taken for the end."""
    return not pause.is_end and pause.lasted_ms >= FIXED_MS[2]


def least(scores: list[Score], allowed: Callable[[Score], bool], value: Callable[[Score], float]) -> float:
    """The smallest value among the scores that are allowed; NaN when none is."""
    return min((value(found) for found in scores if allowed(found)), default=float("nan"))
