"""A call's notices become OpenAI Realtime events, and a client's events become requests."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.realtime.protocol_rules import check_sequence
from voiceagent.conversation import actions
from voiceagent.conversation.events import (
    ReplyCancelled,
    ReplyRequested,
    ReplyTruncated,
    TextReceived,
)
from voiceagent.errors import ProtocolError
from voiceagent.latency.spans import Span, Stage, TurnReport
from voiceagent.realtime.session import FOLLOW_UP_MS, EventOutcome, RealtimeSession
from voiceagent.realtime.settings import NoiseReduction


@pytest.fixture
def session() -> RealtimeSession:
    counter = itertools.count(1)
    return RealtimeSession("rtc_1", agent="Demo", instructions="Be brief.", new_id=lambda prefix: f"{prefix}_{next(counter)}")


def tell(session: RealtimeSession, *notices: actions.Notice, at_ms: float = 1000.0) -> list[dict[str, Any]]:
    return on_the_wire([event for notice in notices for event in session.on_notice(notice, at_ms)])


def on_the_wire(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list(json.loads(json.dumps(events)))


def say(session: RealtimeSession, /, **event: Any) -> EventOutcome:
    return session.on_client(json.dumps(event), 1000.0)


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def only(events: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (event,) = (event for event in events if event["type"] == name)
    return event


def error_of(outcome: EventOutcome) -> dict[str, Any]:
    assert outcome.events == ()
    (event,) = outcome.replies
    assert event["type"] == "error"
    assert "\n" not in event["error"]["message"]
    return dict(event["error"])


def test_a_call_opens_with_its_session(session: RealtimeSession) -> None:
    (event,) = session.start()
    assert event["type"] == "session.created"
    assert event["session"]["instructions"] == "Be brief."
    assert event["session"]["voiceagent"]["call_id"] == "rtc_1"
    check_sequence([event], call_over=False)


def test_an_utterance_is_told_from_its_onset_to_its_final_text(session: RealtimeSession) -> None:
    events = tell(
        session,
        actions.CallerStarted(1, 200.0),
        actions.CallerPartial(1, "what time", "is"),
        actions.CallerStopped(1, 900.4),
        actions.CallerFinal(1, "What time is it?"),
    )
    assert types(events) == [
        "input_audio_buffer.speech_started",
        "voiceagent.transcript.partial",
        "input_audio_buffer.speech_stopped",
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.completed",
    ]
    assert events[0]["audio_start_ms"] == 200
    assert events[2]["audio_end_ms"] == 900
    assert events[1]["stable"] == "what time"
    item = events[0]["item_id"]
    (retrieved,) = on_the_wire(list(say(session, type="conversation.item.retrieve", item_id=item).replies))
    assert retrieved["item"]["content"] == [{"type": "input_audio", "transcript": "What time is it?"}]
    check_sequence(events, call_over=False)


def test_an_utterance_that_was_not_understood_is_told_after_its_empty_text(session: RealtimeSession) -> None:
    events = tell(
        session,
        actions.CallerStarted(1, 200.0),
        actions.CallerStopped(1, 1900.0),
        actions.CallerFinal(1, ""),
        actions.NotUnderstood(1, 2, "phrase"),
    )
    assert types(events)[-2:] == ["conversation.item.input_audio_transcription.completed", "voiceagent.not_understood"]
    assert (events[-1]["item_id"], events[-1]["times"], events[-1]["answer"]) == (events[0]["item_id"], 2, "phrase")
    check_sequence(events, call_over=False)


def test_a_reply_with_a_tool_is_one_response(session: RealtimeSession) -> None:
    events = tell(
        session,
        actions.ReplyStarted(1, 1),
        actions.ToolStarted(1, "c1", "get_time", '{"city":"Paris"}'),
        actions.ToolEnded(1, "c1", "get_time", '{"time":"10:04"}', True),
        actions.ReplyText(1, 0, "It is four past ten"),
        actions.ReplyText(1, 1, "in Paris."),
        actions.ReplyHeard(1, "It is"),
        actions.ReplyHeard(1, "It is four past ten in Paris."),
        actions.ReplyEnded(1, "completed", "It is four past ten in Paris.", ""),
    )
    check_sequence(events, call_over=False)
    done = only(events, "response.done")["response"]
    assert done["status"] == "completed"
    assert [item["type"] for item in done["output"]] == ["mcp_call", "message"]
    assert done["output"][0]["output"] == '{"time":"10:04"}'
    assert done["output"][1]["content"] == [{"type": "output_audio", "transcript": "It is four past ten in Paris."}]
    deltas = [event["delta"] for event in events if event["type"] == "response.output_audio_transcript.delta"]
    assert deltas == ["It is four past ten", " in Paris."]
    assert [event["status"] for event in events if event["type"] == "voiceagent.tool"] == ["running", "completed"]
    assert types(events)[-2:] == ["response.done", "output_audio_buffer.stopped"]


def test_an_interrupted_reply_keeps_only_what_was_heard(session: RealtimeSession) -> None:
    started = tell(session, actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "One two three four."))
    started += tell(session, actions.ReplyHeard(1, "One"), at_ms=2000.0)
    ended = tell(session, actions.ReplyEnded(1, "interrupted", "One two", "three four."), at_ms=2500.0)
    check_sequence(started + ended, call_over=False)
    assert types(ended)[0] == "output_audio_buffer.cleared"
    assert only(ended, "voiceagent.heard")["unheard"] == "three four."
    assert only(ended, "conversation.item.truncated")["audio_end_ms"] == 500
    response = only(ended, "response.done")["response"]
    assert response["status"] == "cancelled"
    assert response["status_details"]["reason"] == "turn_detected"
    assert response["output"][0]["status"] == "incomplete"
    assert response["output"][0]["content"][0]["transcript"] == "One two"


def test_a_reply_that_is_cut_within_its_first_word_was_playing(session: RealtimeSession) -> None:
    started = tell(session, actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "One two three four."))
    started += tell(session, actions.ReplyHeard(1, ""), at_ms=2000.0)
    assert types(started)[-1] == "output_audio_buffer.started"
    ended = tell(session, actions.ReplyEnded(1, "interrupted", "", "One two three four."), at_ms=2100.0)
    check_sequence(started + ended, call_over=False)
    assert types(ended)[0] == "output_audio_buffer.cleared"


def test_a_tool_that_outlives_its_reply_is_abandoned_and_its_result_told_later(session: RealtimeSession) -> None:
    events = tell(
        session,
        actions.ReplyStarted(1, 1),
        actions.ToolStarted(1, "c1", "book", "{}"),
        actions.ReplyEnded(1, "interrupted", "", ""),
        actions.ToolEnded(1, "c1", "book", '"booked"', True),
        actions.ToolEnded(1, "c1", "book", '"booked"', True),
    )
    check_sequence(events, call_over=False)
    assert [event["status"] for event in events if event["type"] == "voiceagent.tool"] == ["running", "abandoned", "completed"]
    assert types(events)[-1] == "voiceagent.tool"


def test_a_failed_reply_says_so(session: RealtimeSession) -> None:
    events = tell(
        session,
        actions.ReplyStarted(1, 1),
        actions.ReplyText(1, 0, "Once upon"),
        actions.Failure("llm_failed", "The language model failed."),
        actions.ReplyEnded(1, "failed", "Once", "upon"),
    )
    assert only(events, "error")["error"]["type"] == "server_error"
    response = only(events, "response.done")["response"]
    assert (response["status"], response["status_details"]["error"]["code"]) == ("failed", "llm_failed")
    (message,) = response["output"]
    assert (message["status"], message["content"][0]["transcript"]) == ("incomplete", "Once")
    check_sequence(events, call_over=False)


@pytest.mark.parametrize(
    ("reason", "status"), [("hangup", "cancelled"), ("failed", "failed"), ("quota_used", "failed"), ("server_stopping", "failed")]
)
def test_a_reply_that_the_end_of_the_call_cuts_keeps_what_was_heard_and_says_why(
    session: RealtimeSession, reason: str, status: str
) -> None:
    events = tell(session, actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "Once upon"), actions.ReplyHeard(1, "Once"))
    events += session.on_end(reason, 3000.0)
    check_sequence(events, call_over=True)
    response = only(events, "response.done")["response"]
    (message,) = response["output"]
    assert (response["status"], message["status"], message["content"][0]["transcript"]) == (status, "incomplete", "Once")
    details = response["status_details"]
    if status == "cancelled":
        assert details["reason"] == "client_cancelled"
    else:
        assert details["error"]["code"] == reason


def test_the_end_of_a_call_ends_the_open_response_and_is_the_last_event(session: RealtimeSession) -> None:
    events = tell(session, actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "Well"), actions.ReplyHeard(1, "Well"))
    events += session.on_end("hangup", 3000.0)
    check_sequence(events, call_over=True)
    assert events[-1]["reason"] == "hangup"
    assert session.on_end("hangup", 3000.0) == []
    assert tell(session, actions.ReplyStarted(2, 1)) == []
    assert session.on_client("{", 1.0) == EventOutcome()


def test_a_dropped_reply_that_was_never_announced_leaves_no_trace(session: RealtimeSession) -> None:
    assert tell(session, actions.ReplyEnded(7, "cancelled", "", "")) == []
    assert tell(session, actions.ToolEnded(7, "c", "t", "{}", True)) == []


def test_a_turn_is_measured_from_the_end_of_speech(session: RealtimeSession) -> None:
    report = TurnReport(
        call_id="rtc_1",
        turn=1,
        at=0.0,
        profile="embedded",
        spans=(Span(Stage.STT_PARTIAL, 800.0, 20.0), Span(Stage.ENDPOINT, 1000.0, 500.0), Span(Stage.LLM_TTFT, 1510.0, 80.0)),
        voice_to_voice_ms=640.0,
        barge_in_stop_ms=None,
    )
    (event,) = on_the_wire(session.on_turn(report, {Stage.LLM_TTFT: 50.0, Stage.VOICE_TO_VOICE: 750.0}))
    assert [(span["stage"], span["start_ms"], span["ok"]) for span in event["spans"]] == [
        ("stt_partial", -200.0, True),
        ("endpoint", 0.0, True),
        ("llm_ttft", 510.0, False),
    ]
    assert event["missed"] == ["llm_ttft"]
    assert event["voice_to_voice_limit_ms"] == 750.0


def test_a_typed_message_is_added_and_passed_on(session: RealtimeSession) -> None:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": " What time is it? "}]}
    outcome = say(session, type="conversation.item.create", item=item)
    item_id = outcome.replies[0]["item"]["id"]
    assert outcome.events == (TextReceived(1000.0, "What time is it?", key=item_id),)
    assert types(list(outcome.replies)) == ["conversation.item.added", "conversation.item.done"]
    assert say(session, type="response.create").events == (ReplyRequested(1000.0),)


def test_a_second_response_is_refused_while_one_runs_whatever_was_typed(session: RealtimeSession) -> None:
    tell(session, actions.ReplyStarted(1, 1))
    assert error_of(say(session, type="response.create"))["code"] == "conversation_already_has_active_response"
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Stop"}]}
    say(session, type="conversation.item.create", item=item)
    assert error_of(say(session, type="response.create"))["code"] == "conversation_already_has_active_response"
    tell(session, actions.ReplyEnded(1, "cancelled", "", ""))
    assert say(session, type="response.create").events == (ReplyRequested(1000.0),)


def test_cancelling_is_asked_for_once(session: RealtimeSession) -> None:
    assert error_of(say(session, type="response.cancel"))["code"] == "response_cancel_not_active"
    assert say(session, type="output_audio_buffer.clear") == EventOutcome()
    tell(session, actions.ReplyStarted(1, 1))
    assert say(session, type="response.cancel").events == (ReplyCancelled(1000.0),)
    assert say(session, type="output_audio_buffer.clear") == EventOutcome()


def test_a_session_update_is_merged_and_its_instructions_are_exposed(session: RealtimeSession) -> None:
    changes = {"model": "gpt-realtime", "instructions": "Be kind.", "audio": {"output": {"voice": "marin"}}}
    outcome = say(session, type="session.update", session=changes)
    assert outcome.instructions == "Be kind."
    updated = only(list(outcome.replies), "session.updated")["session"]
    assert updated["audio"]["output"] == {"format": {"type": "audio/pcm", "rate": 24_000}, "voice": "marin", "speed": 1.0}
    assert updated["output_modalities"] == ["audio"]
    check_sequence(list(outcome.replies), call_over=False)
    assert say(session, type="session.update", session={"model": "x"}).instructions is None


NEAR, FAR = {"type": "near_field"}, {"type": "far_field"}


def ask_noise_reduction(session: RealtimeSession, wanted: Any) -> EventOutcome:
    audio = {"input": {"noise_reduction": wanted}}
    return say(session, type="session.update", session={"instructions": "Be kind.", "audio": audio})


def noise_reduction_of(outcome: EventOutcome) -> Any:
    return only(list(outcome.replies), "session.updated")["session"]["audio"]["input"]["noise_reduction"]


def test_a_client_turns_noise_reduction_on_and_off(session: RealtimeSession) -> None:
    assert session.start()[0]["session"]["audio"]["input"]["noise_reduction"] is None
    for wanted, changes in ((NEAR, True), (FAR, None), (None, False)):
        outcome = ask_noise_reduction(session, wanted)
        assert (outcome.reduces_noise, noise_reduction_of(outcome)) == (changes, wanted)
        check_sequence(list(outcome.replies), call_over=False)


def test_noise_reduction_that_the_leg_is_set_to_is_shown() -> None:
    session = RealtimeSession("rtc_1")
    session.settings.offer(NoiseReduction(is_on=True))
    assert session.start()[0]["session"]["audio"]["input"]["noise_reduction"] == NEAR
    assert say(session, type="session.update", session={"model": "x"}).reduces_noise is None
    assert ask_noise_reduction(session, None).reduces_noise is False


def test_noise_reduction_that_this_server_has_not_is_refused_and_the_rest_is_applied() -> None:
    session = RealtimeSession("rtc_1", instructions="Be brief.")
    session.settings.offer(NoiseReduction(why_not="it needs a package"))
    outcome = ask_noise_reduction(session, FAR)
    assert (outcome.reduces_noise, outcome.instructions, noise_reduction_of(outcome)) == (None, "Be kind.", None)
    refusal = only(list(outcome.replies), "error")["error"]
    assert refusal["param"] == "session.audio.input.noise_reduction"
    assert refusal["message"] == "Noise is not suppressed here: it needs a package. The rest of the update was applied."


@pytest.mark.parametrize("wanted", [{"type": "hall"}, {}, "near_field", 7, {"type": ["near_field"]}])
def test_noise_reduction_of_another_kind_changes_nothing(session: RealtimeSession, wanted: Any) -> None:
    before = session.settings.current
    refused = error_of(ask_noise_reduction(session, wanted))
    assert (refused["code"], refused["param"]) == ("invalid_value", "session.audio.input.noise_reduction")
    assert session.settings.current == before


def test_an_agent_with_long_instructions_takes_updates_of_other_things() -> None:
    session = RealtimeSession("rtc_1", instructions="x" * 20_000)
    assert only(list(say(session, type="session.update", session={"model": "x"}).replies), "session.updated")


PAINT = {"type": "function", "name": "paint", "description": "", "parameters": {}}


@pytest.fixture
def painter() -> RealtimeSession:
    """A session whose client runs the tool `paint`."""

    def offer(tools: object) -> list[dict[str, Any]]:
        if tools != [PAINT]:
            raise ProtocolError("Only paint is taken.")
        return [PAINT]

    counter = itertools.count(1)
    session = RealtimeSession("rtc_1", new_id=lambda prefix: f"{prefix}_{next(counter)}", offer_tools=offer)
    updated = only(list(say(session, type="session.update", session={"tools": [PAINT]}).replies), "session.updated")
    assert updated["session"]["tools"] == [PAINT]
    return session


def result_of(session: RealtimeSession, call_id: str, output: str = "{}") -> EventOutcome:
    item = {"type": "function_call_output", "call_id": call_id, "output": output}
    return say(session, type="conversation.item.create", item=item)


def test_a_tool_of_the_client_ends_a_response_and_its_result_begins_another(painter: RealtimeSession) -> None:
    asked = tell(painter, actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "Red it is."))
    asked += tell(painter, actions.ToolStarted(1, "c1", "paint", '{"colour":"red"}'))
    first = only(asked, "response.done")["response"]
    assert first["status"] == "completed"
    assert [item["type"] for item in first["output"]] == ["message", "function_call"]
    assert first["output"][1] | {"id": ""} == {
        "id": "",
        "object": "realtime.item",
        "type": "function_call",
        "status": "completed",
        "call_id": "c1",
        "name": "paint",
        "arguments": '{"colour":"red"}',
    }
    assert only(asked, "response.function_call_arguments.done")["name"] == "paint"
    outcome = result_of(painter, "c1", '{"ok":true}')
    assert outcome.tool_results == (("c1", '{"ok":true}'),)
    assert outcome.events == ()
    assert say(painter, type="response.create") == EventOutcome()
    more = list(outcome.replies)
    more += tell(painter, actions.ReplyHeard(1, "Red it is."), actions.ToolEnded(1, "c1", "paint", '{"ok":true}', True))
    more += tell(painter, actions.ReplyText(1, 1, "It is painted."), actions.ReplyHeard(1, "Red it is. It is"))
    more += tell(painter, actions.ReplyEnded(1, "completed", "Red it is. It is painted.", ""))
    check_sequence(asked + more, call_over=False)
    (second,) = (event["response"] for event in more if event["type"] == "response.done")
    assert second["id"] != first["id"]
    assert [item["content"][0]["transcript"] for item in second["output"]] == ["It is painted."]
    heard = {event["item_id"]: event["heard"] for event in more if event["type"] == "voiceagent.heard"}
    assert list(heard.values()) == ["Red it is.", "It is painted."]
    assert [event["status"] for event in asked + more if event["type"] == "voiceagent.tool"] == ["running", "completed"]
    ended = [event["response_id"] for event in more if event["type"] == "output_audio_buffer.stopped"]
    assert ended == [first["id"], second["id"]]


def test_a_response_that_is_asked_for_late_is_the_one_that_has_begun_after_the_clients_tool(painter: RealtimeSession) -> None:
    tell(painter, actions.ReplyStarted(1, 1), actions.ToolStarted(1, "c1", "paint", "{}"))
    result_of(painter, "c1")
    tell(painter, actions.ToolEnded(1, "c1", "paint", "{}", True), actions.ReplyText(1, 0, "Done."))
    assert say(painter, type="response.create") == EventOutcome()
    assert types(list(say(painter, type="response.create").replies)) == ["error"], "only once"


def test_two_tools_of_the_client_are_two_responses_and_want_no_answers_of_their_own(painter: RealtimeSession) -> None:
    events = tell(painter, actions.ReplyStarted(1, 1), actions.ToolStarted(1, "c1", "paint", "{}"))
    events += tell(painter, actions.ToolStarted(1, "c2", "paint", "{}"))
    assert types(events).count("response.done") == 2
    for call_id in ("c1", "c2"):
        assert result_of(painter, call_id).tool_results == ((call_id, "{}"),)
    assert say(painter, type="response.create") == EventOutcome()
    tell(painter, actions.ReplyText(1, 0, "Done."), actions.ReplyEnded(1, "completed", "Done.", ""))
    late = say(painter, type="response.create")
    assert late.events == ()
    assert types(list(late.replies)) == ["response.created", "response.done"]
    assert say(painter, type="response.create").events == (ReplyRequested(1000.0),)


def test_a_tool_of_the_server_keeps_the_response_open_beside_the_clients(painter: RealtimeSession) -> None:
    events = tell(painter, actions.ReplyStarted(1, 1), actions.ToolStarted(1, "s1", "look", "{}"))
    events += tell(painter, actions.ToolStarted(1, "c1", "paint", "{}"))
    assert "response.done" not in types(events)
    events += tell(painter, actions.ToolEnded(1, "s1", "look", "{}", True))
    assert [item["type"] for item in only(events, "response.done")["response"]["output"]] == ["mcp_call", "function_call"]
    events += tell(painter, actions.ReplyEnded(1, "interrupted", "", ""))
    check_sequence(events, call_over=False)


def test_words_before_the_clients_tool_may_be_cut_after_their_response(painter: RealtimeSession) -> None:
    events = tell(painter, actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "One two three."))
    events += tell(painter, actions.ReplyHeard(1, "One"), actions.ToolStarted(1, "c1", "paint", "{}"))
    cut = tell(painter, actions.ReplyEnded(1, "interrupted", "One two", "three."), at_ms=1500.0)
    check_sequence(events + cut, call_over=False)
    assert "response.done" not in types(cut)
    assert only(cut, "conversation.item.truncated")["audio_end_ms"] == 500
    assert [event for event in cut if event["type"] == "voiceagent.heard"][-1]["unheard"] == "three."
    assert types(cut).count("output_audio_buffer.cleared") == 1
    assert [event["status"] for event in cut if event["type"] == "voiceagent.tool"] == ["abandoned"]
    assert result_of(painter, "c1").tool_results == (("c1", "{}"),)


def test_a_response_that_is_asked_for_after_a_tool_of_the_server_is_no_second_answer(session: RealtimeSession) -> None:
    tell(session, actions.ReplyStarted(1, 1), actions.ToolStarted(1, "s1", "look", "{}"))
    tell(session, actions.ToolEnded(1, "s1", "look", "{}", True), actions.ReplyText(1, 0, "Seen."))
    tell(session, actions.ReplyEnded(1, "completed", "Seen.", ""))
    asked = say(session, type="response.create")
    assert asked.events == ()
    assert types(list(asked.replies)) == ["response.created", "response.done"]
    assert say(session, type="response.create").events == (ReplyRequested(1000.0),)


def test_long_after_a_tool_a_response_is_asked_for_in_earnest(session: RealtimeSession) -> None:
    tell(session, actions.ReplyStarted(1, 1), actions.ToolStarted(1, "s1", "look", "{}"))
    tell(session, actions.ToolEnded(1, "s1", "look", "{}", True), actions.ReplyEnded(1, "completed", "Seen.", ""))
    late_ms = 1000.0 + FOLLOW_UP_MS + 1.0
    assert session.on_client('{"type": "response.create"}', late_ms).events == (ReplyRequested(late_ms),)


def test_a_typed_message_may_be_answered_though_a_result_was_not_followed_up(painter: RealtimeSession) -> None:
    tell(painter, actions.ReplyStarted(1, 1), actions.ToolStarted(1, "c1", "paint", "{}"))
    result_of(painter, "c1")
    tell(painter, actions.ReplyText(1, 0, "Done."), actions.ReplyEnded(1, "completed", "Done.", ""))
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]}
    say(painter, type="conversation.item.create", item=item)
    assert say(painter, type="response.create").events == (ReplyRequested(1000.0),)


def test_tools_that_are_not_taken_leave_the_others(painter: RealtimeSession) -> None:
    outcome = say(painter, type="session.update", event_id="mine", session={"tools": [{"name": "f"}], "instructions": "Be kind."})
    assert types(list(outcome.replies)) == ["session.updated", "error"]
    assert outcome.replies[0]["session"]["tools"] == [PAINT]
    assert outcome.replies[1]["error"]["message"] == "Only paint is taken. The rest of the update was applied."
    assert outcome.replies[1]["error"]["event_id"] == "mine"
    assert outcome.instructions == "Be kind."


def test_where_no_tools_are_taken_they_are_refused_with_a_reason(session: RealtimeSession) -> None:
    outcome = say(session, type="session.update", session={"tools": [{"type": "function", "name": "f"}]})
    assert types(list(outcome.replies)) == ["session.updated", "error"]
    assert "agent.yaml" in outcome.replies[1]["error"]["message"]


def test_function_outputs_are_tolerated(session: RealtimeSession) -> None:
    item = {"type": "function_call_output", "call_id": "c1", "output": "{}"}
    outcome = say(session, type="conversation.item.create", item=item)
    assert outcome.events == ()
    check_sequence(list(outcome.replies), call_over=False)


def test_a_truncation_is_taken_of_what_was_played_of_the_agents_messages(session: RealtimeSession) -> None:
    events = tell(session, actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "Hello there"), actions.ReplyHeard(1, ""))
    events += tell(session, actions.ReplyHeard(1, "Hello"), actions.CallerStarted(1, 5.0), at_ms=1400.0)
    message = only(events, "response.output_item.added")["item"]["id"]
    cut = say(session, type="conversation.item.truncate", item_id=message, content_index=0, audio_end_ms=300)
    assert cut.events == (ReplyTruncated(1000.0, 1, 300.0),)
    far = say(session, type="conversation.item.truncate", event_id="mine", item_id=message, content_index=0, audio_end_ms=999_999)
    assert (error_of(far)["param"], error_of(far)["event_id"]) == ("audio_end_ms", "mine")
    tell(session, actions.CallerStopped(1, 9.0))
    spoken = only(events, "input_audio_buffer.speech_started")["item_id"]
    refused = error_of(say(session, type="conversation.item.truncate", item_id=spoken, content_index=0, audio_end_ms=1))
    assert refused["param"] == "item_id"


UNUSABLE: list[tuple[dict[str, Any], str, str]] = [
    ({"model": 7}, "session.model", "invalid_value"),
    ({"tool_choice": {"type": "function", "name": "get_news"}}, "session.tool_choice", "invalid_value"),
    ({"tool_choice": {"type": "function"}}, "session.tool_choice", "invalid_value"),
    ({"tool_choice": {"type": "mcp", "server_label": "s"}}, "session.tool_choice", "unsupported_value"),
    ({"tool_choice": "often"}, "session.tool_choice", "invalid_value"),
    ({"output_modalities": ["audio", "text"]}, "session.output_modalities", "invalid_value"),
    ({"output_modalities": "audio"}, "session.output_modalities", "invalid_value"),
    ({"max_output_tokens": 0}, "session.max_output_tokens", "invalid_value"),
    ({"max_output_tokens": True}, "session.max_output_tokens", "invalid_value"),
    ({"parallel_tool_calls": "no"}, "session.parallel_tool_calls", "invalid_value"),
    ({"prompt": {"id": "pmpt_1"}}, "session.prompt", "unsupported_value"),
    ({"reasoning": {"effort": "low"}}, "session.reasoning", "unsupported_value"),
    ({"include": ["item.input_audio_transcription.logprobs"]}, "session.include", "unsupported_value"),
    ({"type": "translation"}, "session.type", "invalid_value"),
    ({"type": "transcription"}, "session.instructions", "unknown_parameter"),
    ({"id": "sess_mine"}, "session.id", "invalid_value"),
    ({"temperature": 0.8}, "session.temperature", "unknown_parameter"),
    ({"audio": {"input": {"turn_detection": {"type": "magic"}}}}, "session.audio.input.turn_detection", "invalid_value"),
    ({"audio": {"input": {"turn_detection": {"type": ["server_vad"]}}}}, "session.audio.input.turn_detection", "invalid_value"),
    (
        {"audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 2}}}},
        "session.audio.input.turn_detection",
        "invalid_value",
    ),
    ({"audio": {"input": {"format": {"type": "audio/pcm", "rate": 16_000}}}}, "session.audio.input.format", "invalid_value"),
    ({"audio": {"input": {"format": {"type": "audio/pcmu"}}}}, "session.audio.input.format", "invalid_value"),
    ({"audio": {"input": {"transcription": {"prompt": "names"}}}}, "session.audio.input.transcription", "unsupported_value"),
    ({"audio": {"output": {"voice": 7}}}, "session.audio.output.voice", "invalid_value"),
    ({"audio": {"output": {"speed": 9}}}, "session.audio.output.speed", "invalid_value"),
    ({"audio": {"loudness": 1}}, "session.audio.loudness", "unknown_parameter"),
    ({"truncation": {"type": "retention_ratio", "retention_ratio": "half"}}, "session.truncation", "invalid_value"),
]


@pytest.mark.parametrize(("changes", "param", "code"), UNUSABLE)
def test_settings_that_cannot_be_used_are_refused_and_leave_no_trace(
    session: RealtimeSession, changes: dict[str, Any], param: str, code: str
) -> None:
    before = session.settings.current
    refused = error_of(say(session, type="session.update", event_id="mine", session={"instructions": "Be kind.", **changes}))
    assert (refused["param"], refused["code"], refused["event_id"]) == (param, code, "mine")
    assert session.settings.current == before


def test_the_shown_session_may_be_sent_back(session: RealtimeSession) -> None:
    shown = session.start()[0]["session"]
    (updated,) = on_the_wire(list(say(session, type="session.update", session=shown).replies))
    assert updated["type"] == "session.updated"
    assert updated["session"] == shown


@pytest.mark.parametrize("name", [" response.create", "session.update"])
def test_a_field_that_an_event_has_not_is_refused(session: RealtimeSession, name: str) -> None:
    refused = error_of(say(session, type=name.strip(), event_id="mine", session={}, colour="red"))
    assert (refused["code"], refused["event_id"]) == ("unknown_parameter", "mine")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "invalid_json"),
        ("[" * 5000, "invalid_json"),
        ("[]", "invalid_json"),
        ('{"type": 5}', "unknown_event"),
        ('{"type": "make.coffee"}', "unknown_event"),
        ('{"type": "session.update", "session": 1}', "invalid_value"),
        ('{"type": "session.update", "session": {"instructions": 1}}', "invalid_value"),
        ('{"type": "session.update", "session": {"audio": 1}}', "invalid_value"),
        ('{"type": "conversation.item.retrieve", "item_id": "item_x"}', "item_not_found"),
        ('{"type": "conversation.item.retrieve"}', "missing_parameter"),
        ('{"type": "conversation.item.delete", "item_id": "item_x"}', "item_not_found"),
        ('{"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": []}}', "invalid_value"),
        ('{"type": "conversation.item.create", "item": {"type": "message", "role": "system"}}', "missing_parameter"),
        ('{"type": "input_audio_buffer.append", "audio": ""}', "unsupported"),
        ('{"type": "x", "pad": "' + "x" * 70_000 + '"}', "event_too_large"),
    ],
)
def test_what_cannot_be_used_is_answered_with_one_clear_line(session: RealtimeSession, text: str, code: str) -> None:
    error = error_of(session.on_client(text, 0.0))
    assert error["code"] == code
    assert error["message"].endswith(".")


def test_an_error_names_the_client_event_that_caused_it(session: RealtimeSession) -> None:
    error = error_of(say(session, type="conversation.item.truncate", event_id="mine", item_id="x", audio_end_ms=-1))
    assert error["event_id"] == "mine"
    assert error["param"] == "audio_end_ms"


@pytest.mark.parametrize("depth", [70, 500, 5000])
def test_a_session_that_nests_too_deep_is_refused_and_leaves_no_trace(session: RealtimeSession, depth: int) -> None:
    text = json.dumps({"type": "session.update", "session": {"model": "DEEP"}}).replace('"DEEP"', "[" * depth + "]" * depth)
    assert error_of(session.on_client(text, 1000.0))["code"] in ("invalid_value", "invalid_json")
    (updated,) = say(session, type="session.update", session={"model": "mine"}).replies
    assert updated["session"]["model"] == "mine"


@pytest.mark.parametrize("tracing", [{"group_id": -1}, {"workflow_name": []}, {"name": "x"}, "manual", 1])
def test_tracing_that_the_sdk_could_not_read_is_refused(session: RealtimeSession, tracing: object) -> None:
    error = error_of(say(session, type="session.update", session={"type": "realtime", "tracing": tracing}))
    assert (error["code"], error["param"]) == ("invalid_value", "session.tracing")
