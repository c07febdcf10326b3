"""Puts the keys that a caller presses together to numbers. A number ends with `#`, or after two seconds without a key, unless the
agent has said how the next number ends."""

from __future__ import annotations

from dataclasses import dataclass

TERMINATOR = "#"
PAUSE_S = 2.0
MAX_KEYS = 32
"""A longer number ends after so many keys."""


@dataclass(frozen=True, slots=True)
class KeyRule:
    """How a number ends. The first of these ends it."""

    terminator: str = TERMINATOR
    """The key that ends it and is no part of it; empty: no key does."""
    max_keys: int = MAX_KEYS
    pause_s: float = PAUSE_S
    """The time without a key that ends it."""


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
        """When to call `poll`; None while no key waits."""
        return self._due_s if self._keys else None

    @property
    def is_asked(self) -> bool:
        """Whether the agent has asked for the number that is being keyed in, or for the next one."""
        return self._rule is not UNASKED

    def collect(self, rule: KeyRule) -> None:
        """Use this rule for the number that is being keyed in, or for the next one."""
        self._rule = rule

    def press(self, key: str, now_s: float) -> str:
        """A key was pressed. Returns the number that it completes, or nothing. If the agent asked for a number, the terminator
        alone completes one: it says that there is no number."""
        ends = key == self._rule.terminator
        if ends and self._keys:
            return self._end()
        self._keys += key
        self._due_s = now_s + self._rule.pause_s
        asked = self._rule is not UNASKED
        return self._end() if len(self._keys) >= self._rule.max_keys or (ends and asked) else ""

    def poll(self, now_s: float) -> str:
        """The number that is complete because no key has come for long enough; empty if none is."""
        return self._end() if self._keys and now_s >= self._due_s else ""

    def _end(self) -> str:
        keys, self._keys, self._rule = self._keys, "", UNASKED
        return keys
