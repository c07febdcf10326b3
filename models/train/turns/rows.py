"""The evidence as rows to fit and to score: what a call would know in each pause that lasts long enough to end a turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from models.train.turns.hear import JUDGED_FROM_MS, Evidence, JudgedHearing
from models.train.turns.sweep import Pauses
from voiceagent.turn_judges.meaning import without_closing_marks
from voiceagent.turn_taking.endpointing import PauseEvidence, Prosody

Meanings = Mapping[tuple[str, str], float]


@dataclass(frozen=True, slots=True)
class Row:
    """A pause."""

    turn: Evidence
    number: int
    """Of its turn."""
    hearing: JudgedHearing
    evidence: PauseEvidence

    @property
    def is_end(self) -> bool:
        """Whether the caller had finished."""
        return self.hearing.pause.is_end


def rows(turns: Sequence[Evidence], meanings: Meanings) -> list[Row]:
    """The pauses that can end a turn, in order."""
    return [
        Row(turn, number, hearing, _known(turn, hearing, meanings))
        for number, turn in enumerate(turns)
        for hearing in turn.pauses
        if hearing.pause.lasted_ms >= JUDGED_FROM_MS
    ]


def _known(turn: Evidence, hearing: JudgedHearing, meanings: Meanings) -> PauseEvidence:
    pause = hearing.pause
    said = {"ear": hearing.ear, "meaning": meanings.get((turn.asked, without_closing_marks(pause.words)))}
    judged = {name: chance for name, chance in said.items() if chance is not None}
    return PauseEvidence(
        pause.words, turn.asked, pause.voiced_ms, Prosody(pause.pitch_fall_st, pause.energy_fall_db), judged=judged
    )


def pauses_of(found: Sequence[Row], turns: Sequence[Evidence]) -> Pauses:
    """As they are scored."""
    pauses = [row.hearing.pause for row in found]
    return Pauses(
        np.array([row.number for row in found]),
        np.array([pause.at_ms - pause.silence_ms - row.turn.end_ms for row, pause in zip(found, pauses, strict=True)]),
        np.array([pause.lasted_ms for pause in pauses]),
        np.array([pause.is_end for pause in pauses]),
        len(turns),
    )


def only(evidence: PauseEvidence, kept: Iterable[str]) -> PauseEvidence:
    """The evidence as it is where only these judges have spoken."""
    names = set(kept)
    return replace(evidence, judged={name: chance for name, chance in evidence.judged.items() if name in names})
