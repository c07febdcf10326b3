"""Access to the server. `KeyGate.admit` is the one function that lets requests in: HTTP and WebSocket, by header, by
subprotocol, by a key or by a client secret. With keys, a request must present one of them, and a page must be of an allowed
origin. Without keys the server answers this machine only: it binds to loopback, and it refuses pages of other sites and host
names that merely point here (DNS rebinding)."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler, Middleware

from voiceagent.addresses import is_loopback
from voiceagent.server.access.client_secrets import ClientSecrets, IssuedSecret
from voiceagent.server.access.key_ring import KEYS_VARIABLE, KeyRing
from voiceagent.server.access.origins import Origins, host_of
from voiceagent.server.calls.call_ids import RESUME_SHAPE, SECRET_SHAPE
from voiceagent.server.calls.calls import NOT_RESUMABLE
from voiceagent.server.calls.quotas import CLIENT, Client
from voiceagent.server.http.connection import peer_of
from voiceagent.server.http.problems import Problem
from voiceagent.server.http.slowing import LOG_EVERY_S, PAUSE_S, WrongKeys
from voiceagent.server.monitoring.metrics import Metrics

SUBPROTOCOL = "realtime"
"""The subprotocol of WebSockets that a server answers with. A browser offers it beside the one that carries its key."""
KEY_SUBPROTOCOL = "openai-insecure-api-key."
"""The beginning of the subprotocol by which a browser presents a key: it can set no header of a WebSocket."""
_FOR_SECRETS = re.compile(
    r"/v1/realtime(/calls(/[^/]+(/hangup)?)?)?|/whip|/whep(/[^/]+)?|/v1/voiceagent/(ice_servers|about|budgets)"
)
"""The paths that a client secret opens."""
_OF_KIND = {"monitor": r"/v1/calls/[^/]+/(events|recording)|/v1/voiceagent/monitor", "metrics": "/metrics"}
"""The paths that keys of these kinds open."""

log = logging.getLogger(__name__)


FindCaller = Callable[[str], Awaitable[Client | None]]
"""Finds the client whose call a resume token resumes."""


class KeyGate:
    """The middleware that lets requests in, and answers CORS preflights of requests that may come from a browser."""

    def __init__(
        self,
        keys: KeyRing,
        secrets: ClientSecrets,
        origins: Origins,
        metrics: Metrics,
        resumable_by: FindCaller | None = None,
        *,
        slows: bool = True,
    ) -> None:
        """`slows` says whether those who guess are made to wait here."""
        self._keys = keys
        self._secrets = secrets
        self._origins = origins
        self._metrics = metrics
        self._resumable_by = resumable_by
        self._wrong = WrongKeys(metrics, slows=slows)
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
        """The sender of a request, with its limits and, if it presented one, its client secret. Raises Problem for a page that
        may not call, for a request that needs a key and has none of ours, and for what a client secret may not do."""
        self._check_origin(request)
        anybody = Client(request.remote or "", "client" if self._keys.is_needed else "owner")
        if not _is_protected(request):
            return anybody
        token = key_of(request)
        if SECRET_SHAPE.fullmatch(token):
            return await self._with_secret(request, token)
        if RESUME_SHAPE.fullmatch(token):
            return await self._with_resume_token(request, token)
        if not self._keys.is_needed:
            return anybody
        client = self._keys.client(token)
        if client is None:
            raise await self._refusal(request)
        if client.kind in _OF_KIND and not re.fullmatch(_OF_KIND[client.kind], request.path):
            raise Problem(403, "wrong_kind_of_key", f"This is a {client.kind} key; send a client's key for anything else.")
        return client

    async def _with_secret(self, request: web.Request, token: str) -> Client:
        secret = self._secrets.find(token)
        owner = self._keys.of_owner(secret.owner) if secret is not None and self._keys.is_needed else Client(request.remote or "")
        if secret is None or owner is None:
            self._secrets.refused["unknown"] += 1
            raise await self._refusal(request, "The client secret is wrong, has expired or was revoked; ask for a new one.")
        self._check_origin_of(secret, request)
        if not _FOR_SECRETS.fullmatch(request.path):
            self._secrets.refused["path"] += 1
            raise Problem(
                403, "key_needed", "A client secret begins and ends calls; send a key of this server for anything else."
            )
        if secret.is_spent and _begins_a_call(request):
            self._secrets.refused["used"] += 1
            secret.take()  # raises
        return dataclasses.replace(owner, kind="client", secret=secret)

    def _check_origin_of(self, secret: IssuedSecret, request: web.Request) -> None:
        if secret.origin and request.headers.get("Origin") != secret.origin:
            self._secrets.refused["origin"] += 1
            raise Problem(
                403, "origin_not_allowed", f"This client secret is for pages of {secret.origin}; ask for one for this page."
            )

    async def _with_resume_token(self, request: web.Request, token: str) -> Client:
        client = None if self._resumable_by is None else await self._resumable_by(token)
        if client is None:
            raise await self._refusal(request, NOT_RESUMABLE)
        if client.secret is not None:
            self._check_origin_of(client.secret, request)
        if not _begins_a_call(request):
            raise Problem(403, "key_needed", "A resume token resumes its call; send a key of this server for anything else.")
        return client

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

    async def _refusal(self, request: web.Request, why: str = "") -> Problem:
        if not await self._wrong.given(peer_of((request.remote or "",))):
            return Problem(
                429,
                "too_many_wrong_keys",
                "Too many requests with a wrong key; send `Authorization: Bearer KEY` with a key of this server.",
                retry_after_s=round(PAUSE_S),
            )
        return Problem(
            401,
            "invalid_api_key",
            why or "The key is missing or wrong; send `Authorization: Bearer KEY` with a key of this server.",
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


def resume_token_of(request: web.Request) -> str:
    """The resume token that a request presents in place of a key; empty if there is none."""
    token = key_of(request)
    return token if RESUME_SHAPE.fullmatch(token) else ""


def _begins_a_call(request: web.Request) -> bool:
    return request.path in ("/v1/realtime", "/v1/realtime/calls", "/whip") and "call_id" not in request.query


def _is_protected(request: web.Request) -> bool:
    return request.path.startswith(("/v1/", "/whip", "/whep")) or request.path == "/metrics"
