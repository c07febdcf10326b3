"""Streams of calls' events: the same in SQLite, in PostgreSQL and in Redis."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.store.places import Place
from voiceagent.store.event_streams import (
    ALL_CALLS,
    CallState,
    Consumer,
    EventStreams,
    LostCallError,
    StreamedEvent,
    StreamError,
    follow,
)
from voiceagent.store.personal_data import PersonalData
from voiceagent.turn_taking.languages import LANGUAGES

WORDS = ("weather", "sunny", "wait", "Hello")
SOON_S = 10.0


def ids(events: list[StreamedEvent]) -> list[str]:
    return [event.id for event in events]


def told(events: list[StreamedEvent]) -> list[tuple[object, object]]:
    return [(event.read()["type"], event.read()["call"]) for event in events]


def numbers(first: int, last: int) -> list[str]:
    return [str(number) for number in range(first, last + 1)]


def test_a_call_is_read_from_any_event_on_by_several_readers(place: Place) -> None:
    assert place.keep("rtc_1").counts == {}
    with place.streams() as streams, place.streams() as another:
        whole = streams.read("rtc_1")
        count = len(whole)
        assert ids(whole) == numbers(1, count)
        assert (whole[0].read()["type"], whole[0].read()["number"]) == ("call.started", 1)
        assert [event.is_end for event in whole] == [False] * (count - 1) + [True]
        assert streams.last("rtc_1") == str(count)
        assert ids(streams.read("rtc_1", "7", most=3)) == numbers(8, 10)
        assert streams.read("rtc_1", str(count)) == []
        assert another.read("rtc_1") == whole
        assert list(follow(another, "rtc_1", "3")) == whole[3:]
        assert streams.read("rtc_2") == []
        assert streams.last("rtc_2") == ""
        assert streams.calls("1") == streams.calls("rtc_1") == ["rtc_1"]
        assert streams.calls("*") == streams.calls("9") == []


def test_all_calls_have_a_stream_of_their_starts_and_ends(place: Place) -> None:
    place.keep("rtc_1", leg="telephone")
    place.keep("rtc_2", ends=False)
    with place.streams() as streams:
        found = streams.read(ALL_CALLS)
        assert told(found) == [("call.started", "rtc_1"), ("call.ended", "rtc_1"), ("call.started", "rtc_2")]
        assert {name: found[0].read()[name] for name in ("leg", "agent", "at")} == {
            "leg": "telephone",
            "agent": "Front desk",
            "at": 1_700_000_000.0,
        }
        assert {name: found[1].read()[name] for name in ("reason", "turns")} == {"reason": "hangup", "turns": 2}
        assert streams.read(ALL_CALLS, found[1].id) == found[2:]
        assert streams.last(ALL_CALLS) == found[2].id
        assert next(follow(streams, ALL_CALLS, found[0].id)) == found[1]


def test_a_reader_waits_for_what_comes(place: Place) -> None:
    place.keep("rtc_1", ends=False)
    with place.streams() as streams, ThreadPoolExecutor() as threads:
        waited = threads.submit(_read_elsewhere, place, streams.last(ALL_CALLS))
        place.keep("rtc_2", ends=False)
        assert told(waited.result(SOON_S)) == [("call.started", "rtc_2")]


def _read_elsewhere(place: Place, after: str) -> list[StreamedEvent]:
    with place.streams() as streams:
        return streams.read(ALL_CALLS, after, wait_s=SOON_S)


def test_a_call_whose_server_went_down_ends_with_an_error(place: Place) -> None:
    place.keep("rtc_1", ends=False)
    place.lose("rtc_1")
    with place.streams() as streams:
        assert streams.state("rtc_1") is CallState.LOST
        with pytest.raises(LostCallError, match="rtc_1 went down"):
            list(follow(streams, "rtc_1", wait_s=0.0))
        with pytest.raises(StreamError, match="nothing is kept"):
            next(follow(streams, "rtc_2", wait_s=0.0))


def test_a_call_goes_on_until_it_has_ended(place: Place) -> None:
    place.keep("rtc_1", ends=False, started=time.time())
    place.keep("rtc_2", started=time.time())
    with place.streams() as streams:
        assert [streams.state(call_id) for call_id in ("rtc_1", "rtc_2", "rtc_3")] == [CallState.GOES_ON, CallState.ENDED, None]


def done(streams: EventStreams, name: str, *, most: int = 500) -> list[str]:
    """The events that a consumer is given and acknowledges."""
    consumer = Consumer(streams, "rtc_1", "analytics", name)
    found: list[str] = []
    while events := consumer.take(most, wait_s=0.0):
        consumer.acknowledge(*events)
        found += ids(events)
    return found


def test_consumers_of_a_group_share_a_stream(place: Place) -> None:
    place.keep("rtc_1")
    with place.streams() as streams, place.streams() as elsewhere:
        count = int(streams.last("rtc_1"))
        consumers = [Consumer(each, "rtc_1", "analytics", name) for each, name in ((streams, "one"), (elsewhere, "two"))]
        taken = [ids(consumer.take(2, wait_s=0.0)) for _, consumer in zip(range(4), itertools.cycle(consumers), strict=False)]
        assert taken == [numbers(first, first + 1) for first in (1, 3, 5, 7)]
        assert len(done(streams, "three")) == count - 8
        assert ids(Consumer(streams, "rtc_1", "billing", "one").take(1, wait_s=0.0)) == ["1"], "each group reads all of it"


def test_consumers_that_take_at_once_get_no_event_twice(place: Place) -> None:
    def taken(name: str) -> list[str]:
        with place.streams() as streams:
            return done(streams, name, most=1)

    place.keep("rtc_1")
    with ThreadPoolExecutor() as threads:
        found = [each for events in threads.map(taken, ("one", "two", "three")) for each in events]
    assert sorted(found, key=int) == numbers(1, len(found))
    assert len(found) > 10


def test_what_a_consumer_has_not_acknowledged_comes_again_when_it_is_started_again(place: Place) -> None:
    place.keep("rtc_1")
    with place.streams() as streams:
        consumer = Consumer(streams, "rtc_1", "analytics", "one")
        events = consumer.take(5, wait_s=0.0)
        consumer.acknowledge(*events[:2])
    with place.streams() as streams:
        again = Consumer(streams, "rtc_1", "analytics", "one")
        assert [ids(again.take(2, wait_s=0.0)) for _ in range(3)] == [["3", "4"], ["5"], ["6", "7"]]
    with place.streams() as streams:
        assert done(streams, "one") == numbers(3, int(streams.last("rtc_1")))
        assert done(streams, "one") == []


def test_what_a_consumer_has_not_acknowledged_for_long_goes_to_another(place: Place) -> None:
    place.keep("rtc_1")
    with place.streams() as streams:
        Consumer(streams, "rtc_1", "analytics", "gone").take(3, wait_s=0.0)
        patient = Consumer(streams, "rtc_1", "analytics", "patient")
        assert ids(patient.take(1, wait_s=0.0)) == ["4"], "not yet"
        hasty = Consumer(streams, "rtc_1", "analytics", "hasty", redeliver_after_s=0.0)
        assert ids(hasty.take(3, wait_s=0.0)) == numbers(1, 3)
        assert Consumer(streams, "rtc_1", "analytics", "gone").take(1, wait_s=0.0)[0].id == "5", "they are another's now"


def test_a_group_of_all_calls_goes_on_with_calls_that_come(place: Place) -> None:
    with place.streams() as streams, ThreadPoolExecutor() as threads:
        consumer = Consumer(streams, ALL_CALLS, "billing", "one")
        assert consumer.take(wait_s=0.0) == []
        waited = threads.submit(_taken_elsewhere, place)
        place.keep("rtc_1", ends=False)
        assert told(waited.result(SOON_S)) == [("call.started", "rtc_1")]


def _taken_elsewhere(place: Place) -> list[StreamedEvent]:
    with place.streams() as streams:
        return Consumer(streams, ALL_CALLS, "billing", "two").take(wait_s=SOON_S)


def test_calls_of_several_servers_stand_in_one_order_and_none_is_missing(place: Place) -> None:
    calls = [f"rtc_{number}" for number in range(8)]
    with ThreadPoolExecutor(len(calls)) as threads:
        losses = list(threads.map(place.keep, calls))
    assert [lost.counts for lost in losses] == [{}] * len(calls)
    with place.streams() as streams:
        found = streams.read(ALL_CALLS)
    assert sorted(str(call) for kind, call in told(found) if kind == "call.ended") == calls
    assert len(found) == 2 * len(calls)
    assert len(set(ids(found))) == len(found)


def test_nothing_is_kept_unless_the_operator_wants_it(place: Place) -> None:
    place.keep("rtc_1", keep="nothing")
    place.keep("rtc_2", keep="facts")
    with place.streams() as streams:
        assert (streams.read("rtc_1"), streams.state("rtc_1")) == ([], None)
        facts = streams.read("rtc_2")
        assert len(facts) > 10
        assert [word for word in WORDS for event in facts if word.encode() in event.line] == []
        assert {call for _, call in told(streams.read(ALL_CALLS))} == {"rtc_2"}


def test_personal_data_is_taken_out(place: Place) -> None:
    redactor = PersonalData(["name"], [LANGUAGES["en"]]).of_call()
    redactor.note_value("name", "weather")
    place.keep("rtc_1", keep="transcripts", redactor=redactor)
    with place.streams() as streams:
        events = streams.read("rtc_1")
    assert events[-1].is_end
    assert [event for event in events if b"weather" in event.line] == []


def test_what_is_deleted_is_gone_from_all_streams(place: Place) -> None:
    for call_id in ("rtc_1", "rtc_2"):
        place.keep(call_id)
    with place.streams() as streams:
        Consumer(streams, ALL_CALLS, "billing", "one").take(wait_s=0.0)
        Consumer(streams, "rtc_1", "billing", "one").take(wait_s=0.0)
    place.forget("rtc_1")
    with place.streams() as streams:
        assert (streams.read("rtc_1"), streams.state("rtc_1"), streams.calls("")) == ([], None, ["rtc_2"])
        assert {call for _, call in told(streams.read(ALL_CALLS))} == {"rtc_2"}
        again = Consumer(streams, ALL_CALLS, "billing", "one").take(wait_s=0.0)
        assert {call for _, call in told(again)} == {"rtc_2"}


@pytest.mark.parametrize("given", ["x", "-1", "1-", "1-2-3", "9" * 30])
def test_what_is_no_id_is_refused(place: Place, given: str) -> None:
    with place.streams() as streams, pytest.raises(StreamError, match="is no id of an event"):
        streams.read("rtc_1", given)


def test_what_is_no_name_is_refused(place: Place) -> None:
    with place.streams() as streams, pytest.raises(StreamError, match="names no group"):
        Consumer(streams, ALL_CALLS, "a b", "one")


def test_a_call_of_which_nothing_is_kept_has_no_group(place: Place) -> None:
    with place.streams() as streams, pytest.raises(StreamError, match="nothing is kept of a call 'rtc_9'"):
        Consumer(streams, "rtc_9", "billing", "one")
