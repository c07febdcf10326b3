"""The events of a call, followed as a monitor follows them: `GET /v1/calls/{id}/events`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import aiohttp

from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.task_owner import TaskOwner
from voiceagent.untrusted_json import read_struct

MAX_EVENTS = 20_000
NOT_YET, TRIES, PAUSE_S = 404, 50, 0.02


class FollowedCall:
    """One call's events so far. `async with` it."""

    def __init__(self, url: str, token: str, call_id: str) -> None:
        """`token` is an operator's or monitor's, where the server wants one."""
        self.events: list[JsonObject] = []
        self._address = f"{url}/v1/calls/{call_id}/events"
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._changed = asyncio.Event()
        self._problem = ""
        self._is_over = False
        self._tasks = TaskOwner()

    async def __aenter__(self) -> FollowedCall:
        self._tasks.start_alone(self._follow(), "events of a scenario's call")
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._tasks.close()

    async def until(self, wanted: Callable[[list[JsonObject]], bool], timeout_s: float, what: str) -> None:
        """Wait until the events are as wanted, or the call is over. Raises MediaError."""
        try:
            async with asyncio.timeout(timeout_s):
                while not wanted(self.events) and not self._is_over:
                    if self._problem:
                        raise MediaError(self._problem)
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError as error:
            raise MediaError(f"waited {timeout_s:g} s for {what}") from error

    async def _follow(self) -> None:
        try:
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:
                for _ in range(TRIES):  # it begins with the call's first event
                    async with session.get(self._address, headers=self._headers) as response:
                        if response.status == NOT_YET:
                            await asyncio.sleep(PAUSE_S)
                            continue
                        if response.status != 200:
                            self._problem = (
                                f"{self._address}: refused ({response.status}); give a monitor's key with --monitor-token"
                            )
                            return
                        await self._read(response)
                        return
                self._problem = f"{self._address}: the server does not know the call"
        except aiohttp.ClientError as error:
            self._problem = f"{self._address}: {str(error) or type(error).__name__}"
        finally:
            self._is_over = self._is_over or bool(self._problem)
            self._changed.set()

    async def _read(self, response: aiohttp.ClientResponse) -> None:
        async for line in response.content:
            if not line.startswith(b"data:") or len(self.events) >= MAX_EVENTS:
                continue
            event: JsonObject = read_struct(line[5:].decode(), dict)
            if "number" in event:
                self.events.append(event)
                self._is_over = event["type"] == "call.ended"
                self._changed.set()
        self._is_over = True
