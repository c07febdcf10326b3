"""One of two workers is killed while the agent speaks. With `turn.resume_after_restart: always` its calls go on at the other,
over either transport, and nothing that was heard is lost or said again."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import AsyncExitStack
from pathlib import Path

from tests.calls.socket_caller import SocketCaller
from tests.calls.test_killed import agent, check_story
from tests.calls.test_restart import STORY, ask_by_webrtc, is_rest, words_heard
from tests.gateway.test_workers import pid_of
from tests.server_process import running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.errors import MediaError
from voiceagent.server.calls.call_ids import worker_of


async def by_webrtc(url: str, stack: AsyncExitStack) -> Caller:
    """A call. A server that is busy for a moment is asked again."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await stack.enter_async_context(Caller(url))
            except MediaError as refused:
                if "(503)" not in str(refused):
                    raise
                await asyncio.sleep(1.0)


async def taken_up(caller: SocketCaller) -> None:
    """Take the call up again once its connection is lost."""
    await caller.until(lambda: caller.closed[0] is not None)
    await caller.resume()


async def heard(caller: SocketCaller, story: str) -> None:
    """Wait until the caller has heard all of it."""
    await caller.until(lambda: " ".join(caller.heard().values()) == story)


async def speaks(caller: SocketCaller) -> None:
    """Wait until the caller hears the story."""
    await caller.until(lambda: words_heard(caller) > 8)


async def test_the_calls_of_a_killed_worker_go_on_at_another(tmp_path: Path) -> None:
    async with agent(tmp_path) as file, AsyncExitStack() as stack:
        starting = running_server(tmp_path, "--config", str(file), "--workers", "2")
        server = await asyncio.to_thread(starting.__enter__)
        stack.push_async_callback(asyncio.to_thread, starting.__exit__, None, None, None)  # the model answers meanwhile
        sockets = [await stack.enter_async_context(SocketCaller(server.url, patient=True)) for _ in range(4)]
        browsers = [await by_webrtc(server.url, stack) for _ in range(2)]
        dialogues = [await stack.enter_async_context(Dialogue(caller)) for caller in browsers]
        for caller in sockets:
            await caller.wait("response.done")
            await caller.write("Tell me a story.")
        for browser, dialogue in zip(browsers, dialogues, strict=True):
            await dialogue.wait_greeting()
            ask_by_webrtc(browser, "Tell me a story.")
        await asyncio.gather(*map(speaks, sockets))
        killed = worker_of(sockets[0].call_id)
        cut = [worker_of(browser.call_id) == killed for browser in browsers]
        os.kill(pid_of(server, killed), signal.SIGKILL)
        killed_s = time.monotonic()
        lost = [caller for caller in sockets if worker_of(caller.call_id) == killed]
        await asyncio.gather(*map(taken_up, lost))
        print(f"{len(lost)} calls taken up {time.monotonic() - killed_s:.2f} s after their worker was killed")
        await asyncio.gather(*map(check_story, lost))
        for browser, dialogue, is_cut in zip(browsers, dialogues, cut, strict=True):
            if is_cut:
                done = await dialogue.wait_event(is_rest, 0, "the rest")
                assert STORY.endswith(done.data["response"]["output"][0]["content"][0]["transcript"])
            assert browser.resumed == is_cut
        for caller in sockets:
            if caller not in lost:
                await heard(caller, f"Good morning. {STORY}")
