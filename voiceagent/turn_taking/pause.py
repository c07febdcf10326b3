"""The evidence of a pause in the caller's speech."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from voiceagent.turn_taking.patience import Progress

KNOWN_PAUSES = 4
"""A caller of whom nothing is known counts as one of whom so many pauses went on and so many ended a turn."""


@dataclass(frozen=True, slots=True)
class Habit:
    """A caller's habit in this call: a count of their pauses of 200 ms and more. Callers who have paused often inside a turn
    will do so again."""

    went_on: int = 0
    """Pauses after which the caller went on."""
    ended: int = 0
    """Pauses that ended a turn."""

    def after_pause(self, *, ends_turn: bool) -> Habit:
        """The habit once one more pause is known."""
        return Habit(self.went_on + (not ends_turn), self.ended + ends_turn)

    @property
    def log_odds(self) -> float:
        """The log-odds that a pause of this caller ends the turn, before anything else is known of the pause; 0 at first."""
        return math.log((self.ended + KNOWN_PAUSES) / (self.went_on + KNOWN_PAUSES))


NO_HABIT = Habit()


@dataclass(frozen=True, slots=True)
class Prosody:
    """The end of the voice before a pause (`audio.prosody`)."""

    pitch_fall_st: float | None = None
    """Semitones by which the pitch at the very end lies below the rest. Negative if it rose; None if it is unknown."""
    energy_fall_db: float = 0.0
    """Decibels by which the last 100 ms lie below the rest."""


@dataclass(frozen=True, slots=True)
class PauseEvidence:
    """The evidence of a pause."""

    words: str
    """The utterance so far, with the recogniser's case and punctuation."""
    asked: str
    """The agent's last words; empty when it said nothing."""
    voiced_ms: float
    """Speech of the utterance so far, pauses left out."""
    prosody: Prosody
    value: Progress = ""
    """The progress of a value that was asked for."""
    calls_tool: bool = False
    """True if the speculative reply to these words calls a tool, so that the language model misses none of its arguments."""
    judged: Mapping[str, float] = field(default_factory=dict)
    """The probability that the caller has finished, 0 to 1, from each turn judge that has answered; by its name."""
    habit: Habit = NO_HABIT
