"""The manners of endpointing: how long the agent waits in a pause, and so how often it answers somebody who would have gone on.
Pure values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Manner = Literal["brisk", "balanced", "patient"]
"""The names of the manners, from the quickest answer to the fewest callers cut off."""


@dataclass(frozen=True, slots=True)
class EndpointingManner:
    """One way to weigh a quick answer against a caller who is cut off."""

    risk: float
    """The chance, 0 to 1, that a pause which has lasted for its endpointing delay was a hesitation after all."""
    min_delay_ms: float
    """The shortest endpointing delay."""
    max_delay_ms: float
    """The longest."""
