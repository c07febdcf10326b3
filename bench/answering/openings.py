"""Written openings of calls that were taken (`openings.yaml`, and `openings_held_out.yaml`, on which nothing is chosen), and what
the detector takes their speaker for by the words, said at a speaker's pace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Literal

import numpy as np
import yaml
from numpy.typing import NDArray

from voiceagent.telephone.features.answering_machine import AnsweringMachine, MachineVerdict
from voiceagent.turn_taking.languages import language

Kind = Literal["person", "machine", "screening"]
KINDS: tuple[Kind, ...] = ("person", "machine", "screening")
FILES = {"tuning": "openings.yaml", "held_out": "openings_held_out.yaml"}
WORD_FRAMES, BEFORE_BEEP_FRAMES, WAITS_FRAMES = 17, 30, 60
"""Frames of 20 ms that a word takes, that a machine is silent before its beep, and that somebody waits who has said all."""
SPEECH, SILENCE = np.ones(320, np.int16), np.zeros(320, np.int16)
BEEP = np.round(6000 * np.sin(2 * np.pi * 1000 * np.arange(6400) / 16_000)).astype(np.int16).reshape(-1, 320)


@dataclass(frozen=True, slots=True)
class Opening:
    """What somebody says who takes a call."""

    language: str
    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """What an opening's speaker was taken for."""

    opening: Opening
    taken_for: Kind


def openings(part: str) -> list[Opening]:
    """All of `tuning` or `held_out`."""
    listed = yaml.safe_load(resources.files("bench.answering").joinpath(FILES[part]).read_text("utf-8"))
    return [Opening(code, kind, text) for code, kinds in listed.items() for kind, texts in kinds.items() for text in texts]


def told(opening: Opening, *, beeps: bool = False) -> Told:
    """An opening said word by word, and what follows: silence, or a machine's beep in it."""
    detector = AnsweringMachine([language(opening.language).phone])
    words = opening.text.split()
    for number in range(1, len(words) + 1):
        detector.speaks(True)
        _hear(detector, SPEECH, WORD_FRAMES)
        detector.says(1, " ".join(words[:number]))
    detector.speaks(False)
    detector.says(1, opening.text)
    if beeps:
        _hear(detector, SILENCE, BEFORE_BEEP_FRAMES)
        for frame in BEEP:
            detector.listen(frame)
    _hear(detector, SILENCE, WAITS_FRAMES)
    return Told(opening, taken_for(detector))


def _hear(detector: AnsweringMachine, frame: NDArray[np.int16], frames: int) -> None:
    for _ in range(frames):
        detector.listen(frame)


def taken_for(detector: AnsweringMachine) -> Kind:
    """The party by the detector's verdict."""
    if detector.is_service:
        return "screening"
    return "machine" if detector.verdict is MachineVerdict.MACHINE else "person"


def share(all_told: Iterable[Told], kind: Kind, taken: Kind, code: str = "") -> float:
    """Percent of a kind's openings, in a language if one is given, that were taken for this."""
    found = [one.taken_for == taken for one in all_told if one.opening.kind == kind and code in ("", one.opening.language)]
    return round(100 * sum(found) / len(found), 1)
