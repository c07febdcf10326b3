"""Call records, on both engines: what is kept, found, deleted, and deleted by itself."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.conversation.world import World
from tests.store.calls import keep_call, talk
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Rules, ToolRule
from voiceagent.settings.agent import RecordSettings
from voiceagent.store.database import StoreAddress, StoreError, local_store
from voiceagent.store.event_log import EventLogError, read_log
from voiceagent.store.personal_data import PersonalData
from voiceagent.store.records import (
    LOST_AFTER_S,
    CallFilter,
    CallRecord,
    RecordedTool,
    all_events,
    delete_calls,
    find_call,
    find_calls,
    kept_events,
    record_of,
)
from voiceagent.store.schema import connect, reading
from voiceagent.store.turns import read_turns
from voiceagent.turn_taking.languages import LANGUAGES

WORDS = ("weather", "sunny", "wait", "Hello")


def found(address: StoreAddress, wanted: CallFilter | None = None) -> list[str]:
    with reading(address) as database:
        return [record.call_id for record in find_calls(database, wanted or CallFilter())]


def events(address: StoreAddress, call_id: str = "rtc_1") -> list[dict[str, object]]:
    with reading(address) as database:
        return [json.loads(line) for line in all_events(database, call_id)]


def tables(address: StoreAddress) -> dict[str, int]:
    with reading(address) as database:
        names = ("calls", "call_events", "event_logs", "turns")
        return {name: int(database.execute(f"SELECT count(*) FROM voiceagent_{name}")[0][0] or 0) for name in names}


def test_a_record_says_which_call_it_was_and_how_it_went(address: StoreAddress) -> None:
    assert keep_call(address, leg="telephone", recording="/data/rtc_1.wav").counts == {}
    record = record_of(address, "rtc_1")
    assert record is not None
    assert (record.leg, record.agent, record.profile, record.started) == ("telephone", "Front desk", "embedded", 1_700_000_000.0)
    assert (record.ended, record.reason, record.recording) == (1_700_000_000.0, "hangup", "/data/rtc_1.wav")
    summary = record.summary
    assert (summary.turns, summary.tools, summary.failures) == (2, [RecordedTool("book", True, 0.0)], [])
    assert (summary.voice_to_voice_ms, summary.barge_in_stop_ms, summary.keeps) == ([700.5], [180.0], "event_logs")
    assert summary.length_ms == 600.0
    assert summary.events == len(events(address))
    assert record_of(address, "rtc_") is None


def test_events_are_numbered_and_tell_the_call(address: StoreAddress) -> None:
    keep_call(address)
    told = events(address)
    assert [event["number"] for event in told] == list(range(1, len(told) + 1))
    assert told[0]["type"] == "call.started"
    assert (told[0]["agent"], told[0]["call"]) == ("Front desk", "rtc_1")
    assert (told[-1]["type"], told[-1]["reason"]) == ("call.ended", "hangup")
    assert [event["heard"] for event in told if event["type"] == "agent.said"] == ["Hello.", "It is"]
    (measured,) = [event for event in told if event["type"] == "turn.measured"]
    assert (measured["voice_to_voice_ms"], measured["stages_ms"]) == (
        700.5,
        {"vad": [3.5], "voice_to_voice": [700.5], "barge_in_stop": [180.0]},
    )
    with reading(address) as database:
        assert [number for number, _ in kept_events(database, "rtc_1", 5, 3)] == [5, 6, 7]


def test_nothing_is_kept_unless_it_is_configured(address: StoreAddress) -> None:
    keep_call(address, settings=RecordSettings())
    assert tables(address) == {"calls": 0, "call_events": 0, "event_logs": 0, "turns": 1}


def test_facts_hold_no_word(address: StoreAddress) -> None:
    keep_call(address, keep="facts")
    text = json.dumps(events(address))
    assert not [word for word in WORDS if word in text]
    assert [event["words"] for event in events(address) if event["type"] == "caller.said"] == [5, 2]
    assert tables(address)["event_logs"] == 0
    keep_call(address, "rtc_2", keep="transcripts")
    text = json.dumps(events(address, "rtc_2"))
    assert [word for word in WORDS if word in text] == list(WORDS)
    assert tables(address)["event_logs"] == 0


def test_personal_data_is_not_kept_not_even_what_a_tool_tells_of_later(address: StoreAddress) -> None:
    def book(world: World) -> None:
        world.begin()
        world.say("Kovacs with a K. Call 555 010 4477.")
        world.call_tool("book", '{"surname": "Kovacs", "dish": "soup"}')
        world.generated()
        world.feed(ev.CallStateKept(world.now_ms, '{"guest": "Kovacs"}'))
        world.finish_tool('{"booked": "Kovacs"}')
        world.answer("Thank you, Kovacs.")
        world.play_all()
        world.feed(ev.HangUp(world.now_ms, "hangup"))

    schema = {"type": "object", "properties": {"surname": {"type": "string"}, "dish": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "book", "description": "Book.", "parameters": schema}}
    redactor = PersonalData(("name", "phone"), [LANGUAGES["en"]], [tool]).of_call()
    rules = Rules(language="en", tools={"book": ToolRule("external")})
    keep_call(address, keep="transcripts", play=talk(rules)(book), redactor=redactor)
    text = json.dumps(events(address))
    assert not [raw for raw in ("kovacs", "4477") if raw in text.casefold()]
    assert {event["type"]: event for event in events(address)}["agent.said"]["heard"] == "Thank you, [name]."
    assert [event["text"] for event in events(address) if event["type"] == "caller.said"] == ["[name] with a K. Call [phone]."]
    assert "soup" in text


def test_calls_are_found_by_time_leg_agent_and_beginning(address: StoreAddress) -> None:
    keep_call(address, "rtc_1a", started=1_000.0)
    keep_call(address, "rtc_1b", started=2_000.0, leg="telephone")
    keep_call(address, "rtc_2", started=3_000.0, agent="Night desk")
    assert found(address) == ["rtc_2", "rtc_1b", "rtc_1a"]
    assert found(address, CallFilter(since=2_000.0)) == ["rtc_2", "rtc_1b"]
    assert found(address, CallFilter(until=2_000.0)) == ["rtc_1a"]
    assert found(address, CallFilter(leg="telephone")) == ["rtc_1b"]
    assert found(address, CallFilter(agent="Night desk")) == ["rtc_2"]
    assert found(address, CallFilter(begins="1")) == found(address, CallFilter(begins="rtc_1")) == ["rtc_1b", "rtc_1a"]
    assert found(address, CallFilter(begins="%")) == found(address, CallFilter(agent="' OR 1=1 --")) == []
    assert found(address, CallFilter(last=1)) == ["rtc_2"]
    with reading(address) as database:
        assert find_call(database, "1a").call_id == "rtc_1a"
        with pytest.raises(StoreError, match="2 calls begin with '1'"):
            find_call(database, "1")
        for call in ("rtc_9", "", "rtc_1a' --"):
            with pytest.raises(StoreError, match=r"no call .* is kept"):
                find_call(database, call)


def test_a_deleted_call_leaves_no_trace(address: StoreAddress) -> None:
    keep_call(address, "rtc_1")
    keep_call(address, "rtc_2")
    database = connect(address, writes=True)
    delete_calls(database, ["rtc_1"])
    database.close()
    assert found(address) == ["rtc_2"]
    assert events(address, "rtc_1") == []
    with pytest.raises(EventLogError, match="no event log"):
        read_log(address, "rtc_1")
    assert [turn.call_id for turn in read_turns(address)] == ["rtc_2"]
    assert list(read_log(address, "rtc_2")[1])


def test_the_file_holds_no_deleted_word(tmp_path: Path) -> None:
    address = local_store(tmp_path)
    keep_call(address, "rtc_1")
    keep_call(address, "rtc_2", play=lambda record: None)
    assert any(b"sunny" in path.read_bytes() for path in tmp_path.iterdir())
    database = connect(address, writes=True)
    delete_calls(database, ["rtc_1"])
    database.close()
    assert not any(b"sunny" in path.read_bytes() for path in tmp_path.iterdir())


def test_old_calls_and_those_beyond_the_number_are_deleted(address: StoreAddress) -> None:
    day_s, now_s = 86_400.0, time.time()
    settings = RecordSettings(keep="event_logs", keep_days=30, max_calls=3)
    for number, age_days in enumerate((40, 20, 10, 5)):
        keep_call(
            address, f"rtc_{number}", started=now_s - age_days * day_s, settings=RecordSettings(keep="event_logs", keep_days=99)
        )
    assert len(found(address)) == 4
    keep_call(address, "rtc_4", started=now_s, settings=settings)
    assert found(address) == ["rtc_4", "rtc_3", "rtc_2"]
    assert tables(address)["event_logs"] == 3 * 3
    keep_call(address, "rtc_5", started=now_s + 27 * day_s, settings=settings)
    assert found(address) == ["rtc_5", "rtc_4"], "rtc_3 is older than 30 days now"
    assert {event["type"] for event in events(address, "rtc_3")} == set()


def test_a_call_that_goes_on_is_not_deleted(address: StoreAddress) -> None:
    settings = RecordSettings(keep="facts", max_calls=1)
    keep_call(address, "rtc_1", started=1_000.0, ends=False)
    keep_call(address, "rtc_2", started=1_001.0, settings=settings)
    assert found(address) == ["rtc_2", "rtc_1"]
    keep_call(address, "rtc_3", started=1_001.0 + LOST_AFTER_S, settings=settings)
    assert found(address) == ["rtc_3"], "no server has marked it as seen"


def test_a_call_whose_server_went_down_is_lost() -> None:
    record = CallRecord(call_id="rtc_1", leg="webrtc", agent="A", profile="cpu", started=0.0, seen=100.0)
    assert (record.goes_on(150.0), record.outcome(150.0)) == (True, "")
    assert (record.goes_on(100.0 + LOST_AFTER_S), record.outcome(100.0 + LOST_AFTER_S)) == (False, "lost")


def test_any_name_of_an_agent_is_kept(address: StoreAddress) -> None:
    keep_call(address, agent="Ö\0 'desk'? %s \U0001f600")
    assert found(address, CallFilter(agent="Ö� 'desk'? %s \U0001f600")) == ["rtc_1"]
