"""A caller's habit in this call: how many of their pauses went on, and how many ended a turn. Who has paused often inside a turn
will do so again. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

KNOWN_PAUSES = 4
"""A caller of whom nothing is known counts as one of whom so many pauses went on and so many ended a turn."""


@dataclass(frozen=True, slots=True)
class Habit:
    """A count of the caller's pauses of 200 ms and more."""

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
