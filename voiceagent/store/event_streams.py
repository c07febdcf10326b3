"""Streams of events, as other programs read them: one for each call that is kept, and one of the starts and ends of all calls. A
reader begins where it likes, and waits for what comes. The consumers of a group share a stream: each event goes to one of them,
and goes to one again if it is not acknowledged in time, so it may come twice. Streams lie in the store (`sql_streams.py`) and,
where the operator wants that, in Redis (`redis_streams.py`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from voiceagent.errors import VoiceAgentError
from voiceagent.json_types import JsonObject
from voiceagent.untrusted_json import read_struct

ALL_CALLS = "calls"
"""The stream of the starts and ends of all calls. Every other stream has the id of its call."""
PAGE = 500
"""Events that are read at once."""
WAIT_S = 2.0
"""The time that a reader waits at once."""
REDELIVER_AFTER_S = 60.0
"""An event that is not acknowledged for so long goes to another consumer of its group."""
_LAST = b'{"type":"call.ended"'
_ID = re.compile(r"[0-9]{1,18}(-[0-9]{1,18})?")
_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


class StreamError(VoiceAgentError):
    """A stream cannot be read as it is asked for."""


class LostCallError(StreamError):
    """The call's server went down: no more comes."""


@dataclass(frozen=True, slots=True)
class StreamedEvent:
    """One event of a stream."""

    id: str
    """Its place in the stream. In a call's stream it is the event's number."""
    line: bytes
    """The event as JSON in one line."""

    def read(self) -> JsonObject:
        """The event. Raises ValueError if it was damaged."""
        return read_struct(self.line, JsonObject)

    @property
    def is_end(self) -> bool:
        """True for the last event of a call."""
        return self.line.startswith(_LAST)


class CallState(Enum):
    """The state of a call whose events are kept."""

    GOES_ON = "goes_on"
    ENDED = "ended"
    LOST = "lost"
    """Its server went down."""


class EventStreams(Protocol):
    """The streams of one place. Each method blocks, and raises StoreError where the place cannot be read."""

    def calls(self, begins: str) -> list[str]:
        """The calls that have a stream and whose ids begin so, with or without `rtc_`."""
        ...

    def state(self, call_id: str) -> CallState | None:
        """The state of a call; None if it has no stream."""
        ...

    def last(self, stream: str) -> str:
        """The id of the last event; empty if there is none."""
        ...

    def read(self, stream: str, after: str = "", *, most: int = PAGE, wait_s: float = 0.0) -> list[StreamedEvent]:
        """The next events behind an id; empty: from the first that is kept. If there is none, waits for one for at most so
        long."""
        ...

    def join(self, stream: str, group: str) -> None:
        """Make the group, unless it is there. It begins with the first event that is kept."""
        ...

    def take(self, stream: str, group: str, consumer: str, *, most: int = PAGE, wait_s: float = 0.0) -> list[StreamedEvent]:
        """The next events that no consumer of the group has been given; they are given to this one."""
        ...

    def given(self, stream: str, group: str, consumer: str, after: str = "", *, most: int = PAGE) -> list[StreamedEvent]:
        """The events behind an id that were given to this consumer before, and that it has not acknowledged."""
        ...

    def claim(
        self, stream: str, group: str, consumer: str, *, idle_s: float = REDELIVER_AFTER_S, most: int = PAGE
    ) -> list[StreamedEvent]:
        """Events that were given to any consumer so long ago, and that it has not acknowledged; they are given to this one."""
        ...

    def acknowledge(self, stream: str, group: str, ids: Sequence[str]) -> None:
        """These events of the group are done."""
        ...

    def close(self) -> None:
        """Close the connection. May be called twice. Raises nothing."""
        ...


def follow(streams: EventStreams, stream: str, after: str = "", *, wait_s: float = WAIT_S) -> Iterator[StreamedEvent]:
    """The events of a stream behind an id, then those that come. That of a call ends with the call; the one of all calls does
    not. `wait_s` is how long it waits at once. Raises StoreError, StreamError for a call of which nothing is kept, and
    LostCallError once all has come of one whose server went down."""
    state: CallState | None = CallState.GOES_ON
    while True:
        page = streams.read(stream, after, wait_s=wait_s if state is CallState.GOES_ON else 0.0)
        for event in page:
            yield event
            after = event.id
            if event.is_end and stream != ALL_CALLS:
                return
        if page or stream == ALL_CALLS:
            continue
        if state is not CallState.GOES_ON:  # its last events have come, which might have been written since they were asked for
            break
        state = streams.state(stream)
    if state is None:
        raise StreamError(f"nothing is kept of a call {stream[:40]!r}")
    if state is CallState.LOST:
        raise LostCallError(f"the server of the call {stream} went down; no more events come")


class Consumer:
    """One consumer of a group: it is given events, and acknowledges those that it has done. One of the same name that is started
    later first gets what the earlier one has not acknowledged."""

    def __init__(
        self, streams: EventStreams, stream: str, group: str, name: str, *, redeliver_after_s: float = REDELIVER_AFTER_S
    ) -> None:
        """Join the group, which is made if there is none. Raises StoreError, and StreamError for a name that cannot be one."""
        for given in (group, name):
            if not _NAME.fullmatch(given):
                raise StreamError(f"{given[:40]!r} names no group and no consumer; expected letters, digits, `_.:-`, at most 64")
        self._streams, self._stream, self._group, self._name = streams, stream, group, name
        self._redeliver_after_s = redeliver_after_s
        self._resumes_after: str | None = ""
        """The id up to which this consumer has got again what it was given before it was started; None once that is all."""
        streams.join(stream, group)

    def take(self, most: int = PAGE, *, wait_s: float = WAIT_S) -> list[StreamedEvent]:
        """The next events, at most so many; waits for one for at most so long. Raises StoreError."""
        of = (self._stream, self._group, self._name)
        if self._resumes_after is not None:
            again = self._streams.given(*of, self._resumes_after, most=most)
            self._resumes_after = again[-1].id if again else None
            if again:
                return again
        overdue = self._streams.claim(*of, idle_s=self._redeliver_after_s, most=most)
        return overdue or self._streams.take(*of, most=most, wait_s=wait_s)

    def acknowledge(self, *events: StreamedEvent) -> None:
        """These events are done. Raises StoreError."""
        if events:
            self._streams.acknowledge(self._stream, self._group, [event.id for event in events])


def check_id(after: str) -> str:
    """The id of an event, or nothing. Raises StreamError."""
    if after and not _ID.fullmatch(after):
        raise StreamError(f"{after[:40]!r} is no id of an event; expected a number, or one as it was given")
    return after
