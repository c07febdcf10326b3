"""Data that could not be kept, because the disk is full or a folder is not writable. It is counted, and reported in one log line
from time to time. A call never waits for it."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter

TELL_EVERY_S = 60.0
"""The shortest time between two log lines about losses of one kind; losses in between are counted, and reported with the next
line."""

log = logging.getLogger(__name__)


class Losses:
    """Counts by kind, such as `measured turns`. May be used from any thread."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._told_s: dict[str, float] = {}
        self._told: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, kind: str, count: int, why: str) -> None:
        """`count` items were lost; `why` is one line that says what to do."""
        now_s = time.monotonic()
        with self._lock:
            self._counts[kind] += count
            if now_s - self._told_s.get(kind, float("-inf")) < TELL_EVERY_S:
                return
            self._told_s[kind] = now_s
            lost = self._counts[kind] - self._told[kind]
            self._told[kind] = self._counts[kind]
        log.warning("%d %s lost: %s", lost, kind, why)

    @property
    def counts(self) -> dict[str, int]:
        """All that was lost, by kind."""
        with self._lock:
            return dict(self._counts)
