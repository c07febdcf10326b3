"""A worker's side of its links to the fronts: it introduces itself, tells how it stands twice a second, and asks for places of
quotas. A machine has one front, a cluster may have several; the first of them whose link is up counts the places. A link comes up
again by itself. A worker whose parent has ended drains: its calls go on, and nobody brings new ones."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import msgspec
from aiohttp import web

from voiceagent.gateway.addresses import connected
from voiceagent.gateway.messages import MAX_LINE_BYTES, STATUS_EVERY_S, Hello, ToFront, WorkerStatus, line_of, read_to_worker
from voiceagent.gateway.shared_quotas import WorkerQuotas
from voiceagent.server.http.app import CALLS, DRAINING, READINESS, ApplicationPart
from voiceagent.task_owner import running

log = logging.getLogger(__name__)

AGAIN_AFTER_S = 0.2
MAX_UNSENT_BYTES = 1_048_576
"""A front that reads so little is as good as gone."""

Send = Callable[[ToFront], None]


@dataclass(slots=True)
class FrontLink(ApplicationPart):
    """The part of a worker's application that keeps its links up, from the time at which it takes HTTP."""

    fronts: tuple[str, ...]
    """The address where each front takes links: `unix:PATH`, or `http://HOST:PORT`. All workers have them in the same order."""
    hello: Hello
    quotas: WorkerQuotas
    parent: int
    """The process that has started this one."""
    _bound: asyncio.Event = field(default_factory=asyncio.Event)
    _up: dict[str, Send] = field(default_factory=dict)
    """Sends to each front whose link is up."""

    def takes_http(self, address: str) -> None:
        """HTTP is taken at this address from now on."""
        self.hello = msgspec.structs.replace(self.hello, address=address)
        self._bound.set()

    def add_routes(self, app: web.Application) -> None:
        """See `ApplicationPart`: none."""

    @asynccontextmanager
    async def open(self, app: web.Application) -> AsyncIterator[None]:
        """See `ApplicationPart`."""
        async with AsyncExitStack() as links:
            for front in self.fronts:
                await links.enter_async_context(running(self._keep_up(app, front), "link to a front"))
            yield

    async def _keep_up(self, app: web.Application, front: str) -> None:
        await self._bound.wait()
        while True:
            try:
                await self._linked(app, front)
            except (OSError, ValueError, asyncio.LimitOverrunError) as error:
                log.debug("the link to the front at %s is down: %s", front, error)
            if os.getppid() != self.parent and not app[DRAINING].reason:
                log.error("the server's first process has ended; this worker takes no more calls, and ends with its last")
                app[DRAINING].begin()
            await asyncio.sleep(AGAIN_AFTER_S)

    async def _linked(self, app: web.Application, front: str) -> None:
        """Talk to a front until the link ends."""
        reader, writer = await connected(front, MAX_LINE_BYTES, is_link=True)

        def send(message: ToFront) -> None:
            if writer.transport.get_write_buffer_size() > MAX_UNSENT_BYTES:
                writer.transport.abort()
            writer.write(line_of(message))

        try:
            send(self.hello)
            send(status_of(app))
            self._up[front] = send
            self._choose()
            async with running(_tell(app, send), "status of a worker"):
                while line := await reader.readline():
                    self.quotas.answered(read_to_worker(line))
        finally:
            self._up.pop(front, None)
            if self.quotas.send is send:
                self.quotas.went_down()
            self._choose()
            writer.close()

    def _choose(self) -> None:
        """Have the first front whose link is up count the places."""
        first = next((self._up[front] for front in self.fronts if front in self._up), None)
        if first is not None and first is not self.quotas.send:
            self.quotas.came_up(first)


async def _tell(app: web.Application, send: Send) -> None:
    while True:
        await asyncio.sleep(STATUS_EVERY_S)
        send(status_of(app))


def status_of(app: web.Application) -> WorkerStatus:
    """The state of this server."""
    calls, draining, loading = app[CALLS], app[DRAINING].reason, app[READINESS].reason
    metrics = calls.metrics
    actions = metrics.budget_actions
    sheds = actions.sheds()
    return WorkerStatus(
        "draining" if draining else "loading" if loading else "ready",
        draining or loading or metrics.health.reason,
        len(calls),
        metrics.call_places,
        metrics.calls_waiting,
        round(metrics.pressure, 2),
        sheds,
        (*actions.degradations(), *(("fewer_calls",) if sheds else ())),
    )
