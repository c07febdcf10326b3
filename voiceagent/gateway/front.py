"""The application of the process in front: it answers for all workers where a client asks about the server as a whole, and
passes everything else on. It keeps nothing that its workers cannot tell it again."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware
from prometheus_client import generate_latest

from voiceagent import __version__
from voiceagent.gateway import monitor_merge
from voiceagent.gateway.front_metrics import FrontMetrics
from voiceagent.gateway.members import Members
from voiceagent.gateway.metrics_merge import merged
from voiceagent.gateway.proxy import Proxy, no_worker
from voiceagent.gateway.routing import SECRETS_PATH
from voiceagent.gateway.upstream import UpstreamAnswer
from voiceagent.json_types import JsonObject
from voiceagent.server.access.origins import Origins
from voiceagent.server.http.app import MAX_BODY_BYTES
from voiceagent.server.http.connection import AIOHTTP_OPTIONS
from voiceagent.server.http.event_stream import EventStream, SlowReaderError
from voiceagent.server.http.offer import refuse_encodings
from voiceagent.server.http.problems import Problem, answer_problems
from voiceagent.server.http.server_monitor import ALIVE_EVERY_S, EVERY_S, MAX_READERS
from voiceagent.untrusted_json import read_json

log = logging.getLogger(__name__)

FRONT = "front"
"""The label of the front's own metrics."""
DRAIN_PATH, MONITOR_PATH = "/v1/voiceagent/drain", "/v1/voiceagent/monitor"
_NOT_OURS = frozenset(("content-length", "transfer-encoding", "connection", "date", "content-type", "server"))


@dataclass(slots=True)
class Front:
    """One per process."""

    members: Members
    metrics: FrontMetrics
    proxy: Proxy
    expected: int
    """The number of workers that there are to be."""
    origins: Origins
    """The pages that may read its answers."""
    drains: Callable[[], None] = lambda: None
    """Called when all workers were asked to drain."""
    _readers: int = 0
    _stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def app(self) -> web.Application:
        """The application."""
        app = web.Application(
            middlewares=[_headers(self.origins), answer_problems, refuse_encodings],
            client_max_size=MAX_BODY_BYTES,
            handler_args=AIOHTTP_OPTIONS,
        )
        app.router.add_get("/healthz", self._healthz)
        app.router.add_get("/readyz", self._readyz)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get(MONITOR_PATH, self._monitor)
        app.router.add_post(DRAIN_PATH, self._drain)
        app.router.add_delete(SECRETS_PATH, self._revoke)
        app.router.add_route("*", "/{path:.*}", self.proxy.pass_on)
        app.on_shutdown.append(self._stop)
        return app

    async def _stop(self, _: web.Application) -> None:
        self._stopping.set()
        await self.proxy.close()

    async def _healthz(self, _: web.Request) -> web.Response:
        living = self.members.living()
        degraded = sorted({name for member in living for name in member.status.degraded})
        body = {"status": "ok", "workers": len(living), "of": self.expected}
        return web.json_response(body | ({"degraded": degraded} if degraded else {}))

    async def _readyz(self, _: web.Request) -> web.Response:
        living = self.members.living()
        ready = sum(member.takes_calls for member in living)
        reason = "" if ready else next((member.status.reason for member in living), str(no_worker()))
        body = {"ready": bool(ready), "reason": reason, "workers": ready, "of": self.expected}
        return web.json_response(body, status=200 if ready else 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        """The metrics of all workers, and the front's own."""
        found = await self.proxy.every(request, self.members.living())
        if (refused := _refusal(found)) is not None:
            return refused
        texts = {str(number): body.decode() for number, (answer, body) in found.items() if answer.status == 200}
        own = generate_latest(self.metrics.about(self.members.living(), self.expected)).decode()
        return web.Response(text=merged({**texts, FRONT: own}), headers={hdrs.CONTENT_TYPE: "text/plain; version=0.0.4"})

    async def _drain(self, request: web.Request) -> web.Response:
        """Drain all workers, or the one that `worker` names, which is then started anew."""
        living, named = self.members.living(), request.query.get("worker", "")
        if named:
            living = [member for member in living if str(member.number) == named]
            if not living:
                raise Problem(404, "no_such_worker", f"There is no worker {named[:10]!r}; /metrics names them.", param="worker")
        found = await self.proxy.every(request, living)
        if (refused := _refusal(found)) is not None:
            return refused
        if not named:
            self.drains()
        told = [_object(body) for _, body in found.values()]
        whole = {"draining": True, "calls": sum(one.get("calls", 0) for one in told), "timeout_s": told[0].get("timeout_s")}
        return web.json_response({**whole, "workers": len(told)}, status=202)

    async def _revoke(self, request: web.Request) -> web.StreamResponse:
        """Forget a key's client secrets at all workers."""
        found = await self.proxy.every(request, self.members.living())
        if (refused := _refusal(found)) is not None:
            return refused
        answer, _ = next(iter(found.values()))
        revoked = sum(_object(body).get("revoked", 0) for _, body in found.values())
        return web.json_response({"revoked": revoked}, headers=_kept(answer))

    async def _monitor(self, request: web.Request) -> web.StreamResponse:
        """The calls of all workers, once or as a stream."""
        asked = _Monitored(self, request)
        if "text/event-stream" not in request.headers.get(hdrs.ACCEPT, ""):
            return await asked.whole()
        if self._readers >= MAX_READERS:
            told = f"{MAX_READERS} readers look at this server already, as many as may; close one."
            raise Problem(429, "too_many_monitors", told, retry_after_s=5)
        self._readers += 1
        try:
            return await asked.stream(self._stopping)
        finally:
            self._readers -= 1


@dataclass(frozen=True, slots=True)
class _Monitored:
    """A reader of the operator's monitor."""

    front: Front
    request: web.Request

    async def whole(self) -> web.Response:
        """The object, once."""
        found = await self._found()
        if (refused := _refusal(found)) is not None:
            return refused
        answer, _ = next(iter(found.values()))
        return web.json_response(_merged(found), headers=_kept(answer))

    async def stream(self, stopping: asyncio.Event) -> web.StreamResponse:
        """The object, again whenever it has changed."""
        found = await self._found()
        if (refused := _refusal(found)) is not None:
            return refused
        answer, _ = next(iter(found.values()))
        stream = EventStream(self.request, _kept(answer))
        try:
            await stream.begin()
            sent, sent_s = b"", float("-inf")
            while not stopping.is_set():
                if _refusal(found) is not None:
                    return await stream.end({"closed": "key_revoked"})
                now, now_s = _merged(found), time.monotonic()
                line = json.dumps({**now, "at": None}).encode()
                if line != sent or now_s - sent_s >= ALIVE_EVERY_S:
                    await stream.send([(0, json.dumps(now if line != sent else {"at": now["at"]}).encode())])
                    sent, sent_s = line, now_s
                await stream.awaited(_wait(stopping))
                found = await self._found()
            return await stream.end({"closed": "server_stopping"})
        except (SlowReaderError, ConnectionError, Problem):
            return await stream.end()

    async def _found(self) -> Mapping[int, tuple[UpstreamAnswer, bytes]]:
        return await self.front.proxy.every(self.request, self.front.members.living(), accept="application/json")


async def _wait(stopping: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(EVERY_S):
            await stopping.wait()
    except TimeoutError:
        pass


def _merged(found: Mapping[int, tuple[UpstreamAnswer, bytes]]) -> JsonObject:
    return monitor_merge.merged({number: _object(body) for number, (answer, body) in found.items() if answer.status == 200})


def _refusal(found: Mapping[int, tuple[UpstreamAnswer, bytes]]) -> web.Response | None:
    """The answer of a worker that refuses what all were asked; None if the first did not."""
    answer, body = next(iter(found.values()))
    if answer.status < 300:
        return None
    headers = [(name, value) for name, value in answer.headers if name.lower() not in _NOT_OURS - {"content-type"}]
    return web.Response(status=answer.status, headers=headers, body=body)


def _kept(answer: UpstreamAnswer) -> dict[str, str]:
    """The headers of a worker's answer that hold for ours, too."""
    return {name: value for name, value in answer.headers if name.lower() not in _NOT_OURS}


def _object(body: bytes) -> JsonObject:
    found = read_json(body)
    return found if isinstance(found, dict) else {}


def _headers(origins: Origins) -> Middleware:
    """The outermost middleware: headers of the front's own answers. Those of a worker have theirs."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if not response.prepared and hdrs.SERVER not in response.headers:
            response.headers.update(origins.cors(request))
            response.headers["X-Content-Type-Options"] = "nosniff"
            response.headers[hdrs.SERVER] = f"voiceagent/{__version__}"
        return response

    return middleware
