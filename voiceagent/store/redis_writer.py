"""Writes calls' events to Redis. What a retry writes again has the id that it had, and Redis refuses it, so an event stands once
in its call's stream; a start or an end may stand twice in that of all calls. Each stream has a bounded length, and goes some time
after its last event."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.store.database import StoreError
from voiceagent.store.event_streams import ALL_CALLS
from voiceagent.store.redis_connection import Command, RedisAddress, RedisConnection
from voiceagent.store.redis_streams import FIELD, key_of, running_key
from voiceagent.store.writer import RETRY_FOR_S, Losses, QueuedWriter, Write

STREAMED = "streamed events"
MAX_STREAMED = 50_000
"""About the most events of a call's stream."""
MAX_STREAMED_CHANGES = 100_000
"""About the most starts and ends in the stream of all calls."""
RUNNING_FOR_S = 90
"""A call that its server has not marked as running for so long went down with it."""
HOUR_S = 3600
REPLICA_WITHIN_MS, REPLICA_TRIES = 500, 4
"""The longest wait for a replica to have what was written, and how often it is written before there counts as none. A primary
that was replaced and does not know yet has none either, and what it takes is lost."""
_SENT_AT_ONCE = 1_000
"""Commands that are sent before their answers are read."""
_IS_THERE = "equal or smaller than the target stream top item"


@dataclass(frozen=True, slots=True)
class StreamCommand:
    """A command of Redis that writes."""

    words: Command

    @property
    def size_bytes(self) -> int:
        """About what it takes in memory."""
        return sum(len(word) for word in self.words if not isinstance(word, int))


class RedisWriter(QueuedWriter[StreamCommand]):
    """Writes to the streams of one Redis. See `QueuedWriter`."""

    def __init__(
        self, address: RedisAddress, losses: Losses | None = None, *, keep_hours: int = 24, retry_for_s: float = RETRY_FOR_S
    ) -> None:
        """A stream goes `keep_hours` after its last event. Raises ConfigError where the client library is missing."""
        self._redis = RedisConnection(address)
        self._is_watched = self._has_replica = address.is_watched
        self._keep_s = keep_hours * HOUR_S
        super().__init__(str(address), losses, retry_for_s=retry_for_s)

    def begin(self, call_id: str, change: JsonObject) -> None:
        """A call has begun."""
        self.put(STREAMED, _change(change), _runs(call_id))

    def event(self, call_id: str, number: int, line: bytes) -> None:
        """Write an event of a call."""
        words = ("XADD", key_of(call_id), "MAXLEN", "~", MAX_STREAMED, f"{number}-0", FIELD, line)
        self.put(STREAMED, StreamCommand(words))

    def seen(self, call_ids: Iterable[str]) -> None:
        """These calls go on."""
        for call_id in call_ids:
            kept = StreamCommand(("EXPIRE", key_of(call_id), self._keep_s))
            self.put(STREAMED, _runs(call_id), kept, items=0)

    def end(self, call_id: str, change: JsonObject) -> None:
        """A call is over. What is too old leaves the stream of all calls."""
        oldest_ms = round((time.time() - self._keep_s) * 1000)
        trimmed = StreamCommand(("XTRIM", key_of(ALL_CALLS), "MINID", "~", oldest_ms))
        self.put(STREAMED, StreamCommand(("DEL", running_key(call_id))), _change(change), trimmed)

    def _carry_out(self, batch: Sequence[Write[StreamCommand]]) -> None:
        commands = [part.words for write in batch for part in write.parts]
        streams = dict.fromkeys(words[1] for words in commands if words[0] == "XADD")
        commands += [("EXPIRE", stream, self._keep_s) for stream in streams]
        if not self._is_watched:
            self._send(commands)
            return
        for _ in range(REPLICA_TRIES if self._has_replica else 1):
            self._has_replica = self._send([*commands, ("WAIT", 1, REPLICA_WITHIN_MS)]) != 0
            if self._has_replica:
                return
            self._redis.close()  # it may be the primary no more: Sentinel is asked again

    def _send(self, commands: Sequence[Command]) -> object:
        """Send all; returns the last answer. Raises StoreError."""
        answer: object = None
        for first in range(0, len(commands), _SENT_AT_ONCE):
            for answer in self._redis.run_all(commands[first : first + _SENT_AT_ONCE]):
                if isinstance(answer, StoreError) and _IS_THERE not in answer.why:
                    raise answer
        return answer

    def _disconnect(self) -> None:
        self._redis.close()  # it connects again by itself


def _change(change: JsonObject) -> StreamCommand:
    line = msgspec.json.encode(change)
    return StreamCommand(("XADD", key_of(ALL_CALLS), "MAXLEN", "~", MAX_STREAMED_CHANGES, "*", FIELD, line))


def _runs(call_id: str) -> StreamCommand:
    return StreamCommand(("SET", running_key(call_id), 1, "EX", RUNNING_FOR_S))
