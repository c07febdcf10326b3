"""The telephone as a part of the application: the vendors' routes, Asterisk's listener, the SIP line and the route by which the
operator lets the agent call somebody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from voiceagent.server.http.app import CALLS, DRAINING, READINESS, is_connected, start_call
from voiceagent.telephone.sip import call_requests
from voiceagent.telephone.sip.dialling import dial, kept_line
from voiceagent.telephone.sip.line import SipService
from voiceagent.telephone.streams.audiosocket import AudioSocketServer
from voiceagent.telephone.streams.lines import NO_TELEPHONE, Telephone
from voiceagent.telephone.streams.routes import WEBHOOK_METHODS, Switchboard

ASTERISK = web.AppKey("asterisk", AudioSocketServer)


@dataclass(frozen=True, slots=True)
class TelephonePart:
    """Implements `ApplicationPart`."""

    telephone: Telephone = NO_TELEPHONE
    """The vendors whose calls are taken."""
    sip: SipService | None = None
    """The line to a SIP trunk or PBX."""

    def add_routes(self, app: web.Application) -> None:
        """See `ApplicationPart.add_routes`."""
        app.router.add_post("/v1/voiceagent/dial", dial)
        app.router.add_post("/v1/realtime/calls/{id}/accept", call_requests.accept)
        app.router.add_post("/v1/realtime/calls/{id}/reject", call_requests.reject)
        app.router.add_post("/v1/realtime/calls/{id}/refer", call_requests.refer)
        if self.telephone.lines:
            _add_vendors(app, Switchboard(self.telephone, app[CALLS]))

    @asynccontextmanager
    async def open(self, app: web.Application) -> AsyncIterator[None]:
        """See `ApplicationPart.open`: the SIP line."""
        async with kept_line(app, self.sip, app[CALLS], lambda: start_call(app)):
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
    app.router.add_get("/telephony/{vendor}/stream/{ticket}", stream)
