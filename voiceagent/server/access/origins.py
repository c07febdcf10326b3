"""The pages that may call. A browser names the site of the page in the header `Origin` of each request that a script of another
site sends, and of each WebSocket (RFC 6454 §7, RFC 6455 §10.2). Programs send none, and need only a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from aiohttp import web

from voiceagent.addresses import is_loopback
from voiceagent.errors import ConfigError

ANY = "*"
_ALLOWED_HEADERS = "authorization, content-type, last-event-id, x-openai-agents-sdk"
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}

Place = tuple[str, int | None]


class Origins:
    """Tells pages that may call from others."""

    def __init__(self, allowed: Sequence[str] = (), *, keys_needed: Callable[[], bool]) -> None:
        """`allowed` are origins such as `https://shop.example`, or `*` for any. Without keys, pages of this machine may call;
        with keys, the server's own page. Raises ConfigError."""
        self.allows_any = ANY in allowed
        self._allowed = {_checked(origin) for origin in allowed if origin != ANY}
        self._keys_needed = keys_needed
        if self.allows_any and not keys_needed():
            raise ConfigError(
                "http.allowed_origins: `*` without keys would let any page that somebody on this machine opens call the agent; "
                "name the origins, or make a key with `voiceagent keys add NAME`"
            )

    def admits(self, request: web.Request) -> bool:
        """True if the request comes from a program, or from a page that may call."""
        origin = request.headers.get("Origin")
        if origin is None:
            return True
        if self.names(origin):
            return True
        place = _place(origin)
        if place is None:
            return False
        if not self._keys_needed():
            return is_loopback(place[0])
        return place == _place(f"{urlsplit(origin).scheme}://{request.host}")

    def names(self, origin: str) -> bool:
        """True if the settings allow this origin."""
        return self.allows_any or origin in self._allowed

    def cors(self, request: web.Request) -> dict[str, str]:
        """The CORS headers of every answer to this request, errors among them."""
        origin = request.headers.get("Origin")
        if origin is None or not self.admits(request):
            return {}
        return {
            "Access-Control-Allow-Origin": "*" if self.allows_any else origin,
            "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
            "Access-Control-Allow-Methods": "GET, POST, PATCH, DELETE, OPTIONS",
            "Access-Control-Expose-Headers": "Location, Retry-After",
            "Access-Control-Max-Age": "600",
            "Vary": "Origin",
        }


def host_of(url: str) -> str:
    """The host name or address in a URL; empty when none can be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def checked_origin(origin: str) -> str:
    """The origin as browsers write it: scheme, host, and the port unless it is the scheme's own. Raises ValueError with the
    reason."""
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("expected scheme, host and port of a page, such as https://shop.example")
    if parts.username is not None:
        raise ValueError("expected no name and password")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _checked(origin: str) -> str:
    try:
        return checked_origin(origin)
    except ValueError as error:
        raise ConfigError(f"http.allowed_origins: {origin[:80]!r} is no origin: {error}") from error


def _place(url: str) -> Place | None:
    """Host and port; None when they cannot be read, as with `null`. The scheme is not compared: a proxy may speak TLS for us."""
    try:
        parts = urlsplit(url)
        return (parts.hostname, parts.port or _PORTS.get(parts.scheme)) if parts.hostname else None
    except ValueError:
        return None
