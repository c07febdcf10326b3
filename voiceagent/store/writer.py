"""Writes to the store, and to other places outside. They come in from the event loop; one thread behind a bounded queue carries
them out. A write that finds the queue full is lost, and so is one that the place refuses: both are counted, and reported in one
log line from time to time, and calls go on. If the connection is lost, it is tried again for a while, and writes wait in the
queue."""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from voiceagent.errors import ConfigError
from voiceagent.store.database import BUSY_TIMEOUT_S, Database, StoreAddress, StoreError, Value
from voiceagent.store.schema import connect

log = logging.getLogger(__name__)

TELL_EVERY_S = 60.0
"""The shortest time between two log lines about losses of one kind; losses in between are counted, and reported with the next
line."""


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


MAX_QUEUED = 10_000
MAX_QUEUED_BYTES = 32 * 1024 * 1024
CLOSE_TIMEOUT_S = 5.0
RETRY_FOR_S = 60.0
"""A batch that finds no connection for so long is lost."""
RETRY_EVERY_S = 0.5


class Part(Protocol):
    """One command of a write."""

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory."""
        ...


P = TypeVar("P", bound=Part)


@dataclass(frozen=True, slots=True)
class Write(Generic[P]):
    """Parts that are written together."""

    kind: str
    items: int
    parts: tuple[P, ...]
    size_bytes: int


class QueuedWriter(ABC, Generic[P]):
    """Writes to one place. All methods may be called from the event loop: only `close` waits (at most five seconds)."""

    def __init__(self, place: str, losses: Losses | None = None, *, retry_for_s: float = RETRY_FOR_S) -> None:
        """Start the thread. `place` is its address for messages; the connection is made with the first write. Raises nothing:
        what cannot be written is counted in `losses`."""
        self._place = place
        self._retry_for_s = retry_for_s
        self._losses = losses or Losses()
        self._written: Counter[str] = Counter()
        self._queue: deque[Write[P]] = deque()
        self._queued_bytes = 0
        self._changed = threading.Condition()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._thread.start()

    @property
    def written(self) -> dict[str, int]:
        """All that was written, by kind."""
        with self._changed:
            return dict(self._written)

    @property
    def queued(self) -> int:
        """The writes that wait."""
        return len(self._queue)

    def put(self, kind: str, *parts: P, items: int = 1) -> bool:
        """Queue a write: all of its parts, or none. `items` things of this kind are lost with it. Returns False, and counts
        it as lost, if the queue is full or the writer is closed."""
        write = Write(kind, items, parts, sum(part.size_bytes for part in parts))
        with self._changed:
            is_full = len(self._queue) >= MAX_QUEUED or self._queued_bytes + write.size_bytes > MAX_QUEUED_BYTES
            if not self._closing and not is_full:
                self._queue.append(write)
                self._queued_bytes += write.size_bytes
                self._changed.notify()
                return True
        why = "the server stops" if self._closing else f"{len(self._queue)} writes wait for it: it is too slow"
        self.lost(kind, items, why)
        return False

    def lost(self, kind: str, items: int, why: str) -> None:
        """Count what is not even tried."""
        self._losses.add(kind, items, f"{self._place}: {kind} are not kept ({why})")

    def close(self) -> None:
        """Write what is queued and end the thread. May be called twice."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join(CLOSE_TIMEOUT_S)

    @abstractmethod
    def _carry_out(self, batch: Sequence[Write[P]]) -> None:
        """Connect if there is no connection, and write. Raises StoreError."""

    @abstractmethod
    def _disconnect(self) -> None:
        """Close the connection, if there is one. Raises nothing."""

    def _run(self) -> None:
        while batch := self._next_batch():
            error = self._try(batch)
            until_s = time.monotonic() + self._retry_for_s
            while error is not None and error.is_lost and time.monotonic() < until_s and not self._closing:
                with self._changed:
                    self._changed.wait_for(lambda: self._closing, RETRY_EVERY_S)
                error = self._try(batch)
            if error is not None and error.is_refused and len(batch) > 1:
                for write in batch:  # one that the database refuses takes no other with it
                    self._finish([write], self._try([write]))
            else:
                self._finish(batch, error)
        self._disconnect()

    def _try(self, batch: list[Write[P]]) -> StoreError | None:
        try:
            self._carry_out(batch)
        except StoreError as error:
            self._disconnect()
            return error
        except ConfigError as error:
            return StoreError(str(error))
        except Exception as error:  # noqa: BLE001 - such as text that is no Unicode: the thread goes on without it
            self._disconnect()
            return StoreError(f"{self._place}: {type(error).__name__}", why=type(error).__name__, is_refused=True)
        return None

    def _finish(self, batch: list[Write[P]], error: StoreError | None) -> None:
        for write in batch:
            if error is None:
                with self._changed:
                    self._written[write.kind] += write.items
            else:
                self.lost(write.kind, write.items, error.why)

    def _next_batch(self) -> list[Write[P]]:
        with self._changed:
            while not self._queue and not self._closing:
                self._changed.wait()
            batch = list(self._queue)
            self._queue.clear()
            self._queued_bytes = 0
            return batch


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its values."""

    sql: str
    values: tuple[Value, ...] = ()

    @property
    def size_bytes(self) -> int:
        """About what its values take in memory."""
        return sum(len(value) for value in self.values if isinstance(value, str))


class StoreWriter(QueuedWriter[Statement]):
    """Writes to one store."""

    def __init__(
        self,
        address: StoreAddress,
        losses: Losses | None = None,
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        retry_for_s: float = RETRY_FOR_S,
    ) -> None:
        """See `QueuedWriter`. The tables are made with the first write."""
        self.address = address
        self._busy_timeout_s = busy_timeout_s
        self._database: Database | None = None
        super().__init__(str(address), losses, retry_for_s=retry_for_s)

    def _carry_out(self, batch: Sequence[Write[Statement]]) -> None:
        if self._database is None:
            self._database = connect(self.address, writes=True, busy_timeout_s=self._busy_timeout_s)
        with self._database.transaction():
            for write in batch:
                for statement in write.parts:
                    self._database.execute(statement.sql, statement.values)

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
