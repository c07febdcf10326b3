"""The call's clock: milliseconds since the call began, monotonic."""

from __future__ import annotations

import time


class CallClock:
    """Made when the call begins."""

    def __init__(self) -> None:
        self._began_ms = time.monotonic() * 1000.0

    def now_ms(self) -> float:
        """The time now."""
        return time.monotonic() * 1000.0 - self._began_ms

    def at_ms(self, monotonic_ms: float) -> float:
        """Convert a time of `time.monotonic`, in milliseconds, to the call's clock."""
        return monotonic_ms - self._began_ms
