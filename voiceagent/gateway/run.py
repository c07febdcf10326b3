"""Runs the front and its workers on one machine, until they are told to stop or have drained."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from aiohttp import web

from voiceagent.errors import ConfigError
from voiceagent.gateway.desk import Desk
from voiceagent.gateway.front import Front
from voiceagent.gateway.front_metrics import FrontMetrics
from voiceagent.gateway.members import LinkedMembers, Member
from voiceagent.gateway.proxy import Proxy
from voiceagent.gateway.shared_quotas import QuotaDesk
from voiceagent.gateway.supervisor import Supervisor, WorkerPlan
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.access.origins import Origins
from voiceagent.server.calls.quotas import Quotas
from voiceagent.server.http.behind_front import UNIX
from voiceagent.server.http.connections import Connections
from voiceagent.server.http.listening import Listening
from voiceagent.server.http.run import DRAIN, STOP
from voiceagent.server.http.service_manager import tell_service_manager
from voiceagent.server.http.tls import Certificate
from voiceagent.settings.agent import AdmissionSettings
from voiceagent.task_owner import TaskOwner, running

log = logging.getLogger(__name__)

ANSWER_GRACE_S = 0.3
MAX_FOLDER_BYTES = 90
"""A UNIX socket's path has at most 107 bytes."""


@dataclass(frozen=True, slots=True)
class FrontSettings:
    """The front of a server."""

    host: str
    port: int
    """0 takes any free one."""
    max_connections: int
    certificate: Certificate | None
    keys: KeyRing
    admission: AdmissionSettings
    """The calls of all workers together, and the limits of each client."""
    allowed_origins: tuple[str, ...] = ()
    """The pages that may call, beside the server's own."""
    key: str = ""
    """The cluster's key, which goes between the front and workers of other machines."""
    region: str = ""
    """The label of the place where it runs: workers of the same one get calls first."""


@asynccontextmanager
async def open_front(
    settings: FrontSettings,
    links: str,
    workers: int,
    *,
    members: LinkedMembers,
    metrics: FrontMetrics,
    told: Callable[[Member], None] = lambda member: None,
    drains: Callable[[], None] = lambda: None,
) -> AsyncIterator[str]:
    """A front that answers, for as many workers as there are to be; its URL. Workers link to it at `links`, `unix:PATH` or
    `http://HOST:PORT`. `told` is called whenever one tells how it stands, and `drains` when a client has had all drain. Raises
    ConfigError for addresses that cannot be used."""
    settings.keys.check_exposure(settings.host)
    keys, limits = settings.keys, settings.admission
    quotas = Quotas(limits.per_client, limits.max_calls, keys=keys.count, spent_before=keys.spent_before)
    origins = Origins(settings.allowed_origins, keys_needed=lambda: keys.is_needed)
    front = Front(members, metrics, Proxy(members, settings.key, settings.region), workers, origins, drains)
    runner = web.AppRunner(front.app(), access_log=None, handler_cancellation=True, shutdown_timeout=ANSWER_GRACE_S)
    await runner.setup()
    assert runner.server is not None
    listening = Listening(runner.server, Connections(metrics.http, settings.max_connections), metrics.http, settings.certificate)
    try:
        async with (
            Desk(members, QuotaDesk(quotas), settings.key, told).open(links),
            running(keys.watch(quotas.spent_s, lambda owner: None), "keys"),
        ):
            bound = await listening.open(settings.host, settings.port)
            scheme, host = "http" if settings.certificate is None else "https", settings.host
            yield f"{scheme}://{f'[{host}]' if ':' in host else host}:{bound}"
    finally:
        await listening.close()
        await runner.cleanup()
        await keys.keep_uses(quotas.spent_s())


async def serve(
    settings: FrontSettings,
    plan: WorkerPlan,
    beside: Callable[[], AbstractAsyncContextManager[None]],
    on_bound: Callable[[str], None] = lambda url: None,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve by workers of this machine until SIGINT or SIGTERM comes, or all have drained. `beside` is open meanwhile.
    `on_bound` is called with the URL when requests are answered, `on_ready` once every worker answers calls. Raises ConfigError
    for a host or port that cannot be used, and EngineError for workers that cannot answer calls."""
    members, metrics, all_ready = LinkedMembers(), FrontMetrics(), asyncio.Event()
    folder = Path(tempfile.mkdtemp(prefix="voiceagent-"))
    links = f"{UNIX}{folder / 'front'}"
    supervisor = Supervisor(plan, folder, links, lambda number: metrics.restarts.update((number,)))

    def told(member: Member) -> None:
        if member.takes_calls:
            supervisor.answers(member.number)
            if sum(each.takes_calls for each in members.living()) == plan.count:
                all_ready.set()

    try:
        if len(bytes(folder)) > MAX_FOLDER_BYTES:
            raise ConfigError(f"$TMPDIR: {folder} is too long for the sockets of workers; name a shorter folder, such as /tmp")
        front = open_front(settings, links, plan.count, members=members, metrics=metrics, told=told, drains=supervisor.drains)
        async with beside(), front as url:
            on_bound(url)
            await _supervise(supervisor, all_ready, url, on_ready)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _supervise(supervisor: Supervisor, all_ready: asyncio.Event, url: str, on_ready: Callable[[str], None]) -> None:
    """Keep the workers up until a signal comes, or they have drained."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def at_once(number: int, frame: FrameType | None) -> None:
        supervisor.kill()
        os._exit(128 + number)

    def stop_now() -> None:
        stop.set()
        for number in STOP:
            loop.remove_signal_handler(number)
            signal.signal(number, at_once)

    for number in STOP:
        loop.add_signal_handler(number, stop_now)
    loop.add_signal_handler(DRAIN, supervisor.drain)
    tasks = TaskOwner()
    try:
        supervisor.open()
        ready = tasks.start(all_ready.wait(), "ready")
        over = tasks.start(supervisor.over(), "drained")
        ending: set[asyncio.Task[object]] = {tasks.start(stop.wait(), "stop"), over}
        await asyncio.wait({*ending, ready}, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            tell_service_manager("READY=1", f"STATUS=answers at {url}")
            on_ready(url)
            await asyncio.wait(ending, return_when=asyncio.FIRST_COMPLETED)
        if over.done():
            over.result()
    finally:
        tell_service_manager("STOPPING=1")
        await supervisor.stop()
        await tasks.close()
        for number in (*STOP, DRAIN):
            loop.remove_signal_handler(number)
