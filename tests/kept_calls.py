"""The calls that a server has kept. It writes them a moment after a call has ended."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from voiceagent.store.call_events import TranscriptEntry, transcript
from voiceagent.store.database import Database, local_store
from voiceagent.store.event_log import Head, Recorded, read_log
from voiceagent.store.records import CallFilter, CallRecord, all_events, find_calls
from voiceagent.store.schema import reading

PATIENCE_S = 20.0
CHECKED_S = 0.02


def latest_log(data: Path, call_id: str = "") -> tuple[Head, Iterator[Recorded]]:
    """That of this call, or else of the call that began last, once it is complete."""
    return read_log(local_store(data), ended_call(data, call_id).call_id)


def ended_call(data: Path, call_id: str = "") -> CallRecord:
    """The record of this call, or else of the call that began last, once it is complete."""
    until_s = time.monotonic() + PATIENCE_S
    while (call := _latest(data, call_id)).ended is None:
        assert time.monotonic() < until_s, f"{call.call_id} has not ended"
        time.sleep(CHECKED_S)
    return call


def _latest(data: Path, call_id: str) -> CallRecord:
    with reading(local_store(data)) as database:
        (latest,) = find_calls(database, CallFilter(last=1, begins=call_id))
    return latest


def whole_transcript(database: Database, call_id: str) -> list[TranscriptEntry]:
    """Of a call, and before it of those that other servers had left, and which went on in it."""
    lines = list(all_events(database, call_id))
    before = [event["call"] for event in map(json.loads, lines) if event["type"] == "call.went_on"]
    return [entry for earlier in before for entry in whole_transcript(database, earlier)] + transcript(lines)
