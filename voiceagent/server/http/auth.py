"""Access to the server. `KeyGate.admit` is the one function that lets requests in: HTTP and WebSocket, by header, by
subprotocol, by a key or by a client secret. With keys, a request must present one of them, and a page must be of an allowed
origin. Without keys the server answers this machine only: it binds to loopback, and it refuses pages of other sites and host
names that merely point here (DNS rebinding)."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from voiceagent.server.access.key_ring import KEYS_VARIABLE, KeyRing, is_loopback
from voiceagent.server.access.origins import Origins, host_of
from voiceagent.server.calls.quotas import CLIENT, Client
from voiceagent.server.http.connection import peer_of
from voiceagent.server.http.problems import Problem
from voiceagent.server.http.slowing import LOG_EVERY_S, PAUSE_S, WrongKeys
from voiceagent.server.monitoring.metrics import Metrics

SUBPROTOCOL = "realtime"
"""The subprotocol of WebSockets that a server answers with. A browser offers it beside the one that carries its key."""
KEY_SUBPROTOCOL = "openai-insecure-api-key."
"""The beginning of the subprotocol by which a browser presents a key: it can set no header of a WebSocket."""
_ALLOWED_HEADERS = "authorization, content-type, x-openai-agents-sdk"

log = logging.getLogger(__name__)


class KeyGate:
    """The middleware that lets requests in, and answers CORS preflights of requests that may come from a browser."""

    def __init__(self, keys: KeyRing, origins: Origins, metrics: Metrics) -> None:
        self._keys = keys
        self._origins = origins
        self._metrics = metrics
        self._wrong = WrongKeys(metrics)
        self._told_of_origin_s = float("-inf")

    def middleware(self) -> Middleware:
        """The aiohttp middleware."""

        @web.middleware
        async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
                self._check_origin(request)
                response: web.StreamResponse = web.Response(status=204)
            else:
                request[CLIENT] = await self.admit(request)
                response = await handler(request)
            return response

        return gate

    async def admit(self, request: web.Request) -> Client:
        """The sender of a request, and what it may do. Raises Problem for a page that may not call, and if the request needs a
        key and has none of ours."""
        self._check_origin(request)
        if not self._keys.is_needed or not _is_protected(request):
            return Client(request.remote or "", is_operator=not self._keys.is_needed)
        client = self._keys.client(key_of(request))
        if client is None:
            raise await self._refusal(request)
        return client

    def cors(self, request: web.Request) -> dict[str, str]:
        """The CORS headers of every answer to this request, errors among them."""
        origin = request.headers.get("Origin")
        if origin is None or not self._origins.admits(request):
            return {}
        return {
            "Access-Control-Allow-Origin": "*" if self._origins.allows_any else origin,
            "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
            "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
            "Access-Control-Expose-Headers": "Location, Retry-After",
            "Access-Control-Max-Age": "600",
            "Vary": "Origin",
        }

    def _check_origin(self, request: web.Request) -> None:
        if not self._keys.is_needed:
            if not is_loopback(host_of(f"//{request.host}")) or not self._origins.admits(request):
                raise Problem(
                    403,
                    "origin_not_allowed",
                    "This server has no keys, so it only answers pages and programs of its own machine; "
                    f"open it at localhost, make a key with `voiceagent keys add NAME`, or set {KEYS_VARIABLE}.",
                )
        elif _is_protected(request) and not self._origins.admits(request):
            raise self._wrong_origin(request.headers["Origin"])

    def _wrong_origin(self, origin: str) -> Problem:
        self._metrics.origins_refused += 1
        now_s = asyncio.get_running_loop().time()
        shown = origin[:100].encode("ascii", "backslashreplace").decode()
        if now_s - self._told_of_origin_s >= LOG_EVERY_S:
            self._told_of_origin_s = now_s
            log.warning("a page of %r was refused; if it may call, add it to http.allowed_origins in agent.yaml", shown)
        return Problem(
            403,
            "origin_not_allowed",
            f"Pages of {shown} may not call this server; its operator can add them to http.allowed_origins in agent.yaml.",
        )

    async def _refusal(self, request: web.Request) -> Problem:
        if not await self._wrong.given(peer_of((request.remote or "",))):
            return Problem(
                429,
                "too_many_wrong_keys",
                "Too many requests with a wrong key; send `Authorization: Bearer KEY` with a key of this server.",
                retry_after_s=round(PAUSE_S),
            )
        return Problem(
            401, "invalid_api_key", "The key is missing or wrong; send `Authorization: Bearer KEY` with a key of this server."
        )


def key_of(request: web.Request) -> str:
    """The key or client secret that a request presents: as a bearer token, or in a subprotocol of a WebSocket; empty if there is
    none. Bytes that are not UTF-8 are kept, in aiohttp's way."""
    scheme, _, token = request.headers.get(hdrs.AUTHORIZATION, "").partition(" ")
    if scheme:
        return token.strip() if scheme.lower() == "bearer" else ""
    if request.headers.get(hdrs.UPGRADE, "").lower() != "websocket":
        return ""
    offered = (part.strip() for part in request.headers.get(hdrs.SEC_WEBSOCKET_PROTOCOL, "").split(","))
    return next((part.removeprefix(KEY_SUBPROTOCOL) for part in offered if part.startswith(KEY_SUBPROTOCOL)), "")


def _is_protected(request: web.Request) -> bool:
    return request.path.startswith("/v1/") or request.path == "/metrics"
