"""Keys that the caller presses, put together to what was meant: a number ends with `#`, or when no key comes for two seconds."""

from __future__ import annotations

TERMINATOR = "#"
PAUSE_S = 2.0
MAX_KEYS = 32
"""A number that is longer ends there."""


class Keypad:
    """Collects keys. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._keys = ""
        self._due_s = 0.0

    @property
    def due_s(self) -> float | None:
        """When `poll` is to be asked; None while no key waits."""
        return self._due_s if self._keys else None

    def press(self, key: str, now_s: float) -> str:
        """A key was pressed; what is complete with it, or nothing."""
        if key == TERMINATOR and self._keys:
            return self._end()
        self._keys += key
        self._due_s = now_s + PAUSE_S
        return self._end() if len(self._keys) >= MAX_KEYS else ""

    def poll(self, now_s: float) -> str:
        """What is complete because no key has come for long enough, or nothing."""
        return self._end() if self._keys and now_s >= self._due_s else ""

    def _end(self) -> str:
        keys, self._keys = self._keys, ""
        return keys
