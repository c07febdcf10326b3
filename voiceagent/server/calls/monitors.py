"""Monitors follow running calls. Each call has a feed: its newest events, and a bounded queue for each monitor. An event is
encoded once and put into each queue; the call waits for nobody. A monitor whose queue is full is closed with a reason. Monitors
are woken a few at a time, so that the frames of calls go out between them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from voiceagent.json_types import JsonObject
from voiceagent.media.outgoing_events import TOO_SLOW
from voiceagent.store.call_events import CallEvent

MAX_KEPT, MAX_KEPT_BYTES = 1_000, 512 * 1024
"""The newest events of a call that its feed holds. Earlier ones come from the store, where they are kept."""
MAX_WAITING, MAX_WAITING_BYTES = 500, 256 * 1024
"""Events that may wait for a monitor."""
MAX_MONITORS, MAX_MONITORS_OF_A_CALL = 200, 60
WOKEN_AT_ONCE = 8
"""Monitors that are woken in one round of the event loop."""

Line = tuple[int, bytes]
"""An event: its number, 0 for none, and its JSON."""


class Monitor:
    """The queue of one monitor."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        """It begins with these lines, whatever their number."""
        self.closed = ""
        """The reason for which no more comes, other than the call's end."""
        self.is_over = False
        """True once the call has ended; what waits can still be taken."""
        self.will_wake = False
        """True while it has lines of which it does not know."""
        self._lines = deque(lines)
        self._most_lines = MAX_WAITING + len(self._lines)
        self._bytes = 0
        self._changed = asyncio.Event()

    def put(self, line: Line) -> bool:
        """Queue a line, of which the monitor learns when it is woken. Returns False, and closes the monitor, if too much
        waits."""
        if len(self._lines) >= self._most_lines or self._bytes + len(line[1]) > MAX_WAITING_BYTES:
            self.close(TOO_SLOW)
            return False
        self._lines.append(line)
        self._bytes += len(line[1])
        return True

    def wake(self) -> None:
        """There are lines to take."""
        self.will_wake = False
        self._changed.set()

    def end(self) -> None:
        """The call has ended."""
        self.is_over = True
        self._changed.set()

    def close(self, reason: str) -> None:
        """Nothing more comes, and what waits is dropped."""
        self.closed = self.closed or reason
        self._lines.clear()
        self._bytes = 0
        self._changed.set()

    async def take(self) -> list[Line]:
        """The waiting lines. Waits until there are some; none is the end."""
        while not self._lines and not self.is_over and not self.closed:
            self._changed.clear()
            await self._changed.wait()
        lines = list(self._lines)
        self._lines.clear()
        self._bytes, self._most_lines = 0, MAX_WAITING
        return lines


@dataclass(slots=True)
class CallStatus:
    """A running call in one line, as its events tell it. It holds no word that was said."""

    caller: str = ""
    """As the line reports it, or a mark in its place where the operator keeps none. Empty: a browser."""
    language: str = ""
    leg: str = ""
    agent: str = ""
    profile: str = ""
    started: float = 0.0
    """In Unix seconds."""
    step: str = ""
    turns: int = 0
    voice_to_voice_ms: float | None = None
    """That of the last measured turn."""
    changed_ms: float = 0.0
    """The last change of the state, on the call's clock."""
    _is_lost: bool = False
    _caller_speaks: bool = False
    _reply: int | None = None
    _agent_speaks: bool = False

    @property
    def state(self) -> str:
        """lost, hearing, speaking, thinking or listening."""
        if self._is_lost:
            return "lost"
        if self._caller_speaks:
            return "hearing"
        if self._reply is None:
            return "listening"
        return "speaking" if self._agent_speaks else "thinking"

    def take(self, event: CallEvent) -> None:
        """Take the next event."""
        before, given = self.state, event.fields
        self._take(event.type, given)
        if self.state != before:
            self.changed_ms = event.at_ms

    def _take(self, name: str, given: JsonObject) -> None:
        match name:
            case "call.started":
                self.leg, self.agent, self.profile = given["leg"], given["agent"], given["profile"]
                self.started = given["started"]
            case "caller.started" | "caller.stopped":
                self._caller_speaks = name == "caller.started"
            case "agent.started":
                self._reply, self._agent_speaks = given["reply"], False
                self.turns = max(self.turns, given["turn"])
            case "agent.speaking":
                self._reply, self._agent_speaks = given["reply"], True
            case "agent.said" if given["reply"] == self._reply:
                self._reply = None
            case "connection.lost" | "connection.resumed":
                self._is_lost = name == "connection.lost"
            case "turn.measured":
                self.voice_to_voice_ms = given["voice_to_voice_ms"]
            case "step.changed":
                self.step = given["step"]
            case "language.changed":
                self.language = given["language"]
            case "handoff":
                self.agent, self.step = given["agent"], ""


class _Waking:
    """Wakes monitors a few at a time: each sends to its socket when it is woken, and between them calls go on."""

    def __init__(self) -> None:
        self._waiting: deque[Monitor] = deque()

    def add(self, monitor: Monitor) -> None:
        """Wake it soon."""
        if monitor.will_wake:
            return
        monitor.will_wake = True
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._wake_some)
        self._waiting.append(monitor)

    def _wake_some(self) -> None:
        for _ in range(min(WOKEN_AT_ONCE, len(self._waiting))):
            self._waiting.popleft().wake()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._wake_some)


class CallFeed:
    """The events of one running call."""

    def __init__(
        self,
        ended: Callable[[], None],
        dropped: Callable[[str], None],
        status: CallStatus | None = None,
        waking: _Waking | None = None,
    ) -> None:
        self._waking = waking or _Waking()
        self.status = status or CallStatus()
        self._kept: deque[Line] = deque()
        self._kept_bytes = 0
        self._last = 0
        self._monitors: set[Monitor] = set()
        self._ended, self._dropped = ended, dropped

    @property
    def first(self) -> int:
        """The number of the first event that the feed holds, or else of the next one."""
        return self._kept[0][0] if self._kept else self.next

    @property
    def next(self) -> int:
        """The number of the next event."""
        return self._last + 1

    def __len__(self) -> int:
        """The number of monitors."""
        return len(self._monitors)

    def publish(self, events: Sequence[CallEvent]) -> None:
        """Hand events to all monitors."""
        for event in events:
            if event.number:
                self.status.take(event)
            elif not self._monitors:
                continue
            line = (event.number, event.line())
            if event.number:
                self._keep(line)
            for monitor in tuple(self._monitors):
                if monitor.put(line):
                    self._waking.add(monitor)
                else:
                    self._monitors.discard(monitor)
                    self._dropped("monitors")

    def end(self) -> None:
        """The call has ended."""
        self._ended()
        for monitor in self._monitors:
            monitor.end()
        self._monitors.clear()

    def follow(self, since: int) -> Monitor:
        """A new monitor, which gets all events from this number on that the feed holds."""
        monitor = Monitor(line for line in self._kept if line[0] >= since)
        self._monitors.add(monitor)
        return monitor

    def leave(self, monitor: Monitor) -> None:
        """The monitor has gone."""
        self._monitors.discard(monitor)

    def _keep(self, line: Line) -> None:
        self._last = line[0]
        self._kept.append(line)
        self._kept_bytes += len(line[1])
        while len(self._kept) > MAX_KEPT or self._kept_bytes > MAX_KEPT_BYTES:
            self._kept_bytes -= len(self._kept.popleft()[1])


class CallFeeds:
    """The feeds of all running calls."""

    def __init__(self, dropped: Callable[[str], None]) -> None:
        """`dropped` counts what full queues drop."""
        self._feeds: dict[str, CallFeed] = {}
        self._dropped = dropped
        self._waking = _Waking()

    def begin(self, call_id: str, status: CallStatus | None = None) -> CallFeed:
        """The feed of a call that begins; `status` is what is known of it before its first event."""
        feed = self._feeds[call_id] = CallFeed(lambda: self._end(call_id), self._dropped, status, self._waking)
        return feed

    def __len__(self) -> int:
        """The number of running calls."""
        return len(self._feeds)

    def newest(self, most: int) -> list[tuple[str, CallStatus]]:
        """The running calls, the newest first, each with its id."""
        return [(call_id, feed.status) for call_id, feed in islice(reversed(self._feeds.items()), most)]

    def of(self, call_id: str) -> CallFeed | None:
        """The feed of a running call; None if no such call runs here."""
        return self._feeds.get(call_id)

    def _end(self, call_id: str) -> None:
        self._feeds.pop(call_id, None)
