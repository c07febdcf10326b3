"""Keys that the caller presses, put together to what was meant: a number ends with `#`, or when no key comes for two seconds,
unless the agent has said how the next one ends."""

from __future__ import annotations

from dataclasses import dataclass

TERMINATOR = "#"
PAUSE_S = 2.0
MAX_KEYS = 32
"""A number that is longer ends there."""


@dataclass(frozen=True, slots=True)
class KeyRule:
    """How a number ends: with whichever comes first."""

    terminator: str = TERMINATOR
    """This key, which is no part of it; empty: no key ends it."""
    max_keys: int = MAX_KEYS
    pause_s: float = PAUSE_S
    """Nothing for so long after a key."""


UNASKED = KeyRule()
"""For what the caller keys in by themselves."""


class Keypad:
    """Collects keys. Times are seconds of any one clock."""

    def __init__(self) -> None:
        self._keys = ""
        self._due_s = 0.0
        self._rule = UNASKED

    @property
    def due_s(self) -> float | None:
        """When `poll` is to be asked; None while no key waits."""
        return self._due_s if self._keys else None

    def collect(self, rule: KeyRule) -> None:
        """The number that is being keyed in, or the next one, ends by this rule."""
        self._rule = rule

    def press(self, key: str, now_s: float) -> str:
        """A key was pressed; what is complete with it, or nothing. Where a number was asked for, the terminator alone is one:
        there is none."""
        ends = key == self._rule.terminator
        if ends and self._keys:
            return self._end()
        self._keys += key
        self._due_s = now_s + self._rule.pause_s
        asked = self._rule is not UNASKED
        return self._end() if len(self._keys) >= self._rule.max_keys or (ends and asked) else ""

    def poll(self, now_s: float) -> str:
        """What is complete because no key has come for long enough, or nothing."""
        return self._end() if self._keys and now_s >= self._due_s else ""

    def _end(self) -> str:
        keys, self._keys, self._rule = self._keys, "", UNASKED
        return keys
