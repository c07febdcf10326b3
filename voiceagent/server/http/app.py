"""The HTTP application: its routes, and what lives and ends with it (engines, calls). Signalling follows OpenAI Realtime:
`POST /v1/realtime/calls` takes an SDP offer and gives 201, a Location and the SDP answer."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Protocol

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from voiceagent import __version__
from voiceagent.latency.budgets import StageLimits
from voiceagent.latency.spans import WHOLES, Stage
from voiceagent.media.webrtc.ice import NO_ICE_SERVERS, IceServers
from voiceagent.resources import web_dir
from voiceagent.server.access.client_secrets import ClientSecrets
from voiceagent.server.access.key_ring import OPERATOR_KEYS_VARIABLE, KeyRing
from voiceagent.server.access.origins import Origins
from voiceagent.server.calls.admission import Admission
from voiceagent.server.calls.calls import Answer, Calls, StartCall
from voiceagent.server.calls.draining import DRAIN_TIMEOUT_S, Draining
from voiceagent.server.calls.journal import ServerJournal
from voiceagent.server.calls.quotas import CLIENT, Client, ClientQuotas, Quotas
from voiceagent.server.calls.readiness import Load, Readiness
from voiceagent.server.calls.waiting_calls import WaitingCalls
from voiceagent.server.http.auth import KeyGate, resume_token_of
from voiceagent.server.http.behind_front import BehindFront
from voiceagent.server.http.connection import AIOHTTP_OPTIONS
from voiceagent.server.http.offer import read_offer, refuse_encodings
from voiceagent.server.http.page import serve_page
from voiceagent.server.http.problems import Problem, answer_problems
from voiceagent.server.http.realtime_socket import SOCKET_LIMITS, RealtimeSocket, SocketLimits, check_upgrade
from voiceagent.server.http.secret_requests import SECRETS_PATH, SecretRequests, ShowSession, shown_as_asked
from voiceagent.server.monitoring.loop_monitor import LoopMonitor
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.task_owner import TaskOwner, running
from voiceagent.untrusted_json import read_struct

MAX_BODY_BYTES = 131_072
HANG_UP_GRACE_S = 2.0


class ApplicationPart(Protocol):
    """A part that another room adds to the application."""

    def add_routes(self, app: web.Application) -> None:
        """Add its routes."""
        ...

    def open(self, app: web.Application) -> AbstractAsyncContextManager[None]:
        """Opens the part for the time from the start of the server until its calls have ended. Nothing, where a part does not
        say otherwise."""
        return nullcontext()

    def listen(self, app: web.Application) -> AbstractAsyncContextManager[None]:
        """Accepts calls. It ends before they are hung up. Raises ConfigError. Nothing, where a part does not say otherwise."""
        return nullcontext()


@dataclass(frozen=True, slots=True)
class Service:
    """The agent, limits, keys and parts that the application needs to serve calls."""

    answer: Answer
    load: Load
    profile: str
    limits: Mapping[Stage, StageLimits]
    """The profile's latency budget."""
    metrics: Metrics
    admission: Admission
    keys: KeyRing = field(default_factory=KeyRing)
    allowed_origins: tuple[str, ...] = ()
    """Origins of other sites whose pages may call."""
    ice: IceServers = NO_ICE_SERVERS
    """The STUN and TURN servers for callers."""
    parts: tuple[ApplicationPart, ...] = ()
    """The parts that other rooms add."""
    waiting: WaitingCalls | None = None
    """The calls that servers leave for each other. None: a server that stops ends its calls."""
    journal: ServerJournal | None = None
    """Keeps the calls of this server for others. None: they end if it is killed."""
    web_folder: Path | None = None
    """The page; the shipped one when None."""
    sockets: SocketLimits = SOCKET_LIMITS
    """The limits of clients over a WebSocket."""
    drain_timeout_s: float = DRAIN_TIMEOUT_S
    hang_up_grace_s: float = HANG_UP_GRACE_S
    quotas: ClientQuotas | None = None
    """The quotas that hold over all workers. None: they are counted here."""
    front: BehindFront | None = None
    """The front that alone may ask this server. None: clients ask it."""
    about: Callable[[], dict[str, object]] = dict
    """Returns the models that answer, and their limits."""
    show_session: ShowSession = shown_as_asked
    """Returns the session of a call with these settings. Raises Problem for settings that a call cannot have."""


READINESS = web.AppKey("readiness", Readiness)
CALLS = web.AppKey("calls", Calls)
CORS: web.AppKey[Callable[[web.Request], dict[str, str]]] = web.AppKey("cors")
"""Returns the headers by which pages of other sites may read an answer, for answers that are sent piece by piece."""
KEYS = web.AppKey("keys", KeyRing)
DRAINING = web.AppKey("draining", Draining)
SOCKETS = web.AppKey("sockets", TaskOwner)
"""Owns what closes WebSockets."""
FRONT = web.AppKey("front", BehindFront)
"""The way in which a worker takes requests; not there in a server that clients ask."""
LIMITS = web.AppKey("limits", SocketLimits)
"""Those of clients over a WebSocket."""


def make_app(service: Service) -> web.Application:
    """The application. Starting it begins to load the engines; cleaning it up hangs up every call and frees them."""
    keys = service.keys
    origins = Origins(service.allowed_origins, keys_needed=lambda: keys.is_needed)
    client_secrets = service.metrics.client_secrets = ClientSecrets()
    admission = service.admission.settings
    quotas = service.quotas or Quotas(admission.per_client, admission.max_calls, keys=keys.count, spent_before=keys.spent_before)

    def client_of(owner: tuple[str, str]) -> Client | None:
        return keys.of_owner(owner) if keys.is_needed else Client(owner[0], "owner")

    calls = Calls(
        service.answer, service.admission, quotas, service.metrics, keys.knows, service.waiting, client_of, service.journal
    )
    slows = service.front is None  # a front counts the refusals of all workers
    gate = KeyGate(keys, client_secrets, origins, service.metrics, calls.resumable_by, slows=slows)
    app = web.Application(
        middlewares=[
            *((service.front.middleware(),) if service.front is not None else ()),
            _headers(origins),
            answer_problems,
            refuse_encodings,
            gate.middleware(),
        ],
        client_max_size=MAX_BODY_BYTES,
        handler_args=AIOHTTP_OPTIONS,
    )
    app[CORS] = origins.cors
    app[KEYS] = keys
    if service.front is not None:
        app[FRONT] = service.front
    app[CALLS] = calls

    def key_revoked(owner: tuple[str, str]) -> None:
        client_secrets.revoke(owner)
        calls.hang_up_of(owner)

    async def lifetime(app: web.Application) -> AsyncIterator[None]:
        app[DRAINING] = Draining(app[CALLS], service.drain_timeout_s)
        app[READINESS] = Readiness(service.load)
        app[READINESS].open()
        late = running(service.waiting.run(), "waiting calls") if service.waiting is not None else nullcontext()
        keyed = running(keys.watch(quotas.spent_s, key_revoked), "keys")
        journal = service.journal.running() if service.journal is not None else nullcontext()
        async with late, keyed, journal, _all(service.parts, lambda part: part.open(app)):
            with LoopMonitor(service.metrics, pressure=service.admission.pressure):  # until here no call can be held up
                async with _all(service.parts, lambda part: part.listen(app)):
                    yield
                await app[CALLS].close(service.hang_up_grace_s)
        await keys.keep_uses(quotas.spent_s())
        await app[READINESS].close()

    app[SOCKETS], app[LIMITS] = TaskOwner(), service.sockets

    async def close_sockets(app: web.Application) -> None:
        await app[SOCKETS].close()

    async def tell_callers(app: web.Application) -> None:
        await app[CALLS].hand_over()
        app[CALLS].hang_up_all()
        await service.admission.close()

    secret_requests = SecretRequests(client_secrets, origins, service.show_session, lambda: app[READINESS].start_call())
    app.router.add_post(SECRETS_PATH, secret_requests.issue)
    app.router.add_delete(SECRETS_PATH, secret_requests.revoke)
    app.cleanup_ctx.append(lifetime)
    app.on_cleanup.append(close_sockets)
    app.on_shutdown.append(tell_callers)  # before open requests are waited for: a caller who waits for a place is one of them
    _add_routes(app, service)
    return app


@asynccontextmanager
async def _all(
    parts: Sequence[ApplicationPart], enter: Callable[[ApplicationPart], AbstractAsyncContextManager[None]]
) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for part in parts:
            await stack.enter_async_context(enter(part))
        yield


def start_call(app: web.Application) -> StartCall:
    """Returns the function that starts a call that comes by no request. Raises Problem."""
    with app[DRAINING].offer():
        return app[READINESS].start_call()


def _add_routes(app: web.Application, service: Service) -> None:
    async def metrics(_: web.Request) -> web.Response:
        service.metrics.tasks = len(asyncio.all_tasks())
        return web.Response(text=service.metrics.render(), headers={hdrs.CONTENT_TYPE: "text/plain; version=0.0.4"})

    async def budgets(_: web.Request) -> web.Response:
        return web.json_response(_budgets(service.profile, service.limits))

    async def about(_: web.Request) -> web.Response:
        return web.json_response(service.about())

    async def ice_servers(_: web.Request) -> web.Response:
        servers = service.ice.for_caller(secrets.token_hex(6), time.time())
        return web.json_response({"iceServers": servers}, headers={hdrs.CACHE_CONTROL: "no-store"})

    page = serve_page(service.web_folder or web_dir())
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/readyz", _readyz)
    app.router.add_get("/metrics", metrics)
    app.router.add_get("/v1/voiceagent/budgets", budgets)
    app.router.add_get("/v1/voiceagent/about", about)
    app.router.add_get("/v1/voiceagent/ice_servers", ice_servers)
    app.router.add_post("/v1/voiceagent/drain", _drain)
    app.router.add_get("/v1/realtime", _open_socket)
    app.router.add_post("/v1/realtime/calls", _offer)
    app.router.add_post("/whip", _offer)
    app.router.add_post("/v1/realtime/calls/{id}/hangup", _hang_up)
    app.router.add_delete("/v1/realtime/calls/{id}", _hang_up)
    app.router.add_post("/v1/calls/{id}/end", _end)
    for part in service.parts:
        part.add_routes(app)
    app.router.add_get("/", page)
    app.router.add_get(r"/{path:(?!v1/).+}", page)


def _headers(origins: Origins) -> Middleware:
    """The outermost middleware: headers of every answer."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        response = await handler(request)
        if not response.prepared:
            vary = response.headers.get(hdrs.VARY)
            response.headers.update(origins.cors(request))
            if vary is not None:
                response.headers[hdrs.VARY] = vary
            response.headers.setdefault("X-Content-Type-Options", "nosniff")
            response.headers["Server"] = f"voiceagent/{__version__}"
        return response

    return middleware


async def _healthz(request: web.Request) -> web.Response:
    actions = request.app[CALLS].metrics.budget_actions
    degraded = [*actions.degradations(), *(("fewer_calls",) if actions.sheds() else ())]
    return web.json_response({"status": "ok"} | ({"degraded": degraded} if degraded else {}))


async def _readyz(request: web.Request) -> web.Response:
    app = request.app
    reason = app[DRAINING].reason or app[READINESS].reason or app[CALLS].metrics.health.reason
    return web.json_response({"ready": not reason, "reason": reason}, status=503 if reason else 200)


async def _offer(request: web.Request) -> web.Response:
    calls = request.app[CALLS]
    if token := resume_token_of(request):
        offer, _ = await read_offer(request)
        return _answered(*await calls.answer_again(offer, token, _after(request), request.app[READINESS].start_call))
    try:
        draining = request.app[DRAINING]
        with draining.offer():
            start_call = request.app[READINESS].start_call()
            offer, session = await read_offer(request)
            call_id, sdp = await calls.answer(
                offer, session, start_call, request[CLIENT], lambda: is_connected(request) and not draining.reason
            )
    except Problem as problem:
        calls.metrics.calls_refused.add(problem.code)
        raise
    return _answered(call_id, sdp)


def _answered(call_id: str, sdp: str) -> web.Response:
    headers = {"Location": f"/v1/realtime/calls/{call_id}", hdrs.CONTENT_TYPE: "application/sdp"}
    return web.Response(status=201, body=sdp.encode(), headers=headers)


def _after(request: web.Request) -> str:
    """The last event that the client of a lost connection got."""
    return request.query.get("after", "")


async def _open_socket(request: web.Request) -> web.StreamResponse:
    check_upgrade(request)
    if "call_id" in request.query:
        return await _join(request)
    calls, draining = request.app[CALLS], request.app[DRAINING]
    opened = RealtimeSocket(request, request.app[SOCKETS], request.app[LIMITS])
    if token := resume_token_of(request):
        await calls.resume(token, opened.make_returning_leg, _after(request), request.app[READINESS].start_call)
        await opened.carry()
        return opened.socket
    try:
        with draining.offer():
            start_call = request.app[READINESS].start_call()
            await calls.begin(
                opened.make_leg,
                opened.asked,
                start_call,
                request[CLIENT],
                lambda: is_connected(request) and not draining.reason,
            )
    except Problem as problem:
        calls.metrics.calls_refused.add(problem.code)
        if not opened.socket.prepared:
            raise
        await opened.refuse(problem)
        return opened.socket
    await opened.carry()
    return opened.socket


async def _join(request: web.Request) -> web.StreamResponse:
    call = request.app[CALLS].joinable(request.query["call_id"], request[CLIENT])
    opened = RealtimeSocket(request, request.app[SOCKETS], request.app[LIMITS])
    if not await opened.attend(call):
        request.app[CALLS].reader_was_slow("sideband", request.query["call_id"])
    return opened.socket


def is_connected(request: web.Request) -> bool:
    """True while the sender of the request is still there."""
    return request.transport is not None and not request.transport.is_closing()


async def _drain(request: web.Request) -> web.Response:
    if not request[CLIENT].is_operator:
        raise Problem(
            403,
            "operator_only",
            f"Only the operator may drain the server; send a key of {OPERATOR_KEYS_VARIABLE}, or the signal SIGUSR1.",
        )
    draining = request.app[DRAINING]
    draining.begin()
    calls = len(request.app[CALLS])
    return web.json_response({"draining": True, "calls": calls, "timeout_s": draining.timeout_s}, status=202)


async def _hang_up(request: web.Request) -> web.Response:
    request.app[CALLS].hang_up(request.match_info["id"], request[CLIENT])
    return web.Response(status=200)


class EndRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of a request that ends a call with a goodbye."""

    reason: Annotated[str, msgspec.Meta(max_length=300)] = ""
    """It stands in the call's result."""


async def _end(request: web.Request) -> web.Response:
    try:
        asked = read_struct(await request.read() or b"{}", EndRequest)
    except ValueError as error:
        raise Problem(400, "invalid_body", f'The body cannot be read ({error}); expected {{"reason": "…"}}.') from error
    request.app[CALLS].take_leave(request.match_info["id"], asked.reason, request[CLIENT])
    return web.Response(status=202)


def _budgets(profile: str, limits: Mapping[Stage, StageLimits]) -> dict[str, object]:
    stages = [
        {
            "stage": stage.value,
            "whole": stage in WHOLES,
            "p50_ms": limits[stage].p50_ms,
            "p95_ms": limits[stage].p95_ms,
            "p99_ms": limits[stage].p99_ms,
            "on_miss": limits[stage].on_miss,
        }
        for stage in Stage
        if stage in limits
    ]
    return {"profile": profile, "stages": stages}
