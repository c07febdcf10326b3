"""The rules that any sequence of server events must keep, and the official SDK's types to hold each event against. One checker is
used by all tests: `ProtocolRules` takes the events as they come."""

from __future__ import annotations

import json
from typing import Any, get_args

from openai.types.realtime import RealtimeServerEvent
from pydantic import TypeAdapter

_ADAPTER: TypeAdapter[Any] = TypeAdapter(RealtimeServerEvent)
_UNION = get_args(RealtimeServerEvent)[0]
SDK_TYPES = {get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(_UNION)}
NEVER = ("conversation.item.created", "conversation.created")
WITHOUT_ID = "input_audio_buffer.dtmf_event_received"
"""The SDK's type of it has no id."""


def check_against_the_sdk(event: dict[str, Any]) -> None:
    """Raises pydantic's ValidationError when the official SDK cannot parse the event as what it is."""
    name = event["type"]
    if not name.startswith("voiceagent."):
        SDK_TYPES[name].model_validate(event, strict=False)
        assert type(_ADAPTER.validate_python(event)).__name__ == SDK_TYPES[name].__name__


class _Response:
    """What was told of a response."""

    def __init__(self, is_detached: bool) -> None:
        self.is_detached = is_detached
        self.items: dict[int, str] = {}
        self.done: dict[str, Any] = {}
        self.parts: dict[str, str] = {}
        """The kind of the open content part of an item: text or audio."""
        self.closed_parts: set[str] = set()
        self.is_over = False


class ProtocolRules:
    """The rules for one client of one call."""

    def __init__(self, *, joins: bool = False, takes_more_clients: bool = False) -> None:
        """`joins`: the client joins a running call, so there may be items that it was not told of. `takes_more_clients`: these
        are the events of all who join the call or are back."""
        self._joins = joins
        self._takes_more_clients = takes_more_clients
        self._ids: set[str] = set()
        self._responses: dict[str, _Response] = {}
        self._order: list[str] = []
        self._removed: set[str] = set()
        self._done: dict[str, Any] = {}
        self._speaking: set[str] = set()
        self._stopped: set[str] = set()
        self._committed: set[str] = set()
        self._transcribed: set[str] = set()
        self._playing: set[str] = set()
        self._count = 0
        self._last = ""

    def take(self, event: dict[str, Any]) -> None:
        """Assert that the event may come now."""
        json.dumps(event)
        check_against_the_sdk(event)
        name = event["type"]
        assert name not in NEVER
        if name != WITHOUT_ID:
            assert event["event_id"] not in self._ids
            self._ids.add(event["event_id"])
        assert self._last != "voiceagent.call_ended", "an event after the end of the call"
        if name == "session.created":
            assert not self._count or self._takes_more_clients, "session.created comes first"
        self._count, self._last = self._count + 1, name
        if name.startswith("conversation.item."):
            self._item(name, event)
        elif name.startswith("input_audio_buffer."):
            self._input(name, event)
        elif name.startswith("response."):
            self._response(name, event)
        elif name == "output_audio_buffer.started":
            assert event["response_id"] not in self._playing
            self._playing.add(event["response_id"])
        elif name in ("output_audio_buffer.stopped", "output_audio_buffer.cleared"):
            self._playing.remove(event["response_id"])

    def end(self) -> None:
        """Assert that the call has ended, with everything of it."""
        assert all(response.is_over for response in self._responses.values())
        assert not self._playing
        assert self._last == "voiceagent.call_ended"

    def _item(self, name: str, event: dict[str, Any]) -> None:
        item_id = event.get("item_id") or event["item"]["id"]
        match name.removeprefix("conversation.item."):
            case "added":
                assert item_id not in self._order
                assert item_id not in self._removed
                before = event["previous_item_id"]
                assert before is None or before in self._order or self._is_long or self._joins
                self._order.insert(self._order.index(before) + 1 if before in self._order else 0, item_id)
            case "done":
                assert item_id in self._order
                assert item_id not in self._done, "an item is done once"
                self._done[item_id] = event["item"]
            case "deleted":
                self._order.remove(item_id)
                self._removed.add(item_id)
            case "input_audio_transcription.delta":
                assert item_id in self._committed, "no text before the utterance is over"
                assert item_id not in self._transcribed, "no text after the final one"
            case "input_audio_transcription.completed" | "input_audio_transcription.failed":
                assert item_id in self._committed
                assert item_id not in self._transcribed, "a transcription ends once"
                self._transcribed.add(item_id)

    @property
    def _is_long(self) -> bool:
        return len(self._order) > 200

    def _input(self, name: str, event: dict[str, Any]) -> None:
        item_id = event.get("item_id", "")
        match name.removeprefix("input_audio_buffer."):
            case "speech_started":
                assert item_id not in self._speaking
                self._speaking.add(item_id)
            case "speech_stopped":
                assert item_id in self._speaking, "speech stops that never started"
                assert item_id not in self._stopped
                self._stopped.add(item_id)
            case "committed":
                assert item_id not in self._committed
                assert item_id not in self._speaking or item_id in self._stopped
                self._committed.add(item_id)

    def _response(self, name: str, event: dict[str, Any]) -> None:
        if name == "response.created":
            told = event["response"]
            assert told["id"] not in self._responses
            assert all(response.is_over for response in self._responses.values()), "two responses at once"
            self._responses[told["id"]] = _Response(told["conversation_id"] is None)
            return
        if name == "response.done":
            self._response_done(event["response"])
            return
        if "response_id" not in event:  # the API's own events of a server's tools have none
            open_ones = [response for response in self._responses.values() if not response.is_over]
            assert open_ones
            assert event["item_id"] in open_ones[-1].items.values()
            assert event["item_id"] not in open_ones[-1].done
            return
        response = self._responses[event["response_id"]]
        assert not response.is_over, f"{name} after response.done"
        if name == "response.output_item.added":
            assert event["output_index"] == len(response.items), "output_index is dense from 0"
            response.items[event["output_index"]] = event["item"]["id"]
        elif name == "response.output_item.done":
            item_id = event["item"]["id"]
            assert response.items[event["output_index"]] == item_id
            assert item_id not in response.done, "an item of a response is done once"
            assert item_id not in response.parts or item_id in response.closed_parts, "a part is closed before its item"
            response.done[item_id] = event["item"]
        else:
            item_id = event["item_id"]
            assert response.items[event["output_index"]] == item_id
            assert item_id not in response.done, f"{name} after its item is done"
            self._part(name, event, response, item_id)

    @staticmethod
    def _part(name: str, event: dict[str, Any], response: _Response, item_id: str) -> None:
        if name == "response.content_part.added":
            assert item_id not in response.parts, "a message has one part"
            response.parts[item_id] = event["part"]["type"]
        elif name == "response.content_part.done":
            assert response.parts[item_id] == event["part"]["type"]
            response.closed_parts.add(item_id)
        elif name.startswith("response.output_"):
            assert item_id not in response.closed_parts, f"{name} after its part is done"
            assert response.parts[item_id] == ("text" if "output_text" in name else "audio")

    def _response_done(self, told: dict[str, Any]) -> None:
        response = self._responses[told["id"]]
        assert not response.is_over
        assert told["status"] != "in_progress"
        assert [item["id"] for item in told["output"]] == [response.items[index] for index in range(len(response.items))]
        for item in told["output"]:
            assert item == response.done[item["id"]], "an item is in the response as it was done"
            assert item.get("status") != "in_progress"
            if response.is_detached:
                assert item["id"] not in self._order
            else:
                assert self._done[item["id"]] == item
        response.is_over = True


def check_sequence(events: list[dict[str, Any]], *, call_over: bool) -> None:
    """Assert the rules for a whole call, or for the beginning of one."""
    rules = ProtocolRules()
    for event in events:
        rules.take(event)
    if call_over:
        rules.end()
