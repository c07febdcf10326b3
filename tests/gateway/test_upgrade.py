"""A server with two workers is stopped while the agent speaks in all its calls, as for an upgrade, and another one starts at its
address. Every call goes on there, and its caller hears all that was to be said, once."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

from tests.calls.socket_caller import SocketCaller
from tests.calls.test_killed import agent, check_story, servers
from tests.calls.test_restart import STORY
from tests.gateway.test_killed_worker import speaks, taken_up
from tests.kept_calls import whole_transcript
from voiceagent.store.database import local_store
from voiceagent.store.schema import reading

CALLS = 8
WORKERS = ("--workers", "2", "--event-logs", "50")


async def test_an_upgrade_in_the_middle_of_replies_drops_no_call(tmp_path: Path) -> None:
    store = {"VOICEAGENT_DATA": str(tmp_path / "shared")}
    async with agent(tmp_path) as file, servers(file, store) as started, AsyncExitStack() as stack:
        first = await started.start("first", *WORKERS)
        callers = [await stack.enter_async_context(SocketCaller(first.url, patient=True)) for _ in range(CALLS)]
        for caller in callers:
            await caller.wait("response.done")
            await caller.write("Tell me a story.")
        await asyncio.gather(*map(speaks, callers))
        first.process.terminate()
        await asyncio.to_thread(first.process.wait, 15)
        await started.start("second", *WORKERS, port=urlsplit(first.url).port or 0)
        await asyncio.gather(*map(taken_up, callers))
        await asyncio.gather(*map(check_story, callers))
        ids = [caller.named("session.created")[-1]["session"]["voiceagent"]["call_id"] for caller in callers]
    with reading(local_store(tmp_path / "shared")) as database:
        for call_id in ids:
            said = [entry.text for entry in whole_transcript(database, call_id) if entry.who != "call"]
            assert " ".join(said) == f"Good morning. Tell me a story. {STORY}"
