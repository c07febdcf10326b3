"""Written openings of calls that were taken (`openings.yaml`, and `openings_held_out.yaml`, on which nothing is chosen), and what
the detector takes their speaker for by the words, said at a speaker's pace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Literal

import numpy as np
import yaml

from voiceagent.telephone.features.answering_machine import AnsweringMachine, MachineVerdict
from voiceagent.turn_taking.languages import language

Kind = Literal["person", "machine", "screening", "undecided"]
FILES = {"tuning": "openings.yaml", "held_out": "openings_held_out.yaml"}
WORD_FRAMES, WAITS_FRAMES = 17, 60
"""Frames of 20 ms that a word takes, and that somebody waits who has said all."""
SPEECH, SILENCE = np.ones(320, np.int16), np.zeros(320, np.int16)


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


def told(opening: Opening, languages: Sequence[str] = ()) -> Told:
    """An opening said word by word, and the silence after it. `languages`: those that may be spoken; its own, unless given."""
    detector = AnsweringMachine([language(code).phone for code in languages or (opening.language,)])
    words = opening.text.split()
    for number in range(1, len(words) + 1):
        detector.speaks(True)
        for _ in range(WORD_FRAMES):
            detector.listen(SPEECH)
        detector.says(1, " ".join(words[:number]))
    detector.speaks(False)
    detector.says(1, opening.text)
    for _ in range(WAITS_FRAMES):
        detector.listen(SILENCE)
    return Told(opening, taken_for(detector, 1))


def taken_for(detector: AnsweringMachine, utterance_id: int) -> Kind:
    """The party by the detector's verdict."""
    if detector.is_screening(utterance_id):
        return "screening"
    return "machine" if detector.verdict is MachineVerdict.MACHINE else "person"


def share(all_told: Iterable[Told], kind: Kind, taken: Kind, code: str = "") -> float:
    """Percent of a kind's openings, in a language if one is given, that were taken for this."""
    found = [one.taken_for == taken for one in all_told if one.opening.kind == kind and code in ("", one.opening.language)]
    return round(100 * sum(found) / len(found), 1)
