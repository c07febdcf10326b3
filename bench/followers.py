"""Consumers of a call's events, in a process of their own: `python -m bench.followers URL REDIS` reads lines of standard input,
`follow CALL SSE REDIS STUCK` and `leave`, and answers each with a line: `following`, or how many events all of them got. Those
that are stuck are the first ones over HTTP, and never read. They give way to the server, as programs on other machines would."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
from redis.asyncio import Redis

from voiceagent.store.redis_streams import key_of
from voiceagent.task_owner import TaskOwner

NICE = 10
LEAVE_S = 5.0


class Followers:
    """Those that follow one call."""

    def __init__(self, url: str, redis: str) -> None:
        self._url, self._redis = url, redis
        self._reading = TaskOwner()
        self._open = AsyncExitStack()
        self.events = 0
        self._is_left = False

    async def follow(self, call_id: str, sse: int, redis: int, stuck: int) -> None:
        """Begin to follow a call."""
        self.events, self._is_left = 0, False
        session = await self._open.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        for number in range(sse):
            response = await session.get(f"{self._url}/v1/calls/{call_id}/events")
            response.raise_for_status()
            if number >= stuck:
                self._reading.start_alone(self._read(response), "consumer")
        for _ in range(redis):
            client: Redis = Redis.from_url(self._redis, protocol=2)
            client.response_callbacks.clear()  # answers as Redis gives them
            self._open.push_async_callback(client.aclose)
            self._reading.start_alone(self._read_redis(client, key_of(call_id)), "consumer")

    async def leave(self) -> int:
        """Leave the call. Returns how many events were got."""
        self._is_left = True  # redis-py may take a cancellation for the end of its own time-out
        await self._reading.close(LEAVE_S)
        await self._open.aclose()
        return self.events

    async def _read(self, response: aiohttp.ClientResponse) -> None:
        async for line in response.content:
            self.events += line.startswith(b"data: ")

    async def _read_redis(self, client: Redis, key: str) -> None:
        after = "0"
        while not self._is_left:
            command: Any = client.execute_command
            answer = await command("XREAD", "BLOCK", 1000, "STREAMS", key, after)
            for _, entries in answer or ():
                self.events += len(entries)
                after = entries[-1][0]


async def run(url: str, redis: str) -> None:
    """Do what is asked for until standard input ends."""
    os.nice(NICE)
    followers = Followers(url, redis)
    while line := await asyncio.to_thread(sys.stdin.readline):
        match line.split():
            case ["follow", call_id, sse, kept, stuck]:
                await followers.follow(call_id, int(sse), int(kept), int(stuck))
                print("following", flush=True)
            case ["leave"]:
                print(await followers.leave(), flush=True)


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
