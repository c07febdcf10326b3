"""The telephone as a part of the application: the vendors' routes, Asterisk's listener, the SIP line, the route by which the
operator lets the agent call somebody, and the requests about a SIP call of OpenAI's Realtime API: accept or reject one that
rings, refer one that is up."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import msgspec
from aiohttp import web

from voiceagent.json_types import JsonObject
from voiceagent.server.access.key_ring import OPERATOR_KEYS_VARIABLE
from voiceagent.server.calls.quotas import CLIENT, Client
from voiceagent.server.http.app import CALLS, DRAINING, READINESS, is_connected, start_call
from voiceagent.server.http.problems import Problem
from voiceagent.task_owner import running
from voiceagent.telephone.messages import Unanswered
from voiceagent.telephone.sip.line import SipLine, SipService
from voiceagent.telephone.streams.audiosocket import AudioSocketServer
from voiceagent.telephone.streams.routes import WEBHOOK_METHODS, Switchboard
from voiceagent.telephone.streams.vendors import NO_TELEPHONE, Telephone
from voiceagent.untrusted_json import read_json, read_struct

LINE = web.AppKey("sip line", SipLine)
ASTERISK = web.AppKey("asterisk", AudioSocketServer)


@dataclass(frozen=True, slots=True)
class TelephonePart:
    """Implements `ApplicationPart`."""

    telephone: Telephone = NO_TELEPHONE
    """The vendors whose calls are taken."""
    sip: SipService | None = None
    """The line to a SIP trunk or PBX."""
    unanswered: Unanswered = lambda facts, reason: None
    """Called for each call that we made and nobody took."""

    def add_routes(self, app: web.Application) -> None:
        """See `ApplicationPart.add_routes`."""
        app.router.add_post("/v1/voiceagent/dial", dial)
        app.router.add_post("/v1/realtime/calls/{id}/accept", accept)
        app.router.add_post("/v1/realtime/calls/{id}/reject", reject)
        app.router.add_post("/v1/realtime/calls/{id}/refer", refer)
        if self.telephone.lines:
            _add_vendors(app, Switchboard(self.telephone, app[CALLS], self.unanswered))

    @asynccontextmanager
    async def open(self, app: web.Application) -> AsyncIterator[None]:
        """See `ApplicationPart.open`: keep the SIP line up, if one is configured."""
        if self.sip is None:
            yield
            return
        line = app[LINE] = SipLine(self.sip, app[CALLS], lambda: start_call(app), self.unanswered)
        async with running(line.run(), "sip line"):
            yield

    @asynccontextmanager
    async def listen(self, app: web.Application) -> AsyncIterator[None]:
        """See `ApplicationPart.listen`: Asterisk's AudioSocket."""
        audiosocket, limits = self.telephone.audiosocket, self.telephone.limits
        if audiosocket is None:
            yield
            return
        asterisk = AudioSocketServer(audiosocket, app[CALLS], app[DRAINING], app[READINESS].start_call, limits)
        async with asterisk.open():
            app[ASTERISK] = asterisk
            yield


def _add_vendors(app: web.Application, switchboard: Switchboard) -> None:
    async def close(_: web.Application) -> None:
        await switchboard.close()

    async def webhook(request: web.Request) -> web.StreamResponse:
        if switchboard.is_stream(request):
            return await stream(request)
        with request.app[DRAINING].offer():
            request.app[READINESS].start_call()  # a vendor that is told now may ring elsewhere
            return await switchboard.webhook(request)

    async def stream(request: web.Request) -> web.StreamResponse:
        draining = request.app[DRAINING]
        with draining.offer():
            start = request.app[READINESS].start_call()
            opened = await switchboard.open_stream(request, start, lambda: is_connected(request) and not draining.reason)
        await opened.run()
        return opened.socket

    app.on_cleanup.append(close)
    for method in WEBHOOK_METHODS:
        app.router.add_route(method, "/telephony/{vendor}", webhook)
        app.router.add_route(method, "/telephony/{vendor}/after/{ticket}", switchboard.after_stream)
        app.router.add_route(method, "/telephony/{vendor}/status", switchboard.status)
    app.router.add_get("/telephony/{vendor}/stream/{ticket}", stream)


# --- requests about SIP calls -----------------------------------------------------------------------------------------


class Dial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to call an address, with the instructions for the call."""

    to: str
    """A SIP address."""
    instructions: str = ""
    """Instructions for this call, in place of the agent's own."""


def line_of(request: web.Request) -> SipLine:
    """The server's line. Raises Problem."""
    line = request.app.get(LINE)
    if line is None:
        raise Problem(404, "no_sip", "No SIP trunk or PBX is configured: set telephony.sip in agent.yaml; see docs/telephony.md.")
    return line


async def dial(request: web.Request) -> web.Response:
    """Call somebody. The answer comes once they have taken the call, or have not."""
    client = request[CLIENT]
    if not client.is_operator:
        raise Problem(
            403, "operator_only", f"Only the operator may have the agent call somebody; send a key of {OPERATOR_KEYS_VARIABLE}."
        )
    line = line_of(request)
    try:
        asked = read_struct(await request.read(), Dial)
    except ValueError as error:
        raise Problem(400, "invalid_body", f'The body cannot be read ({error}); expected {{"to": "sip:…"}}.') from error
    session = {"instructions": asked.instructions} if asked.instructions else {}
    call_id = await line.dial(asked.to, session, Client(f"telephone sip, {client.name}", is_telephone=True))
    return web.json_response({"id": call_id, "to": asked.to}, status=201)


class Reject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The refusal of a call."""

    status_code: Annotated[int, msgspec.Meta(ge=400, le=699)] = 603
    """SIP's status for the caller."""


class Refer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The transfer of a call."""

    target_uri: str
    """An address of SIP, or `tel:` and a number."""


async def refer(request: web.Request) -> web.Response:
    """Transfer a call. The answer comes once somebody has taken it, or has not."""
    line = line_of(request)
    try:
        asked = read_struct(await request.read(), Refer)
    except ValueError as error:
        raise Problem(400, "invalid_body", f'The body cannot be read ({error}); expected {{"target_uri": "sip:…"}}.') from error
    await line.refer(request.match_info["id"], asked.target_uri, request[CLIENT])
    return web.Response()


async def accept(request: web.Request) -> web.Response:
    """Take a call that rings, with the settings of its session."""
    line, session = line_of(request), await _session(request)
    await line.accept(request.match_info["id"], session, request[CLIENT])
    return web.Response()


async def reject(request: web.Request) -> web.Response:
    """Refuse a call that rings."""
    line = line_of(request)
    try:
        asked = read_struct(await request.read() or b"{}", Reject)
    except ValueError as error:
        raise Problem(400, "invalid_body", f'The body cannot be read ({error}); expected {{"status_code": 603}}.') from error
    await line.reject(request.match_info["id"], asked.status_code)
    return web.Response()


async def _session(request: web.Request) -> JsonObject:
    try:
        session = read_json(await request.read() or b"{}")
    except ValueError as error:
        raise Problem(400, "invalid_session", f"The session is not valid JSON ({error}).") from error
    if not isinstance(session, dict):
        raise Problem(400, "invalid_session", "The session must be a JSON object.")
    return session
