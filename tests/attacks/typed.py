"""Typed turns over a real call's event channel."""

from __future__ import annotations

from typing import Any

from voiceagent.client.dialogue import Dialogue


def typed(text: str) -> dict[str, Any]:
    """The event that says `text`."""
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"type": "conversation.item.create", "item": item}


async def typed_turn(dialogue: Dialogue, text: str) -> dict[str, Any]:
    """Say `text` and wait for the reply's end: the response."""
    since = dialogue.event_count
    dialogue.caller.send_event({"type": "output_audio_buffer.clear"})
    dialogue.caller.send_event(typed(text))
    dialogue.caller.send_event({"type": "response.create"})
    done = await dialogue.wait_event(lambda event: event.type == "response.done", since, "the reply's end")
    return dict(done.data["response"])
