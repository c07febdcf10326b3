"""How long each of an agent's tools takes, as far as its runs so far tell. In memory only."""

from __future__ import annotations

WEIGHT = 0.3
"""Of a tool's latest run in its typical time."""


class RunTimes:
    """One per agent, for all its calls."""

    def __init__(self) -> None:
        self._typical_ms: dict[str, float] = {}

    def took(self, name: str, ms: float) -> None:
        """A run of a tool ended."""
        before = self._typical_ms.get(name, ms)
        self._typical_ms[name] = before + WEIGHT * (ms - before)

    def typical_ms(self, name: str) -> float:
        """How long the tool's runs take; 0 while none is known."""
        return self._typical_ms.get(name, 0.0)
