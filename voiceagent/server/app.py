"""The HTTP application: its routes, and what lives and ends with it (engines, calls). Signalling follows OpenAI Realtime:
`POST /v1/realtime/calls` takes an SDP offer and gives 201, a Location and the SDP answer."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from voiceagent import __version__
from voiceagent.conversation.nesting import MAX_LEVELS, nests_deeper
from voiceagent.latency.budgets import Limits
from voiceagent.latency.spans import WHOLES, Stage
from voiceagent.media.ice import NO_ICE_SERVERS, IceServers
from voiceagent.resources import web_dir
from voiceagent.server.admission import Admission
from voiceagent.server.auth import Gate
from voiceagent.server.calls import Answer, Calls
from voiceagent.server.clients import CLIENT
from voiceagent.server.loop_monitor import LoopMonitor
from voiceagent.server.metrics import Metrics
from voiceagent.server.page import serve_page
from voiceagent.server.problems import Problem, answer_problems
from voiceagent.server.quotas import Quotas
from voiceagent.server.readiness import Load, Readiness

MAX_BODY_BYTES = 131_072
HANG_UP_GRACE_S = 3.0


@dataclass(frozen=True, slots=True)
class Service:
    """What the application serves."""

    answer: Answer
    load: Load
    profile: str
    limits: Mapping[Stage, Limits]
    """The profile's latency budget."""
    metrics: Metrics
    admission: Admission
    keys: tuple[str, ...] = ()
    ice: IceServers = NO_ICE_SERVERS
    """The STUN and TURN servers that callers are told of."""
    web_folder: Path | None = None
    """The page; the shipped one when None."""


READINESS = web.AppKey("readiness", Readiness)
CALLS = web.AppKey("calls", Calls)


def make_app(service: Service) -> web.Application:
    """The application. Starting it starts to load the engines; cleaning it up hangs up every call and frees them."""
    gate = Gate(service.keys, service.metrics)
    quotas = Quotas(service.admission.settings.per_client, service.admission.settings.max_calls, keys=len(service.keys))
    app = web.Application(middlewares=[_headers(gate), answer_problems, gate.middleware()], client_max_size=MAX_BODY_BYTES)
    app[CALLS] = Calls(service.answer, service.admission, quotas, service.metrics)

    async def lifetime(app: web.Application) -> AsyncIterator[None]:
        app[READINESS] = Readiness(service.load)
        app[READINESS].open()
        with LoopMonitor(service.metrics, pressure=service.admission.pressure):
            yield
            await app[CALLS].close(HANG_UP_GRACE_S)
            await app[READINESS].close()

    async def refuse_callers(_: web.Application) -> None:
        await service.admission.close()

    async def metrics(_: web.Request) -> web.Response:
        service.metrics.tasks = len(asyncio.all_tasks())
        return web.Response(text=service.metrics.render(), headers={hdrs.CONTENT_TYPE: "text/plain; version=0.0.4"})

    async def budgets(_: web.Request) -> web.Response:
        return web.json_response(_budgets(service.profile, service.limits))

    async def ice_servers(_: web.Request) -> web.Response:
        servers = service.ice.for_caller(secrets.token_hex(6), time.time())
        return web.json_response({"iceServers": servers}, headers={hdrs.CACHE_CONTROL: "no-store"})

    app.cleanup_ctx.append(lifetime)
    app.on_shutdown.append(refuse_callers)  # before the open requests are waited for: who waits for a place is one of them
    page = serve_page(service.web_folder or web_dir())
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/readyz", _readyz)
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/v1/voiceagent/budgets", budgets)
    app.router.add_get("/v1/voiceagent/ice_servers", ice_servers)
    app.router.add_post("/v1/realtime/calls", _offer)
    app.router.add_post("/v1/realtime/calls/{id}/hangup", _hang_up)
    app.router.add_delete("/v1/realtime/calls/{id}", _hang_up)
    app.router.add_get("/", page)
    app.router.add_get(r"/{path:(?!v1/).+}", page)
    return app


def _headers(gate: Gate) -> Middleware:
    """The outermost middleware: headers that every answer carries."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if not response.prepared:
            response.headers.update(gate.cors(request))
            response.headers.setdefault("X-Content-Type-Options", "nosniff")
            response.headers["Server"] = f"voiceagent/{__version__}"
        return response

    return middleware


async def _healthz(_: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


async def _readyz(request: web.Request) -> web.Response:
    reason = request.app[READINESS].reason
    return web.json_response({"ready": not reason, "reason": reason}, status=503 if reason else 200)


async def _offer(request: web.Request) -> web.Response:
    calls = request.app[CALLS]
    try:
        start_call = request.app[READINESS].start_call()
        offer, session = await _read_offer(request)
        call_id, sdp = await calls.answer(offer, session, start_call, request[CLIENT], lambda: _is_connected(request))
    except Problem as problem:
        calls.metrics.call_refused(problem.code)
        raise
    headers = {"Location": f"/v1/realtime/calls/{call_id}", hdrs.CONTENT_TYPE: "application/sdp"}
    return web.Response(status=201, body=sdp.encode(), headers=headers)


def _is_connected(request: web.Request) -> bool:
    return request.transport is not None and not request.transport.is_closing()


async def _hang_up(request: web.Request) -> web.Response:
    request.app[CALLS].hang_up(request.match_info["id"], request[CLIENT])
    return web.Response(status=200)


async def _read_offer(request: web.Request) -> tuple[str, dict[str, Any]]:
    """The SDP offer of a request, and the session settings beside it (multipart; empty otherwise)."""
    session: dict[str, Any] = {}
    try:
        if request.content_type == "application/sdp":
            offer = await request.text()
        elif request.content_type == "multipart/form-data":
            form = await request.post()
            offer = await _field(form.get("sdp"))
            session = _session(await _field(form.get("session")))
        else:
            raise Problem(
                415,
                "unsupported_media_type",
                f"The content type is {request.content_type[:60]!r}; send the offer as application/sdp, "
                "or as multipart/form-data with the fields sdp and session.",
            )
    except (UnicodeDecodeError, LookupError, ValueError) as error:
        raise Problem(400, "invalid_body", f"The body cannot be read ({error}); expected an SDP offer.") from error
    if not offer.strip():
        raise Problem(400, "invalid_offer", "The offer is empty; expected the SDP of an audio call.", param="sdp")
    return offer, session


async def _field(value: str | bytearray | bytes | web.FileField | None) -> str:
    if isinstance(value, web.FileField):
        return value.file.read().decode()
    if isinstance(value, bytes | bytearray):
        return value.decode()
    return value or ""


def _session(text: str) -> dict[str, Any]:
    try:
        session = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError) as error:
        raise Problem(400, "invalid_session", f"The session is not valid JSON ({error}).", param="session") from error
    if not isinstance(session, dict) or nests_deeper(session):
        raise Problem(
            400, "invalid_session", f"The session must be a JSON object of at most {MAX_LEVELS} levels.", param="session"
        )
    return session


def _budgets(profile: str, limits: Mapping[Stage, Limits]) -> dict[str, Any]:
    stages = [
        {
            "stage": stage.value,
            "whole": stage in WHOLES,
            "p50_ms": limits[stage].p50_ms,
            "p95_ms": limits[stage].p95_ms,
            "p99_ms": limits[stage].p99_ms,
        }
        for stage in Stage
        if stage in limits
    ]
    return {"profile": profile, "stages": stages}
