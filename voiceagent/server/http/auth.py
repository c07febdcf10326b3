"""Access to the server. With keys, a bearer token must be one of them. Without keys the server answers this machine only: it
binds to loopback, and it refuses pages of other sites and host names that merely point here (DNS rebinding)."""

from __future__ import annotations

import hmac
import ipaddress
import os
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from voiceagent.errors import ConfigError
from voiceagent.server.calls.quotas import CLIENT, Client
from voiceagent.server.http.connection import peer_of
from voiceagent.server.http.problems import Problem
from voiceagent.server.http.slowing import PAUSE_S, WrongKeys
from voiceagent.server.monitoring.metrics import Metrics

KEYS_VARIABLE = "VOICEAGENT_KEYS"
OPERATOR_KEYS_VARIABLE = "VOICEAGENT_OPERATOR_KEYS"
MIN_KEY_CHARACTERS = 16
"""The shortest key that other machines may try."""
_ALLOWED_HEADERS = "authorization, content-type, x-openai-agents-sdk"


def keys_from_environment(variable: str = KEYS_VARIABLE) -> tuple[str, ...]:
    """The keys in an environment variable, separated by commas."""
    return tuple(key for key in (part.strip() for part in os.environ.get(variable, "").split(",")) if key)


def keys_for(host: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The keys of clients and those of operators, for a server at this address. Raises ConfigError: see `check_exposure`."""
    keys, operator_keys = keys_from_environment(), keys_from_environment(OPERATOR_KEYS_VARIABLE)
    check_exposure(host, (*keys, *operator_keys))
    return keys, operator_keys


def is_loopback(host: str) -> bool:
    """True for names and addresses that only this machine can reach."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_exposure(host: str, keys: tuple[str, ...]) -> None:
    """Raises ConfigError when the server would be open to the network without keys, or with a key that can be guessed."""
    if is_loopback(host):
        return
    short = next((key for key in keys if len(key) < MIN_KEY_CHARACTERS), None)
    if short is not None:
        raise ConfigError(
            f"a key of {len(short)} characters in {KEYS_VARIABLE} or {OPERATOR_KEYS_VARIABLE} could be guessed; expected "
            f"at least {MIN_KEY_CHARACTERS}, such as from: openssl rand -hex 24"
        )
    if not keys:
        raise ConfigError(
            f"--host {host} lets other machines call this server, but no keys are configured; "
            f"set {KEYS_VARIABLE} to one or more secret keys separated by commas, or use --host 127.0.0.1"
        )


class KeyGate:
    """The middleware that lets requests in, and answers CORS preflights of requests that may come from a browser."""

    def __init__(self, keys: tuple[str, ...], metrics: Metrics, operator_keys: tuple[str, ...] = ()) -> None:
        """`operator_keys` are let in like `keys`, and belong to the operator. Without operator keys, the only key is the
        operator's."""
        is_only = len(keys) == 1 and not operator_keys
        self._keys = [(key.encode(), Client(f"operator key {number}", True)) for number, key in enumerate(operator_keys, 1)]
        self._keys += [(key.encode(), Client(f"key {number}", is_only)) for number, key in enumerate(keys, 1)]
        self._wrong = WrongKeys(metrics)

    def middleware(self) -> Middleware:
        """The aiohttp middleware."""

        @web.middleware
        async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
            self._check_origin(request)
            if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
                response: web.StreamResponse = web.Response(status=204)
            else:
                request[CLIENT] = await self._client(request)
                response = await handler(request)
            return response

        return gate

    def cors(self, request: web.Request) -> dict[str, str]:
        """The CORS headers of every answer to this request, errors among them."""
        origin = request.headers.get("Origin")
        if origin is None or not self._origin_allowed(origin):
            return {}
        return {
            "Access-Control-Allow-Origin": "*" if self._keys else origin,
            "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
            "Access-Control-Allow-Methods": "GET, POST, DELETE, OPTIONS",
            "Access-Control-Expose-Headers": "Location, Retry-After",
            "Access-Control-Max-Age": "600",
            "Vary": "Origin",
        }

    def _origin_allowed(self, origin: str) -> bool:
        return bool(self._keys) or is_loopback(_host_of(origin))

    def _check_origin(self, request: web.Request) -> None:
        if self._keys:
            return
        origin = request.headers.get("Origin")
        if not is_loopback(_host_of(f"//{request.host}")) or (origin is not None and not self._origin_allowed(origin)):
            raise Problem(
                403,
                "origin_not_allowed",
                "This server has no keys, so it only answers pages and programs of its own machine; "
                f"open it at localhost, or set {KEYS_VARIABLE}.",
            )

    async def _client(self, request: web.Request) -> Client:
        """The sender of the request. Raises Problem if the request needs a key and has none of ours."""
        protected = request.path.startswith("/v1/") or request.path == "/metrics"
        address = request.remote or ""
        if not self._keys or not protected:
            return Client(address, is_operator=not self._keys)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        given = token.strip().encode(errors="surrogateescape")  # aiohttp's way to keep bytes that are not UTF-8
        known = [client for key, client in self._keys if hmac.compare_digest(given, key)]
        if scheme.lower() == "bearer" and known:
            return known[0]
        if not await self._wrong.given(peer_of((address,))):
            raise Problem(
                429,
                "too_many_wrong_keys",
                "Too many requests with a wrong key; send `Authorization: Bearer KEY` with a key of this server.",
                retry_after_s=round(PAUSE_S),
            )
        raise Problem(
            401, "invalid_api_key", "The key is missing or wrong; send `Authorization: Bearer KEY` with a key of this server."
        )


def _host_of(url: str) -> str:
    """The host name or address in a URL; empty when none can be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
