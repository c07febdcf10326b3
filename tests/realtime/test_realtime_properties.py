"""Whatever the turn engine and the client do, in any order, the event sequence stays well-formed."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.realtime.protocol_rules import check_sequence
from voiceagent.conversation import actions
from voiceagent.realtime.session import RealtimeSession

ids = st.integers(1, 5)
words = st.text("ab ", max_size=8)
calls = st.sampled_from(["c1", "c2", "c3"])
tools = st.sampled_from(["tool", "clients"])
CLIENTS = {"type": "function", "name": "clients", "description": "", "parameters": {}}
notices = st.one_of(
    st.builds(actions.CallerStarted, ids, st.floats(0, 5000)),
    st.builds(actions.CallerPartial, ids, words, words),
    st.builds(actions.CallerStopped, ids, st.floats(0, 5000)),
    st.builds(actions.CallerFinal, ids, words),
    st.builds(actions.NotUnderstood, ids, ids, st.sampled_from(["phrase", "apology", "offer", "check_in", "nothing"])),
    st.builds(actions.ReplyStarted, ids, ids),
    st.builds(actions.ReplyText, ids, ids, words),
    st.builds(actions.ReplyHeard, ids, words),
    st.builds(actions.ToolStarted, ids, calls, tools, st.just("{}")),
    st.builds(actions.ToolEnded, ids, calls, tools, st.just("{}"), st.booleans()),
    st.builds(actions.ReplyEnded, ids, st.sampled_from(["completed", "interrupted", "cancelled", "failed"]), words, words),
    st.builds(actions.Failure, st.just("code"), st.just("What failed.")),
)
item_ids = st.builds("item_{}".format, st.integers(1, 30))
client_events = st.one_of(
    st.text(max_size=20),
    st.fixed_dictionaries({"type": st.sampled_from(["response.create", "response.cancel", "output_audio_buffer.clear"])}).map(
        json.dumps
    ),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["conversation.item.retrieve", "conversation.item.truncate"]),
            "item_id": item_ids,
            "audio_end_ms": st.just(1),
        }
    ).map(json.dumps),
    st.builds(
        lambda text: json.dumps(
            {
                "type": "conversation.item.create",
                "item": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]},
            }
        ),
        words,
    ),
    st.builds(
        lambda call: json.dumps(
            {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": call, "output": "{}"}}
        ),
        calls,
    ),
)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.one_of(notices, client_events), max_size=40))
def test_every_order_of_events_gives_a_well_formed_sequence(steps: list[actions.Notice | str]) -> None:
    session = RealtimeSession("rtc_1", tools=[CLIENTS])
    events = session.start()
    for at_ms, step in enumerate(steps):
        if isinstance(step, str):
            events += session.on_client(step, float(at_ms)).replies
        else:
            events += session.on_notice(step, float(at_ms))
    events += session.on_end("hangup", 99.0)
    check_sequence(events, call_over=True)


@given(st.text() | st.binary().map(lambda raw: raw.decode("utf-8", "replace")))
def test_no_text_a_client_may_send_raises(text: str) -> None:
    session = RealtimeSession("rtc_1")
    outcome = session.on_client(text, 0.0)
    check_sequence(list(outcome.replies), call_over=False)


@settings(deadline=None, max_examples=3)
@given(st.integers(300, 400))
def test_a_long_call_is_remembered_within_bounds(turns: int) -> None:
    session = RealtimeSession("rtc_1")
    events = []
    for turn in range(turns):
        events += session.on_notice(actions.CallerStarted(turn, turn), turn)
        events += session.on_notice(actions.CallerFinal(turn, "a"), turn)
        events += session.on_notice(actions.ReplyStarted(turn, turn), turn)
        events += session.on_notice(actions.ReplyText(turn, 0, "b"), turn)
        events += session.on_notice(actions.ReplyEnded(turn, "completed", "b", ""), turn)
    events += session.on_end("hangup", 1.0)
    check_sequence(events, call_over=True)
