"""A gateway of a cluster: the front of `serve --workers`, whose workers link to it over TCP, with the cluster's key. It tells
the controller what it hears from them. There may be several, and none knows of another: workers link to each. It keeps nothing
that it cannot ask for again: when it is started anew, the workers link again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from voiceagent.addresses import is_loopback
from voiceagent.gateway.front_metrics import FrontMetrics
from voiceagent.gateway.members import LinkedMembers
from voiceagent.gateway.messages import WorkerStatus
from voiceagent.gateway.run import FrontSettings, open_front
from voiceagent.server.http.run import STOP
from voiceagent.task_owner import TaskOwner

TELL_EVERY_S = 0.5

Tell = Callable[[Mapping[int, WorkerStatus]], Awaitable[bool]]
"""Tells the controller how the workers stand. Returns whether the cluster has ended."""


async def serve_cluster(
    settings: FrontSettings, link: tuple[str, int], workers: int, tell: Tell, on_ready: Callable[[str], None] = lambda url: None
) -> bool:
    """Serve until SIGINT or SIGTERM comes, or the cluster ends; returns whether it is the latter. Workers find the gateway at
    the host and port of `link`. `on_ready` is called once `workers` of them answer calls. Raises ConfigError for addresses that
    cannot be used."""
    host, port = link
    members = LinkedMembers()
    links = f"http://{host if is_loopback(host) else '0.0.0.0'}:{port}"
    async with open_front(settings, links, workers, members=members, metrics=FrontMetrics()) as url:
        return await _until_over(members, workers, tell, lambda: on_ready(url))


async def _until_over(members: LinkedMembers, workers: int, tell: Tell, on_ready: Callable[[], None]) -> bool:
    """Tell the controller of the workers until a signal comes, or it says that the cluster has ended."""
    loop, stop, tasks = asyncio.get_running_loop(), asyncio.Event(), TaskOwner()
    for number in STOP:
        loop.add_signal_handler(number, stop.set)
    try:
        stopped = tasks.start(stop.wait(), "stop")
        is_told = False
        while not stopped.done():
            if await tell({member.number: member.status for member in members.living()}):
                return True
            if not is_told and sum(member.takes_calls for member in members.living()) >= workers:
                is_told = True
                on_ready()
            await asyncio.wait((stopped,), timeout=TELL_EVERY_S)
        return False
    finally:
        await tasks.close()
        for number in STOP:
            loop.remove_signal_handler(number)
