"""While the agent speaks in calls of two workers, the PostgreSQL that keeps them is killed, and its standby takes its place. The
Redis that their events go to is killed, and comes back. No caller notices, and nothing of any call is missing anywhere."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

from tests.calls.scripted_model import NO_TOOLS, Message, agent_on
from tests.calls.socket_caller import SocketCaller
from tests.gateway.test_workers import one_at_each
from tests.postgresql import PASSWORD, USER, postgresql
from tests.redis_server import redis_server
from voiceagent.store.call_events import transcript
from voiceagent.store.database import StoreAddress
from voiceagent.store.records import all_events, kept_events
from voiceagent.store.redis_streams import RedisStreams
from voiceagent.store.schema import connect

MORE = 4
"""Calls besides one at each worker."""
SETTINGS = "phrases: {greeting: Good morning., fillers: []}\n"
STORY = " ".join(f"This is sentence {number} of the story that you asked for." for number in ("one", "two", "three", "four"))
SAID = ["Good morning.", "hello.", "You said hello.", "Tell me a story.", STORY, "goodbye.", "You said goodbye.", "ended: hangup"]


def says(messages: list[Message]) -> str:
    asked = messages[-1]["content"]
    return STORY if asked == "Tell me a story." else f"You said {asked}"


async def answered(caller: SocketCaller, text: str) -> None:
    """The caller writes, and hears all of the answer."""
    since = len(caller.events)
    await caller.write(text)
    await caller.wait("response.done", since)


async def spoken_in(caller: SocketCaller) -> int:
    """The caller asks for a story, and hears its beginning; returns how many events came before."""
    since = len(caller.events)
    await caller.write("Tell me a story.")
    await caller.wait("voiceagent.heard", since)
    return since


async def test_a_killed_primary_and_a_killed_redis_cost_no_call_a_word_and_no_history_an_event(tmp_path: Path) -> None:
    with ExitStack() as stores:
        primary = stores.enter_context(postgresql())
        database = primary.new_store(tmp_path).url.rpartition("/")[2]
        standby = stores.enter_context(primary.standby())
        redis = stores.enter_context(redis_server())
        hosts = f"127.0.0.1:{primary.port},127.0.0.1:{standby.port}"
        environment = {
            "VOICEAGENT_STORE": f"postgresql://{USER}:{PASSWORD}@{hosts}/{database}",
            "VOICEAGENT_EVENTS": redis.address.url,
        }
        options = ("--workers", "2", "--event-logs", "50")
        async with (
            agent_on(tmp_path, says, NO_TOOLS, SETTINGS, *options, environment=environment) as server,
            AsyncExitStack() as stack,
        ):
            at_each = await stack.enter_async_context(one_at_each(server))
            more = [await stack.enter_async_context(SocketCaller(server.url, patient=True)) for _ in range(MORE)]
            callers = [*at_each, *more]
            await asyncio.gather(*(caller.wait("response.done") for caller in callers))
            await asyncio.gather(*(answered(caller, "hello.") for caller in callers))
            before = await asyncio.gather(*map(spoken_in, callers))
            primary.kill()
            redis.stop()
            await asyncio.to_thread(standby.promote)
            await asyncio.to_thread(redis.start)
            await asyncio.gather(*(caller.wait("response.done", since) for caller, since in zip(callers, before, strict=True)))
            await asyncio.gather(*(answered(caller, "goodbye.") for caller in callers))
            call_ids = [caller.call_id for caller in callers]
        assert "not kept" not in "\n".join(server.said())
        streams = RedisStreams(redis.address)
        kept = connect(StoreAddress(tmp_path / "none", standby.url(database)))
        for call_id in call_ids:
            numbers = [number for number, _ in kept_events(kept, call_id)]
            assert numbers == list(range(1, len(numbers) + 1))
            assert [entry.text for entry in transcript(all_events(kept, call_id))] == SAID
            assert [int(event.id) for event in streams.read(call_id)] == numbers
        kept.close()
        streams.close()
