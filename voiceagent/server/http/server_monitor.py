"""`GET /v1/voiceagent/monitor`: the whole server at a glance, for the operator's page `/monitor`. It is one bounded JSON object.
A reader that takes `text/event-stream` gets the object again whenever it has changed. It is made when somebody reads it, at most
once a second however many do."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass

from aiohttp import hdrs, web

from voiceagent import __version__
from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import StageComparison, StageLimits, percentile
from voiceagent.latency.spans import LegKind, Stage
from voiceagent.server.calls.monitors import CallFeeds, CallStatus
from voiceagent.server.calls.quotas import CLIENT, Client
from voiceagent.server.http.app import CALLS, DRAINING, READINESS, ApplicationPart
from voiceagent.server.http.event_stream import SlowReaderError, StreamClosedError, stream_for_key
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.active_alerts import ActiveAlerts
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.store.database import NothingKeptError, StoreAddress, StoreError
from voiceagent.store.records import CallFilter, CallRecord, find_calls
from voiceagent.store.schema import reading
from voiceagent.task_owner import running

log = logging.getLogger(__name__)

MAX_READERS = 20
MAX_LIVE, MAX_ENDED = 200, 50
"""Calls that are listed."""
EVERY_S = 1.0
ALIVE_EVERY_S = 2.0
"""In place of an unchanged object its time is sent, so that a reader notices a lost server."""
STORE_READ_EVERY_S = 5.0
RETRY_AFTER_S = 5


@dataclass(frozen=True, slots=True)
class Monitored:
    """The parts of a server that are shown."""

    agent: Callable[[], str]
    """Tells the agent's name as it is now."""
    profile: str
    limits_of: Callable[[LegKind], Mapping[Stage, StageLimits]]
    feeds: CallFeeds
    metrics: Metrics
    store: StoreAddress | None
    """None: no calls are kept."""


class ServerMonitorPart(ApplicationPart):
    """The part of the application that shows the server to its operator."""

    def __init__(self, monitored: Monitored) -> None:
        self._monitored = monitored
        self._alerts = ActiveAlerts(monitored.metrics)
        self._readers = 0
        self._made_s = self._read_s = float("-inf")
        self._made: JsonObject = {}
        self._ended: list[JsonObject] = []
        self._store_fails = False
        self._making = asyncio.Lock()
        self._stopping = asyncio.Event()

    def add_routes(self, app: web.Application) -> None:
        """See `ApplicationPart`."""
        app.router.add_get("/v1/voiceagent/monitor", self._monitor)
        app.on_shutdown.append(self._stop)

    @asynccontextmanager
    async def open(self, app: web.Application) -> AsyncIterator[None]:
        """See `ApplicationPart`."""
        async with running(self._alerts.watch(), "alerts"):
            yield

    async def _stop(self, _: web.Application) -> None:
        self._stopping.set()

    async def _monitor(self, request: web.Request) -> web.StreamResponse:
        client = request[CLIENT]
        if not (client.is_operator or client.is_monitor):
            told = "Only an operator or a monitor may look at all calls; `voiceagent keys add NAME --monitor` makes a key."
            raise Problem(403, "monitor_only", told)
        if "text/event-stream" not in request.headers.get(hdrs.ACCEPT, ""):
            found = await self._found(request.app, client)
            return web.json_response(found, headers={hdrs.CACHE_CONTROL: "no-store"})
        if self._readers >= MAX_READERS:
            told = f"{MAX_READERS} readers look at this server already, as many as may; close one."
            raise Problem(429, "too_many_monitors", told, retry_after_s=RETRY_AFTER_S)
        self._readers += 1
        try:
            return await self._stream(request, client)
        finally:
            self._readers -= 1

    async def _stream(self, request: web.Request, client: Client) -> web.StreamResponse:
        stream = stream_for_key(request)
        try:
            await stream.begin()
            sent, sent_s = b"", float("-inf")
            while not self._stopping.is_set():
                found = await self._found(request.app, client)
                line, now_s = json.dumps({**found, "at": None}).encode(), time.monotonic()
                if line != sent or now_s - sent_s >= ALIVE_EVERY_S:
                    await stream.send([(0, json.dumps(found if line != sent else {"at": found["at"]}).encode())])
                    sent, sent_s = line, now_s
                await stream.awaited(self._wait())
            return await stream.end({"closed": "server_stopping"})
        except StreamClosedError as closed:
            return await stream.end({"closed": str(closed)})
        except (SlowReaderError, ConnectionError):
            return await stream.end()

    async def _wait(self) -> None:
        try:
            async with asyncio.timeout(EVERY_S):
                await self._stopping.wait()
        except TimeoutError:
            pass

    async def _found(self, app: web.Application, client: Client) -> JsonObject:
        """The object for this client."""
        async with self._making:
            if time.monotonic() - self._made_s >= EVERY_S * 0.9:
                await self._read_store()
                self._made, self._made_s = self._make(app), time.monotonic()
        calls = app[CALLS]
        listed = [{**call, "may_end": calls.may_end(call["id"], client)} for call in self._made["calls"]]
        return {**self._made, "calls": listed, "may_read": client.is_monitor}

    def _make(self, app: web.Application) -> JsonObject:
        of, metrics = self._monitored, self._monitored.metrics
        return {
            "at": round(time.time(), 3),
            "agent": of.agent(),
            "profile": of.profile,
            "version": __version__,
            "reason": app[DRAINING].reason or app[READINESS].reason or metrics.health.reason,
            "places": metrics.call_places,
            "waiting": metrics.calls_waiting,
            "pressure": round(metrics.pressure, 1),
            "alerts": [asdict(alert) for alert in self._alerts.now()],
            "budget": [asdict(share) for share in metrics.recent.shares()],
            "stages": {leg: [_stage(one) for one in found] for leg, found in metrics.recent.stages(of.limits_of).items()},
            "running": len(of.feeds),
            "calls": [self._live(call_id, status) for call_id, status in of.feeds.newest(MAX_LIVE)],
            "ended": None if of.store is None else self._ended,
            "store_fails": self._store_fails,
        }

    def _live(self, call_id: str, status: CallStatus) -> JsonObject:
        limit_ms = self._monitored.limits_of(LegKind(status.leg))[Stage.VOICE_TO_VOICE].p95_ms if status.leg else 0.0
        return {
            "id": call_id,
            "leg": status.leg,
            "caller": status.caller,
            "agent": status.agent,
            "language": status.language,
            "step": status.step,
            "state": status.state,
            "since": round(status.started + status.changed_ms / 1000, 1),
            "started": status.started,
            "turns": status.turns,
            "voice_to_voice_ms": status.voice_to_voice_ms,
            "over": status.voice_to_voice_ms is not None and status.voice_to_voice_ms > limit_ms,
        }

    async def _read_store(self) -> None:
        store = self._monitored.store
        if store is None or time.monotonic() - self._read_s < STORE_READ_EVERY_S:
            return
        try:
            self._ended = await asyncio.to_thread(_ended_calls, store)
            self._store_fails = False
        except StoreError as error:
            if not self._store_fails:
                log.error("the ended calls cannot be shown: %s", error)
            self._store_fails = True
        self._read_s = time.monotonic()


def _ended_calls(store: StoreAddress) -> list[JsonObject]:
    now_s = time.time()
    try:
        with reading(store) as database:
            found = find_calls(database, CallFilter(last=2 * MAX_ENDED))
    except NothingKeptError:
        return []
    return [_ended(record, now_s) for record in found if not record.goes_on(now_s)][:MAX_ENDED]


def _ended(record: CallRecord, now_s: float) -> JsonObject:
    summary = record.summary
    waits_ms = summary.voice_to_voice_ms
    return {
        "id": record.call_id,
        "leg": record.leg,
        "agent": record.agent,
        "started": record.started,
        "length_s": round(summary.length_ms / 1000, 1),
        "reason": record.outcome(now_s),
        "turns": summary.turns,
        "p50_ms": percentile(waits_ms, 50) if waits_ms else None,
        "worst_ms": max(waits_ms, default=None),
        "failures": len(summary.failures) + sum(not tool.ok for tool in summary.tools),
    }


def _stage(found: StageComparison) -> JsonObject:
    measured, limits = found.measured, found.limits
    return {
        "stage": found.stage,
        "count": measured.count if measured else 0,
        "p50_ms": round(measured.p50_ms, 1) if measured else None,
        "p95_ms": round(measured.p95_ms, 1) if measured else None,
        "limit_p50_ms": limits.p50_ms,
        "limit_p95_ms": limits.p95_ms,
        "over": [name for name in found.over if name != "p99"],
    }
