"""Keeps the record of each call, its events and its event log, as far as the operator wants them, and deletes what is too old."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from voiceagent.call.observer import CallObserver
from voiceagent.conversation.actions import Action, End, Failure, ReplyStarted, ToolEnded, ToolStarted, ValueCollected
from voiceagent.conversation.events import Event
from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import Miss
from voiceagent.latency.spans import TurnReport
from voiceagent.server.calls.monitors import CallFeed, CallFeeds, CallStatus
from voiceagent.settings.agent import RecordSettings
from voiceagent.store.call_events import WORDS, CallEvent, CallEvents
from voiceagent.store.event_log import EventLog
from voiceagent.store.personal_data import Redactor
from voiceagent.store.records import (
    MAX_NOTED,
    CallRecord,
    CallSummary,
    RecordedTool,
    forget_expired,
    keep_event,
    keep_record,
    mark_seen,
)
from voiceagent.store.redis_writer import RedisWriter
from voiceagent.store.sql_streams import keep_change
from voiceagent.store.writer import StoreWriter

log = logging.getLogger(__name__)

SEEN_EVERY_S = 20.0
FORGOTTEN_EVERY_S = 3600.0
MAX_EVENTS = 50_000
"""The most events that are kept of a call; later ones are counted as lost, and reach monitors alone."""
RECORDS, EVENTS, RETENTION = "call records", "call events", "retention runs"


@dataclass(slots=True)
class CallRecords:
    """The records of a server's calls."""

    writer: StoreWriter
    settings: RecordSettings
    now_s: Callable[[], float] = time.time
    streams: RedisWriter | None = None
    """A Redis that events go to, besides the store."""
    _running: set[str] = field(default_factory=set)

    @property
    def is_on(self) -> bool:
        """True if records are kept."""
        return self.settings.keep != "nothing"

    def begin(self, record: CallRecord) -> None:
        """A call has begun."""
        self._running.add(record.call_id)
        whose = {"call": record.call_id, "leg": record.leg, "agent": record.agent, "profile": record.profile}
        change: JsonObject = {"type": "call.started", **whose, "at": round(record.started, 3)}
        self.writer.put(RECORDS, keep_record(record), *keep_change(record.call_id, change))
        if self.streams is not None:
            self.streams.begin(record.call_id, change)

    def keep(self, call_id: str, events: Sequence[CallEvent]) -> None:
        """Keep events of a call, all or none."""
        lines = [(event.number, event.line(words=self.settings.keep != "facts")) for event in events]
        self.writer.put(EVENTS, *(keep_event(call_id, number, line) for number, line in lines), items=len(lines))
        if self.streams is not None:
            for number, line in lines:
                self.streams.event(call_id, number, line)

    def end(self, record: CallRecord) -> None:
        """A call is over. Makes room for it."""
        self._running.discard(record.call_id)
        became = {"reason": record.reason, "turns": record.summary.turns, "length_ms": record.summary.length_ms}
        change: JsonObject = {"type": "call.ended", "call": record.call_id, **became, "at": round(record.seen, 3)}
        self.writer.put(RECORDS, keep_record(record), *keep_change(record.call_id, change))
        if self.streams is not None:
            self.streams.end(record.call_id, change)
        self._forget()

    async def run(self) -> None:
        """Mark running calls as seen, and delete what is too old, for ever."""
        forgotten_s = -FORGOTTEN_EVERY_S
        clock = asyncio.get_running_loop().time
        while True:
            if clock() - forgotten_s >= FORGOTTEN_EVERY_S:
                forgotten_s = clock()
                self._forget()
            if self._running:
                now_s = self.now_s()
                self.writer.put(RECORDS, *(mark_seen(call_id, now_s) for call_id in self._running), items=0)
                if self.streams is not None:
                    self.streams.seen(self._running)
            await asyncio.sleep(SEEN_EVERY_S)

    def _forget(self) -> None:
        kept = self.settings
        self.writer.put(RETENTION, *forget_expired(self.now_s(), keep_days=kept.keep_days, most_calls=kept.max_calls), items=0)


class CallRecorder(CallObserver):
    """Makes the record, the events and the event log of one call."""

    def __init__(
        self,
        records: CallRecords,
        record: CallRecord,
        event_log: EventLog | None = None,
        recording: Callable[[], str] = str,
        feeds: CallFeeds | None = None,
        redactor: Redactor | None = None,
        status: CallStatus | None = None,
    ) -> None:
        """`feeds` hand events to monitors, and `status` is what these know of the call before its first event. `recording`
        returns the file of the call's recording, empty for none. With a `redactor`, events are kept when the call is over: only
        then is every personal value of it known."""
        self._records = records
        self._record = record
        self._log = event_log
        self._feeds = feeds
        self._status = status
        self._feed: CallFeed | None = None
        self._has_begun = False
        self._recording = recording
        self._events = CallEvents()
        self._summary = record.summary
        self._reason = ""
        self._last_ms = 0.0
        self._kept = 0
        self._redactor = redactor if redactor is not None and redactor.is_on else None
        self._held: list[CallEvent] = []
        """Events that are kept once the call is over."""

    def _begin(self) -> None:
        """The call runs."""
        self._has_begun = True
        record = self._record
        if self._feeds is not None:
            self._feed = self._feeds.begin(record.call_id, self._status)
        if self._records.is_on:
            self._records.begin(record)
        facts = {"call": record.call_id, "leg": record.leg, "agent": record.agent, "profile": record.profile}
        self._tell([self._events.started(0.0, **facts, started=round(record.started, 3))])

    def went_on(self, call_id: str, last: tuple[Action, ...]) -> None:
        """Note which call it was, and what of that nobody has noted."""
        if not self._has_begun:
            self._begin()
        self._tell([self._events.went_on(call_id), *self._events.of_actions(last, 0.0)])

    def stepped(self, event: Event, actions: tuple[Action, ...]) -> None:
        """Note the step."""
        if not self._has_begun:
            self._begin()
        if self._log is not None:
            self._log.record(event, actions)
        self._last_ms = max(self._last_ms, float(event.at_ms))
        events = self._events.of_step(event, actions)
        if not events and not actions:
            return
        took_ms = {found.fields["tool_call"]: found.fields["took_ms"] for found in events if found.type == "tool.ended"}
        for action in actions:
            self._note(action, took_ms)
        self._tell(events)

    def measured(self, report: TurnReport, misses: tuple[Miss, ...]) -> None:
        """Note the turn's times."""
        for noted, ms in (
            (self._summary.voice_to_voice_ms, report.voice_to_voice_ms),
            (self._summary.barge_in_stop_ms, report.barge_in_stop_ms),
        ):
            if ms is not None and len(noted) < MAX_NOTED:
                noted.append(round(float(ms), 1))
        self._tell([self._events.of_turn(report, self._last_ms, misses)])

    def ended(self) -> None:
        """Complete all of it."""
        if not self._has_begun:
            self._begin()
        if self._log is not None:
            self._log.close()
        reason = self._reason or "failed"
        self._tell([self._events.ended(self._last_ms, reason)])
        for event in self._held:
            self._records.keep(self._record.call_id, [self._redacted(event, only_known=True)])
        self._held.clear()
        if self._feed is not None:
            self._feed.end()
        if not self._records.is_on:
            return
        self._summary.length_ms, self._summary.events = round(self._last_ms, 1), self._events.last
        first, now_s = self._record, self._records.now_s()
        self._records.end(
            CallRecord(
                call_id=first.call_id,
                leg=first.leg,
                agent=first.agent,
                profile=first.profile,
                started=first.started,
                seen=now_s,
                ended=now_s,
                reason=reason,
                recording=self._recording(),
                summary=self._summary,
            )
        )

    def _note(self, action: Action, took_ms: dict[str, float]) -> None:
        match action:
            case ToolStarted(name=name, arguments=arguments) if self._redactor is not None:
                self._redactor.note_tool(name, arguments)
            case ValueCollected(value=value, kind=kind) if self._redactor is not None and value:
                self._redactor.note_value(kind, value)
            case ToolEnded(call_id=call_id, name=name, ok=ok) if len(self._summary.tools) < MAX_NOTED:
                self._summary.tools.append(RecordedTool(name, ok, took_ms.get(call_id, 0.0)))
            case Failure(code) if len(self._summary.failures) < MAX_NOTED:
                self._summary.failures.append(code)
            case ReplyStarted(turn=turn):
                self._summary.turns = max(self._summary.turns, turn)
            case End(reason):
                self._reason = reason

    def _tell(self, events: Sequence[CallEvent]) -> None:
        if not events:
            return
        events = [self._redacted(event) for event in events]
        if self._feed is not None:
            self._feed.publish(events)
        kept = [event for event in events if event.number and self._has_room(event)] if self._records.is_on else []
        if self._redactor is not None:
            self._held += kept
        elif kept:
            self._records.keep(self._record.call_id, kept)

    def _has_room(self, event: CallEvent) -> bool:
        """Count an event that is to be kept; False if there are too many."""
        if self._kept >= MAX_EVENTS and event.type != "call.ended":
            self._records.writer.lost(EVENTS, 1, f"a call has more than {MAX_EVENTS} of them")
            return False
        self._kept += 1
        return True

    def _redacted(self, event: CallEvent, *, only_known: bool = False) -> CallEvent:
        """The event without personal data. `only_known`: it was masked before, and tools have got more values since."""
        if self._redactor is None:
            return event
        mask = self._redactor.mask_known if only_known else self._redactor.mask
        fields = {
            name: mask(value) if name in WORDS and isinstance(value, str) else value for name, value in event.fields.items()
        }
        return replace(event, fields=fields)


def new_record(call_id: str, leg: str, agent: str, profile: str, records: CallRecords) -> CallRecord:
    """The record of a call that begins."""
    now_s = records.now_s()
    summary = CallSummary(keeps=records.settings.keep)
    return CallRecord(call_id=call_id, leg=leg, agent=agent, profile=profile, started=now_s, seen=now_s, summary=summary)
