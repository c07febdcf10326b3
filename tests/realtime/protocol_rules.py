"""The rules that any sequence of server events must keep, and the official SDK's types to hold each event against."""

from __future__ import annotations

import json
from typing import Any, get_args

from openai.types.realtime import RealtimeServerEvent

_UNION = get_args(RealtimeServerEvent)[0]
SDK_TYPES = {get_args(kind.model_fields["type"].annotation)[0]: kind for kind in get_args(_UNION)}


def check_against_the_sdk(event: dict[str, Any]) -> None:
    """Raises pydantic's ValidationError when the official SDK's model of the event does not fit."""
    name = event["type"]
    if not name.startswith("voiceagent."):
        SDK_TYPES[name].model_validate(event, strict=False)


def check_sequence(events: list[dict[str, Any]], *, call_over: bool) -> None:
    """Asserts that responses, items and ids are opened, used and closed in order."""
    assert len({event["event_id"] for event in events}) == len(events)
    open_responses: set[str] = set()
    closed_responses: set[str] = set()
    added: list[str] = []
    done: list[str] = []
    output: dict[str, dict[int, str]] = {}
    output_done: set[str] = set()
    playing: set[str] = set()
    for event in events:
        json.dumps(event)
        check_against_the_sdk(event)
        name = event["type"]
        match name:
            case "response.created":
                response = event["response"]["id"]
                assert not open_responses, "two responses at once"
                assert response not in closed_responses
                open_responses.add(response)
                output[response] = {}
            case "response.done":
                response = event["response"]["id"]
                open_responses.remove(response)
                closed_responses.add(response)
                assert event["response"]["status"] != "in_progress"
                assert [item["id"] for item in event["response"]["output"]] == list(output[response].values())
                assert output_done >= set(output[response].values())
            case "response.output_item.added":
                items = output[event["response_id"]]
                assert event["output_index"] == len(items)
                items[event["output_index"]] = event["item"]["id"]
            case "response.output_item.done":
                assert output[event["response_id"]][event["output_index"]] == event["item"]["id"]
                assert event["item"]["id"] not in output_done
                output_done.add(event["item"]["id"])
            case "conversation.item.added":
                assert event["previous_item_id"] == (added[-1] if added else None)
                assert event["item"]["id"] not in added
                added.append(event["item"]["id"])
            case "conversation.item.done":
                assert event["item"]["id"] in added
                assert event["item"]["id"] not in done
                done.append(event["item"]["id"])
            case "output_audio_buffer.started":
                assert event["response_id"] not in playing
                playing.add(event["response_id"])
            case "output_audio_buffer.stopped" | "output_audio_buffer.cleared":
                playing.remove(event["response_id"])
        if name.startswith("response.") and "response_id" in event:
            assert event["response_id"] in open_responses, f"{name} outside its response"
    if call_over:
        assert not open_responses
        assert not playing
        assert events[-1]["type"] == "voiceagent.call_ended"
