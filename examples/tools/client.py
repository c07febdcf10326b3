"""A client with a tool of its own: it calls the agent, offers `set_timer`, types a request, runs the tool here and prints what
the agent says. `.venv/bin/python examples/tools/client.py [http://127.0.0.1:8080]`."""

from __future__ import annotations

import asyncio
import json
import sys

from voiceagent.client.caller import Caller

SET_TIMER = {
    "type": "function",
    "name": "set_timer",
    "description": "Set a timer.",
    "parameters": {"type": "object", "properties": {"minutes": {"type": "integer"}}, "required": ["minutes"]},
}


async def ask(url: str, request: str) -> str:
    """The agent's spoken answer to a typed request."""
    heard: dict[str, str] = {}
    ran = False
    async with Caller(url) as caller:
        caller.send_event({"type": "session.update", "session": {"tools": [SET_TIMER]}})
        async for event in caller.events():
            if event.type == "session.updated":
                content = [{"type": "input_text", "text": request}]
                item = {"type": "message", "role": "user", "content": content}
                caller.send_event({"type": "output_audio_buffer.clear"})  # no response begins while one runs
                caller.send_event({"type": "conversation.item.create", "item": item})
                caller.send_event({"type": "response.create"})
            elif event.type == "response.output_item.done" and event.data["item"]["type"] == "function_call":
                call = event.data["item"]
                minutes = json.loads(call["arguments"])["minutes"]
                print(f"(this client sets a timer: {minutes} minutes)")
                output = json.dumps({"timer": "set", "minutes": minutes})
                item = {"type": "function_call_output", "call_id": call["call_id"], "output": output}
                caller.send_event({"type": "conversation.item.create", "item": item})
                caller.send_event({"type": "response.create"})
                ran = True
            elif event.type == "voiceagent.heard":
                heard[event.data["item_id"]] = event.data["heard"]
            elif event.type == "output_audio_buffer.stopped" and ran:
                break
    return list(heard.values())[-1]


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
    print(asyncio.run(ask(url, "Set a timer for 5 minutes.")))
