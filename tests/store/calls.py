"""Calls of the real turn engine, kept in a store."""

from __future__ import annotations

from collections.abc import Callable

from tests.conversation.world import World
from tests.store.test_event_log import RULES, play_call
from voiceagent.conversation import events as ev
from voiceagent.conversation.actions import Action
from voiceagent.conversation.rules import Rules
from voiceagent.latency.spans import Span, Stage, TurnReport
from voiceagent.server.monitoring.call_recorder import CallRecorder, CallRecords, new_record
from voiceagent.settings.agent import Keep, RecordSettings
from voiceagent.store.database import StoreAddress
from voiceagent.store.event_log import EventLog, StoredLog
from voiceagent.store.personal_data import Redactor
from voiceagent.store.redis_connection import RedisAddress
from voiceagent.store.redis_writer import RedisWriter
from voiceagent.store.turns import TurnStore
from voiceagent.store.writer import Losses, StoreWriter

Played = Callable[[Callable[[ev.Event, tuple[Action, ...]], None]], None]


def keep_call(
    address: StoreAddress,
    call_id: str = "rtc_1",
    *,
    keep: Keep = "event_logs",
    agent: str = "Front desk",
    leg: str = "webrtc",
    started: float = 1_700_000_000.0,
    play: Played = play_call,
    recording: str = "",
    ends: bool = True,
    settings: RecordSettings | None = None,
    redactor: Redactor | None = None,
    redis: RedisAddress | None = None,
) -> Losses:
    """Keep one call; what was lost of it. Its events go to `redis`, too."""
    lost = Losses()
    writer = StoreWriter(address, lost)
    streams = None if redis is None else RedisWriter(redis, lost)
    records = CallRecords(writer, settings or RecordSettings(keep=keep), lambda: started, streams)
    record = new_record(call_id, leg, agent, "embedded", records)
    log = EventLog(StoredLog(writer, call_id), call_id, RULES) if records.settings.keep == "event_logs" else None
    recorder = CallRecorder(records, record, log, recording=lambda: recording, redactor=redactor)
    play(recorder.stepped)
    report = TurnReport(call_id, 1, started + 5, "embedded", (Span(Stage.VAD, 10.25, 3.5),), 700.5, 180.0)
    recorder.measured(report, ())
    TurnStore(writer).put(report)
    if ends:
        recorder.ended()
    for each in (writer, streams):
        if each is not None:
            each.close()
    return lost


def talk(rules: Rules = RULES) -> Callable[[Callable[[World], None]], Played]:
    """Makes a call of what is done with its world."""

    def of(script: Callable[[World], None]) -> Played:
        return lambda record: script(World(rules, record))

    return of
