"""Events that wait for a slow client: in order, joined where nothing is lost by it, and bounded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voiceagent.media.outgoing_events import MAX_JOINED, READER, OutgoingEvents, ReaderLimits
from voiceagent.realtime.session import MAX_RECENT

DELTAS = (
    "response.output_audio_transcript.delta",
    "response.output_text.delta",
    "response.function_call_arguments.delta",
    "conversation.item.input_audio_transcription.delta",
)


def taken(queue: OutgoingEvents) -> list[dict[str, Any]]:
    return [json.loads(queue.take()) for _ in range(len(queue))]


def slow(*events: dict[str, Any]) -> list[dict[str, Any]]:
    """What a slow client gets of these events."""
    queue = OutgoingEvents(ReaderLimits())
    for event in events:
        queue.put(event, joins=True)
    return taken(queue)


@pytest.mark.parametrize("kind", DELTAS)
def test_deltas_of_one_part_are_joined_and_have_the_last_id(kind: str) -> None:
    one = {"type": kind, "event_id": "1", "item_id": "a", "content_index": 0, "delta": "Once "}
    assert slow(one, {**one, "event_id": "2", "delta": "upon"}) == [{**one, "event_id": "2", "delta": "Once upon"}]


@pytest.mark.parametrize("other", [{"item_id": "b"}, {"content_index": 1}, {"type": DELTAS[1]}, {"type": "error"}])
def test_other_events_are_not_joined(other: dict[str, Any]) -> None:
    one = {"type": DELTAS[0], "event_id": "1", "item_id": "a", "content_index": 0, "delta": "Once "}
    assert slow(one, {**one, **other}) == [one, {**one, **other}]


def test_what_says_all_that_the_one_before_said_replaces_it() -> None:
    said = [{"type": "voiceagent.heard", "event_id": str(n), "item_id": "a", "heard": "Once upon"[: n * 4]} for n in range(1, 4)]
    assert slow(*said) == said[-1:]
    assert slow({**said[0], "item_id": "b"}, *said) == [{**said[0], "item_id": "b"}, said[-1]]


def test_a_client_that_keeps_up_gets_each_event() -> None:
    queue = OutgoingEvents(ReaderLimits())
    events = [{"type": DELTAS[0], "item_id": "a", "delta": "x"}] * 3
    for event in events:
        queue.put(event, joins=False)
    assert taken(queue) == events


def test_a_joined_event_is_no_larger_than_a_channel_takes() -> None:
    got = slow(*[{"type": DELTAS[0], "item_id": "a", "delta": "x" * 10_000}] * 9)
    assert 1 < len(got) < 9
    assert max(len(json.dumps(event)) for event in got) <= MAX_JOINED + 100
    assert sum(len(event["delta"]) for event in got) == 90_000


EVENTS = st.lists(
    st.tuples(st.sampled_from((*DELTAS[:2], "response.done", "voiceagent.heard")), st.sampled_from("ab"), st.text(max_size=3))
)


@given(EVENTS)
def test_nothing_is_lost_or_reordered(told: list[tuple[str, str, str]]) -> None:
    queue = OutgoingEvents(ReaderLimits())
    for number, (kind, item, text) in enumerate(told):
        field = "delta" if kind.endswith("delta") else "heard"
        queue.put({"type": kind, "event_id": number, "item_id": item, field: text}, joins=True)
    got = taken(queue)
    assert queue._size == queue._count == 0
    ids = [event["event_id"] for event in got]
    assert ids == sorted(set(ids))
    assert [(kind, item) for kind, item, _ in told if kind == "response.done"] == [
        (event["type"], event["item_id"]) for event in got if event["type"] == "response.done"
    ]
    for kind in DELTAS[:2]:
        for item in "ab":
            sent = "".join(text for *of, text in told if of == [kind, item])
            assert "".join(e["delta"] for e in got if (e["type"], e["item_id"]) == (kind, item)) == sent


def test_joined_events_count_as_many_because_a_client_that_is_back_is_told_each() -> None:
    assert 2 * READER.events <= MAX_RECENT
    queue = OutgoingEvents(READER)
    for number in range(READER.events + 1):
        assert not queue.is_full
        queue.put({"type": "voiceagent.heard", "event_id": number, "item_id": "a", "heard": "x"}, joins=True)
    assert (len(queue), queue.is_full) == (1, True)


@pytest.mark.parametrize("limits", [ReaderLimits(events=3), ReaderLimits(size_bytes=25)])
def test_too_much_is_told_but_what_is_queued_at_once_for_a_client_that_is_back_is_not(limits: ReaderLimits) -> None:
    queue = OutgoingEvents(limits)
    for joins in (*[False] * 6, *[True] * 3):
        queue.put({"n": 1}, joins=joins)
        assert not queue.is_full
    queue.put({"n": 1}, joins=True)
    assert queue.is_full
