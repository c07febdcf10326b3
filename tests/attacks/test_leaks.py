"""A thousand calls and two hundred that never connected leave nothing behind."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import aiohttp
import psutil

from tests.attacks.figures import at_most, hold
from tests.attacks.test_hogs import offer_of_a_call
from tests.server_process import running_server
from voiceagent.client.caller import Caller
from voiceagent.errors import MediaError

WARM, CYCLES, AT_ONCE = 200, 1000, 6
HALF_OPEN = 200
GROWTH = 2.0
RETRY_S = 0.5
SETTLED = 10
"""So many readings in a row are the same, all over one connection: one that is just closing still has its descriptor."""
SETTINGS = """
name: Leak test
admission: {max_calls: 64, per_client: {offers_per_s: 1000, connecting: 64}}
"""


async def settled(url: str, process: psutil.Process, key: str = "any") -> dict[str, float]:
    """What the server holds once no call is up."""
    readings: list[dict[str, float]] = []
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
        for _ in range(1000):  # a call whose caller has vanished waits for it, for a minute
            async with session.get(f"{url}/metrics") as answer:
                found = dict(re.findall(r"^(voiceagent_\w+) ([\d.]+)$", await answer.text(), re.MULTILINE))
            counts = {
                "tasks": float(found["voiceagent_tasks"]),
                "threads": process.num_threads(),
                "descriptors": process.num_fds(),
            }
            readings = [*readings, counts] if float(found["voiceagent_calls_active"]) == 0 else []
            if readings[-SETTLED:] == [counts] * SETTLED:
                return {**counts, "rss": process.memory_info().rss}
            await asyncio.sleep(0.1)
    raise AssertionError(f"the server does not settle: {readings[-SETTLED:]}")


async def cycles(url: str, count: int) -> None:
    """Connect and disconnect so often."""
    left = count

    async def again_and_again() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            try:
                async with Caller(url):
                    pass
            except MediaError as error:  # the server refuses while its loop is late: that call is made again
                if "(503)" not in str(error):
                    raise
                left += 1
                await asyncio.sleep(RETRY_S)

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(again_and_again())


async def half_open(url: str, count: int) -> None:
    """Offers that never connect."""
    offer = await offer_of_a_call()
    headers = {"Content-Type": "application/sdp"}
    taken = 0
    async with aiohttp.ClientSession() as session:
        while taken < count:
            async with session.post(f"{url}/v1/realtime/calls", data=offer, headers=headers) as answer:
                taken += answer.status == 201
            if answer.status != 201:
                await asyncio.sleep(0.2)


async def test_a_thousand_calls_and_two_hundred_half_open_ones_leave_nothing_behind(tmp_path: Path) -> None:
    agent = tmp_path / "agent.yaml"
    agent.write_text(SETTINGS)
    with running_server(tmp_path, "--config", str(agent)) as server:
        process = psutil.Process(server.process.pid)
        await cycles(server.url, WARM)
        before = await settled(server.url, process)
        await cycles(server.url, CYCLES)
        await half_open(server.url, HALF_OPEN)
        after = await settled(server.url, process)
    print(before, after)
    assert {name: after[name] for name in ("tasks", "threads", "descriptors")} == {
        name: before[name] for name in ("tasks", "threads", "descriptors")
    }
    grown = 100.0 * (after["rss"] / before["rss"] - 1.0)
    hold(at_most("memory after 1,000 calls and 200 half-open ones, above that after 200 calls", grown, GROWTH, "%"))
