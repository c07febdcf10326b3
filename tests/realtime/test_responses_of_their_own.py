"""Item edits, responses with settings of their own, written responses, and audio by events, as a client sees them."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from tests.realtime.protocol_rules import check_sequence
from voiceagent.conversation import actions
from voiceagent.conversation.events import HistoryAdded, HistoryRemoved, ReplyCancelled, ReplyRequested, TextReceived
from voiceagent.conversation.history import Message
from voiceagent.conversation.rules import ANY_TOOL, ReplyRules
from voiceagent.realtime.response_settings import reply_rules
from voiceagent.realtime.session import EventOutcome, RealtimeSession
from voiceagent.realtime.settings import NoiseReduction


class Client:
    """A client of one session: all that it was told, and the session."""

    def __init__(self, **settings: Any) -> None:
        counter = itertools.count(1)
        self.session = RealtimeSession(
            "rtc_1", instructions="Be brief.", new_id=lambda name: f"{name}_{next(counter)}", **settings
        )
        self.told: list[dict[str, Any]] = self.session.start()

    def say(self, /, **event: Any) -> EventOutcome:
        outcome = self.session.on_client(json.dumps(event), 1000.0)
        self.told += outcome.replies
        return outcome

    def tell(self, *notices: actions.Notice, at_ms: float = 1000.0) -> list[dict[str, Any]]:
        events = [event for notice in notices for event in self.session.on_notice(notice, at_ms)]
        self.told += events
        return events

    def add(self, role: str, text: str, **more: Any) -> EventOutcome:
        kind = "output_text" if role == "assistant" else "input_text"
        item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}], **more.pop("item", {})}
        return self.say(type="conversation.item.create", item=item, **more)

    def error(self, outcome: EventOutcome) -> tuple[str, str | None]:
        assert outcome.events == ()
        (event,) = outcome.replies
        assert event["type"] == "error"
        return event["error"]["code"], event["error"]["param"]

    def check(self) -> None:
        check_sequence(self.told, call_over=False)


@pytest.fixture
def client() -> Client:
    return Client()


def wish_of(outcome: EventOutcome) -> Any:
    (event,) = outcome.events
    assert isinstance(event, ReplyRequested)
    return event.wish


def types(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


# --- items ------------------------------------------------------------------------------------------------------------


def test_items_go_where_the_client_puts_them(client: Client) -> None:
    second = client.add("user", "Two.", item={"id": "i2"})
    assert second.events == (TextReceived(1000.0, "Two.", key="i2"),)
    third = client.add("assistant", "Three.", item={"id": "i3"}, previous_item_id="i2")
    assert third.events == (HistoryAdded(1000.0, Message("assistant", "Three."), "i3"),)
    first = client.add("user", "One.", item={"id": "i1"}, previous_item_id="root")
    assert first.events == (HistoryAdded(1000.0, Message("user", "One."), "i1", ""),)
    between = client.add("system", "Be kind.", previous_item_id="i2")
    assert between.events[0].behind == "i2"  # type: ignore[attr-defined]
    assert client.error(client.add("user", "Where?", previous_item_id="i9")) == ("item_not_found", "previous_item_id")
    client.check()


def test_an_item_behind_one_of_a_tool_goes_behind_its_reply(client: Client) -> None:
    events = client.tell(
        actions.ReplyStarted(1, 1),
        actions.ToolStarted(1, "c1", "look", "{}"),
        actions.ToolEnded(1, "c1", "look", "{}", True),
        actions.ReplyText(1, 0, "Seen."),
        actions.ReplyEnded(1, "completed", "Seen.", ""),
    )
    tool = next(event["item"]["id"] for event in events if event["type"] == "conversation.item.added")
    added = client.add("user", "And?", previous_item_id=tool)
    assert added.events[0].behind == "reply 1"  # type: ignore[attr-defined]


def test_items_are_deleted_by_what_they_are(client: Client) -> None:
    client.add("user", "Hello.", item={"id": "i1"})
    assert client.say(type="conversation.item.delete", item_id="i1").events == (HistoryRemoved(1000.0, "i1", "Hello."),)
    heard = client.tell(actions.CallerStarted(1, 1.0), actions.CallerStopped(1, 2.0), actions.CallerFinal(1, "Good day."))
    spoken = heard[0]["item_id"]
    removed = client.say(type="conversation.item.delete", item_id=spoken)
    assert removed.events == (HistoryRemoved(1000.0, "utterance 1", "Good day."),)
    assert types(list(removed.replies)) == ["conversation.item.deleted"]
    assert client.error(client.say(type="conversation.item.retrieve", item_id=spoken))[0] == "item_not_found"
    client.check()


def test_an_item_of_the_running_response_stays(client: Client) -> None:
    events = client.tell(actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "Hello"))
    message = next(event["item"]["id"] for event in events if event["type"] == "conversation.item.added")
    assert client.error(client.say(type="conversation.item.delete", item_id=message))[1] == "item_id"


def test_a_tool_call_is_deleted_once_it_has_ended(client: Client) -> None:
    events = client.tell(actions.ReplyStarted(1, 1), actions.ToolStarted(1, "c1", "look", "{}"))
    tool = next(event["item"]["id"] for event in events if event["type"] == "conversation.item.added")
    client.tell(actions.ReplyEnded(1, "completed", "", ""))
    if (
        client.session.on_client(json.dumps({"type": "conversation.item.retrieve", "item_id": tool}), 1000.0).replies[0]["item"][
            "status"
        ]
        == "in_progress"
    ):
        assert client.error(client.say(type="conversation.item.delete", item_id=tool)) == ("invalid_value", "item_id")
    client.tell(actions.ToolEnded(1, "c1", "look", "{}", True))
    removed = client.say(type="conversation.item.delete", item_id=tool)
    assert removed.events == (HistoryRemoved(1000.0, "reply 1", "", "c1"),)
    assert types(list(removed.replies)) == ["conversation.item.deleted"]


def test_a_tool_call_of_an_earlier_conversation_is_taken_with_its_result(client: Client) -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
    assert client.say(type="conversation.item.create", item=call).events[0].message.tool_calls[0].call_id == "c1"  # type: ignore[attr-defined]
    result = {"type": "function_call_output", "call_id": "c1", "output": "{}"}
    assert client.say(type="conversation.item.create", item=result).events[0].message.role == "tool"  # type: ignore[attr-defined]
    stray = {"type": "function_call_output", "call_id": "c2", "output": "{}"}
    assert client.error(client.say(type="conversation.item.create", item=stray)) == ("call_not_found", "item.call_id")
    client.check()


@pytest.mark.parametrize(
    ("item", "param"),
    [
        ({"type": "message", "role": "user", "content": [{"type": "input_image", "image_url": "x"}]}, "item.content[0].type"),
        ({"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": "AAAA"}]}, "item.content[0].audio"),
        ({"type": "message", "role": "user", "content": [{"type": "output_text", "text": "x"}]}, "item.content[0].type"),
        ({"type": "message", "role": "user", "content": [{"type": "input_text"}]}, "item.content[0].text"),
        ({"type": "message", "role": "user", "content": [{"type": ["input_text"], "text": "x"}]}, "item.content[0].type"),
        ({"type": "message", "role": "judge", "content": [{"type": "input_text", "text": "x"}]}, "item.role"),
        ({"type": "mcp_approval_response", "approve": True}, "item.approval_request_id"),
        ({"type": "mcp_approval_response", "approval_request_id": "r", "approve": "yes"}, "item.approve"),
        ({"type": "mcp_call", "name": "f", "arguments": "{}", "server_label": "s"}, "item.type"),
        ({"type": "poem"}, "item.type"),
        (7, "item"),
    ],
)
def test_items_that_cannot_be_used_are_refused(client: Client, item: Any, param: str) -> None:
    assert client.error(client.say(type="conversation.item.create", item=item))[1] == param


def test_a_truncation_after_the_response_corrects_its_item(client: Client) -> None:
    events = client.tell(actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "One two three."), actions.ReplyHeard(1, ""))
    message = next(event["item"]["id"] for event in events if event["type"] == "conversation.item.added")
    client.tell(actions.ReplyEnded(1, "completed", "One two three.", ""), at_ms=2000.0)
    client.say(type="conversation.item.truncate", item_id=message, content_index=0, audio_end_ms=300)
    truncated, heard = client.tell(actions.ReplyCorrected(1, "One", 300.0))
    assert (truncated["type"], truncated["audio_end_ms"], heard["heard"]) == ("conversation.item.truncated", 300, "One")
    (shown,) = client.say(type="conversation.item.retrieve", item_id=message).replies
    assert shown["item"]["content"][0]["transcript"] == "One"
    client.check()


# --- responses --------------------------------------------------------------------------------------------------------


def test_a_response_with_settings_of_its_own_shows_them(client: Client) -> None:
    client.add("user", "Hello.")
    own = {
        "instructions": "Be kind.",
        "output_modalities": ["text"],
        "max_output_tokens": 20,
        "tool_choice": "none",
        "conversation": "none",
        "metadata": {"topic": "greeting"},
    }
    wish = wish_of(client.say(type="response.create", response=own))
    assert (wish.instructions, wish.is_detached) == ("Be kind.", True)
    assert wish.rules == ReplyRules(text_only=True, max_tokens=20, uses_tools=False)
    events = client.tell(
        actions.ReplyStarted(1, 0, wish.key, True, True),
        actions.ReplyText(1, 0, "Good morning."),
        actions.ReplyCounted(1, 30, 4),
        actions.ReplyEnded(1, "incomplete", "Good morning.", ""),
    )
    assert "conversation.item.added" not in types(events)
    assert [event["delta"] for event in events if event["type"] == "response.output_text.delta"] == ["Good morning."]
    done = events[-1]["response"]
    assert (done["status"], done["status_details"]["reason"]) == ("incomplete", "max_output_tokens")
    assert (done["metadata"], done["max_output_tokens"], done["conversation_id"]) == ({"topic": "greeting"}, 20, None)
    assert done["output_modalities"] == ["text"]
    assert done["output"][0]["content"] == [{"type": "output_text", "text": "Good morning."}]
    assert (done["usage"]["input_tokens"], done["usage"]["output_tokens"], done["usage"]["total_tokens"]) == (30, 4, 34)
    client.check()


def test_the_input_of_a_response_may_name_items(client: Client) -> None:
    client.add("user", "My name is Ann.", item={"id": "i1"})
    given = [
        {"type": "item_reference", "id": "i1"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What is it?"}]},
    ]
    wish = wish_of(client.say(type="response.create", response={"input": given, "conversation": "none"}))
    assert [message.content for message in wish.input] == ["My name is Ann.", "What is it?"]


def test_a_call_is_forced_for_a_response_or_for_all(client: Client) -> None:
    client.session.settings.offer(NoiseReduction(), tools=("get_time",))
    named = {"type": "function", "name": "get_time"}
    forced = wish_of(client.say(type="response.create", response={"tool_choice": named}))
    assert forced.rules == ReplyRules(must_call="get_time")
    client.tell(actions.ReplyStarted(1, 1, forced.key), actions.ReplyEnded(1, "completed", "", ""))
    changed = client.say(type="session.update", session={"tool_choice": "required"})
    assert changed.replies[0]["session"]["tool_choice"] == "required"
    assert changed.settings is not None
    assert reply_rules(changed.settings) == ReplyRules(must_call=ANY_TOOL)
    own = wish_of(client.say(type="response.create", response={"metadata": {}}))
    assert own.rules == ReplyRules(must_call=ANY_TOOL)


def test_no_call_is_forced_where_the_models_engine_cannot(client: Client) -> None:
    client.session.settings.offer(NoiseReduction(), tools=("get_time",), no_forcing="Ollama cannot")
    for choice in ("required", {"type": "function", "name": "get_time"}):
        session = client.say(type="session.update", session={"tool_choice": choice})
        assert client.error(session) == ("unsupported_value", "session.tool_choice")
        response = client.say(type="response.create", response={"tool_choice": choice})
        assert client.error(response) == ("unsupported_value", "response.tool_choice")


@pytest.mark.parametrize(
    ("response", "param"),
    [
        ({"voice": "marin"}, "response.voice"),
        ({"output_modalities": ["video"]}, "response.output_modalities"),
        ({"conversation": "other"}, "response.conversation"),
        ({"metadata": {"a": 1}}, "response.metadata"),
        ({"input": "hello"}, "response.input"),
        ({"input": [{"type": "item_reference", "id": "i9"}]}, "item_id"),
        ({"tools": [{"type": "function", "name": "f"}]}, "response.tools"),
        ({"tool_choice": {"type": "function", "name": "f"}}, "response.tool_choice"),
        ({"audio": {"output": {"format": {"type": "audio/pcmu"}}}}, "response.audio.output.format"),
        ({"instructions": 7}, "response.instructions"),
    ],
)
def test_settings_of_a_response_that_cannot_be_used_are_refused(client: Client, response: Any, param: str) -> None:
    client.add("user", "Hello.")
    assert client.error(client.say(type="response.create", response=response))[1] == param
    assert client.say(type="response.create").events == (ReplyRequested(1000.0),)


def test_a_second_request_before_the_first_response_begins_is_refused(client: Client) -> None:
    client.add("user", "Hello.")
    client.say(type="response.create")
    assert client.error(client.say(type="response.create"))[0] == "conversation_already_has_active_response"
    assert client.say(type="response.cancel").events == (ReplyCancelled(1000.0),)
    assert client.say(type="response.create").events == (ReplyRequested(1000.0),)


def test_what_a_client_secret_fixes_no_response_changes() -> None:
    client = Client(fixed=("instructions",))
    client.add("user", "Hello.")
    fixed = ("setting_fixed", "response.instructions")
    assert client.error(client.say(type="response.create", response={"instructions": "Obey."})) == fixed
    assert client.error(client.add("system", "Obey."))[0] == "setting_fixed"


def test_transcripts_are_told_only_to_who_wants_them(client: Client) -> None:
    client.say(type="session.update", session={"audio": {"input": {"transcription": None}}})
    events = client.tell(actions.CallerStarted(1, 1.0), actions.CallerStopped(1, 2.0), actions.CallerFinal(1, "Hello."))
    assert not [name for name in types(events) if "transcription" in name]
    client.check()


def test_an_utterance_that_the_client_ended_has_no_start_and_no_stop(client: Client) -> None:
    events = client.tell(actions.CallerCommitted(1, 100.0), actions.CallerFinal(1, "Hello."))
    assert types(events) == [
        "input_audio_buffer.committed",
        "conversation.item.added",
        "conversation.item.done",
        "conversation.item.input_audio_transcription.delta",
        "conversation.item.input_audio_transcription.completed",
    ]
    client.check()


def test_a_session_that_only_transcribes_has_no_responses(client: Client) -> None:
    client.tell(actions.ReplyStarted(1, 0))
    outcome = client.say(type="session.update", session={"type": "transcription"})
    assert outcome.events == (ReplyCancelled(1000.0),)
    assert outcome.replies[0]["session"].keys() == {"type", "object", "id", "audio", "voiceagent"}
    client.tell(actions.ReplyEnded(1, "cancelled", "", ""))
    assert client.error(client.say(type="response.create"))[0] == "unsupported"
    assert client.error(client.say(type="session.update", session={"instructions": "x"}))[1] == "session.instructions"
    client.check()


def test_the_idle_time_is_told(client: Client) -> None:
    events = client.tell(actions.CallerIdle(1000.0), at_ms=6000.0)
    assert types(events)[0] == "input_audio_buffer.timeout_triggered"
    assert (events[0]["audio_start_ms"], events[0]["audio_end_ms"]) == (1000, 6000)
    client.check()


# --- audio by events --------------------------------------------------------------------------------------------------

PAINT = {"type": "function", "name": "paint", "description": "", "parameters": {}}


@pytest.fixture
def player() -> Client:
    """A client that gets the agent's audio by events, and runs a tool."""
    client = Client(tools=[PAINT])
    client.session.settings.offer(NoiseReduction(), takes_audio=True)
    return client


def audio(client: Client, clause: int, duration_ms: float = 100.0) -> list[str]:
    events = client.session.on_audio((1, clause, duration_ms), clause, "AAAA", duration_ms)
    client.told += events
    return types(events)


def test_audio_goes_into_the_message_that_it_belongs_to(player: Client) -> None:
    player.tell(actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "One two."))
    assert audio(player, 0) == ["response.output_audio.delta"]
    ended = player.tell(actions.ReplyHeard(1, "One two."), actions.ReplyEnded(1, "completed", "One two.", ""))
    assert not [name for name in types(ended) if name.startswith("output_audio_buffer")], "the client plays by itself"
    assert audio(player, 0) == []
    player.check()


def test_no_more_than_was_sent_can_be_truncated(player: Client) -> None:
    events = player.tell(actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "One two."))
    message = next(event["item"]["id"] for event in events if event["type"] == "conversation.item.added")
    audio(player, 0, 400.0)
    far = player.say(type="conversation.item.truncate", item_id=message, content_index=0, audio_end_ms=500)
    assert player.error(far)[1] == "audio_end_ms"
    near = player.say(type="conversation.item.truncate", item_id=message, content_index=0, audio_end_ms=300)
    assert near.events[0].played_ms == 300.0  # type: ignore[attr-defined]
    cut = player.tell(actions.ReplyEnded(1, "cancelled", "One", "two."))
    assert next(event["audio_end_ms"] for event in cut if event["type"] == "conversation.item.truncated") == 300
    player.check()


def test_a_response_that_asks_for_a_tool_is_done_when_its_audio_was_sent(player: Client) -> None:
    asked = player.tell(
        actions.ReplyStarted(1, 1), actions.ReplyText(1, 0, "Red it is."), actions.ToolStarted(1, "c1", "paint", "{}")
    )
    assert "response.function_call_arguments.done" in types(asked)
    assert "response.done" not in types(asked)
    audio(player, 0)
    early = player.tell(actions.ToolEnded(1, "c1", "paint", "{}", True), actions.ReplyText(1, 1, "Painted."))
    assert early == []
    assert audio(player, 1) == [], "it waits for its response"
    over = player.tell(actions.ReplyHeard(1, "Red it is."))
    assert types(over).index("response.done") < types(over).index("response.created")
    assert types(over)[-1] == "response.output_audio.delta"
    player.tell(actions.ReplyHeard(1, "Red it is. Painted."), actions.ReplyEnded(1, "completed", "Red it is. Painted.", ""))
    player.check()
