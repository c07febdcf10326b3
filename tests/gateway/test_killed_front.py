"""The first process of `voiceagent serve --workers 2` is killed. Calls over WebRTC go on, since their media and events go
straight to their workers, and the workers end with the last of them."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import psutil

from tests.calls.scripted_model import NO_TOOLS, Message, agent_on
from tests.calls.socket_caller import SocketCaller
from voiceagent.client.caller import Caller


def says(messages: list[Message]) -> str:
    return "I am still here."


async def heard_of(caller: Caller, text: str) -> str:
    """What the caller hears of the answer to a typed message."""
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    caller.send_event({"type": "conversation.item.create", "item": item})
    caller.send_event({"type": "response.create"})
    heard = ""
    async with asyncio.timeout(30):
        async for event in caller.events():
            heard = str(event.data["heard"]) if event.type == "voiceagent.heard" else heard
            if event.type == "output_audio_buffer.stopped":
                break
    return heard


async def test_calls_over_webrtc_go_on_and_the_workers_end_with_them(tmp_path: Path) -> None:
    settings = "turn: {resume_timeout_s: 2}\nphrases: {greeting: ''}\n"
    async with agent_on(tmp_path, says, NO_TOOLS, settings, "--workers", "2", exit_code=-signal.SIGKILL) as server:
        front = server.process.pid
        workers = psutil.Process(front).children()
        async with Caller(server.url) as by_webrtc, SocketCaller(server.url) as by_socket:
            assert await heard_of(by_webrtc, "Hello.") == "I am still here."
            os.kill(front, signal.SIGKILL)
            await by_socket.until(lambda: by_socket.closed[0] is not None)
            assert await heard_of(by_webrtc, "And now?") == "I am still here."
            assert any(worker.is_running() for worker in workers)
        _, left = await asyncio.to_thread(psutil.wait_procs, workers, timeout=30)
        assert not left
    said = "\n".join(server.said())
    assert "the server's first process has ended; this worker takes no more calls, and ends with its last" in said
