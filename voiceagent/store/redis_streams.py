"""Streams of events in Redis (https://redis.io/docs/latest/develop/data-types/streams/). The stream of a call is
`voiceagent:call:ID`, in which the event of number 40 has the id `40-0`; that of all calls is `voiceagent:calls`. Each entry has
one field, `event`. While a call goes on, `voiceagent:running:ID` is there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from voiceagent.store.database import StoreError
from voiceagent.store.event_streams import ALL_CALLS, PAGE, REDELIVER_AFTER_S, CallState, StreamedEvent, StreamError, check_id
from voiceagent.store.redis_connection import LONGEST_WAIT_S, NO_CLUSTER, RedisAddress, RedisConnection
from voiceagent.store.schema import ID_BEGINS, MAX_NAMED

PREFIX = "voiceagent:"
FIELD = "event"
_SCANNED = 1_000
"""Keys that are looked at in one command."""
T = TypeVar("T")
_Entries: TypeAlias = list[tuple[bytes, list[bytes] | None] | None]
"""Ids with names and values of fields; None for what was trimmed."""


def key_of(stream: str) -> str:
    """The key of a stream."""
    return f"{PREFIX}{ALL_CALLS}" if stream == ALL_CALLS else f"{PREFIX}call:{stream}"


def running_key(call_id: str) -> str:
    """The key that is there while a call goes on."""
    return f"{PREFIX}running:{call_id}"


class RedisStreams:
    """The streams of a Redis. Implements `EventStreams`; may be used from any thread."""

    def __init__(self, address: RedisAddress) -> None:
        """Raises ConfigError where the client library is missing."""
        self._redis = RedisConnection(address)

    def calls(self, begins: str) -> list[str]:
        """See `EventStreams`. At most so many as a message names, and one."""
        found: set[str] = set()
        for wanted in {begins, f"{ID_BEGINS}{begins}"}:
            pattern = key_of(re.sub(r"([*?\[\]\\^])", r"\\\1", wanted)) + "*"
            cursor: bytes | int = 0
            while len(found) <= MAX_NAMED:
                answer = self._redis.run("SCAN", cursor, "MATCH", pattern, "COUNT", _SCANNED)
                cursor, keys = _read(answer, tuple[bytes, list[bytes]])
                found.update(key.decode().removeprefix(key_of("")) for key in keys)
                if not int(cursor):
                    break
        return sorted(found)

    def state(self, call_id: str) -> CallState | None:
        """See `EventStreams`."""
        runs, last = self._answers(("EXISTS", running_key(call_id)), ("XREVRANGE", key_of(call_id), "+", "-", "COUNT", 1))
        ended = any(event.is_end for event in _events(call_id, last))
        if runs and not ended:
            return CallState.GOES_ON
        if not last:
            return None
        return CallState.ENDED if ended else CallState.LOST

    def last(self, stream: str) -> str:
        """See `EventStreams`."""
        found = _events(stream, self._redis.run("XREVRANGE", key_of(stream), "+", "-", "COUNT", 1))
        return found[0].id if found else ""

    def read(self, stream: str, after: str = "", *, most: int = PAGE, wait_s: float = 0.0) -> list[StreamedEvent]:
        """See `EventStreams`."""
        key = key_of(stream)
        answer = self._redis.run("XREAD", "COUNT", most, *_block(wait_s), "STREAMS", key, _full(after))
        return _events(stream, _of_first(answer))

    def join(self, stream: str, group: str) -> None:
        """See `EventStreams`. That of a call must be there: nothing would ever delete the one that is made here."""
        make = () if stream != ALL_CALLS else ("MKSTREAM",)
        (answer,) = self._redis.run_all([("XGROUP", "CREATE", key_of(stream), group, "0", *make)])
        if isinstance(answer, StoreError) and "requires the key to exist" in answer.why:
            raise StreamError(f"nothing is kept of a call {stream[:40]!r}")
        if isinstance(answer, StoreError) and "BUSYGROUP" not in answer.why:
            raise answer

    def take(self, stream: str, group: str, consumer: str, *, most: int = PAGE, wait_s: float = 0.0) -> list[StreamedEvent]:
        """See `EventStreams`."""
        return self._of_group(stream, group, consumer, ">", most, wait_s)

    def given(self, stream: str, group: str, consumer: str, after: str = "", *, most: int = PAGE) -> list[StreamedEvent]:
        """See `EventStreams`."""
        return self._of_group(stream, group, consumer, _full(after), most, 0.0)

    def claim(
        self, stream: str, group: str, consumer: str, *, idle_s: float = REDELIVER_AFTER_S, most: int = PAGE
    ) -> list[StreamedEvent]:
        """See `EventStreams`."""
        idle_ms = round(idle_s * 1000)
        answer = self._redis.run("XAUTOCLAIM", key_of(stream), group, consumer, idle_ms, "0-0", "COUNT", most)
        return _events(stream, answer[1] if isinstance(answer, list) else answer)

    def acknowledge(self, stream: str, group: str, ids: Sequence[str]) -> None:
        """See `EventStreams`."""
        self._redis.run("XACK", key_of(stream), group, *map(_full, ids))

    def forget(self, call_ids: Iterable[str]) -> None:
        """Delete all that is kept of these calls. Raises StoreError."""
        forgotten = set(call_ids)
        self._answers(*(("DEL", key_of(call_id), running_key(call_id)) for call_id in forgotten))
        after = ""
        while page := self.read(ALL_CALLS, after):
            after = page[-1].id
            theirs = [_full(event.id) for event in page if _call_of(event) in forgotten]
            if theirs:
                self._redis.run("XDEL", key_of(ALL_CALLS), *theirs)

    def check(self) -> None:
        """Raises StoreError if it does not answer, or is a cluster."""
        self._redis.run("PING")
        (answer,) = self._redis.run_all([("CLUSTER", "INFO")])
        if not isinstance(answer, StoreError):
            raise StoreError(NO_CLUSTER, is_refused=True)

    def close(self) -> None:
        """See `EventStreams`."""
        self._redis.close()

    def _answers(self, *commands: tuple[str | int, ...]) -> list[object]:
        answers = self._redis.run_all(commands)
        for answer in answers:
            if isinstance(answer, StoreError):
                raise answer
        return answers

    def _of_group(self, stream: str, group: str, consumer: str, after: str, most: int, wait_s: float) -> list[StreamedEvent]:
        of = ("GROUP", group, consumer, "COUNT", most, *_block(wait_s))
        return _events(stream, _of_first(self._redis.run("XREADGROUP", *of, "STREAMS", key_of(stream), after)))


def _full(given: str) -> str:
    """The id as Redis writes it."""
    return check_id(given) if "-" in given else f"{check_id(given) or 0}-0"


def _block(wait_s: float) -> tuple[str | int, ...]:
    return ("BLOCK", max(1, round(min(wait_s, LONGEST_WAIT_S) * 1000))) if wait_s > 0 else ()


def _read(answer: object, kind: type[T]) -> T:
    """Raises StoreError for an answer of another form."""
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise StoreError(f"Redis gives an answer of another form than its documentation says ({error})") from error


def _of_first(answer: object) -> object:
    """The entries of the one stream that was asked for."""
    return _read(answer, list[tuple[bytes, _Entries]])[0][1] if answer else []


def _events(stream: str, entries: object) -> list[StreamedEvent]:
    """Entries that were trimmed, and those of somebody else, are left out."""
    found = []
    for entry in _read(entries, _Entries):
        name, fields = entry or (b"", None)
        if fields and fields[0] == FIELD.encode():
            place = name.decode()
            found.append(StreamedEvent(place if stream == ALL_CALLS else place.removesuffix("-0"), fields[1]))
    return found


def _call_of(event: StreamedEvent) -> object:
    try:
        return event.read().get("call")
    except ValueError:
        return None
