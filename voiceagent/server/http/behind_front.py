"""A server behind a front of the same program (`gateway/`): it takes requests over a private socket only, and the front says in
a header which address each came from. So limits by address hold for clients, not for the front. Over TCP the front proves by
the cluster's key that it is one."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from voiceagent.server.http.problems import Problem

UNIX = "unix:"
"""The beginning of the address of a UNIX socket."""
PEER_HEADER = "X-Voiceagent-Front-Peer"
KEY_HEADER = "X-Voiceagent-Front-Key"


@dataclass(frozen=True, slots=True)
class BehindFront:
    """The way in which a worker takes requests."""

    address: str
    """`unix:PATH`, or `http://HOST:PORT` of a private network."""
    key: str = ""
    """The cluster's key, which each request must bring. Empty: only the front can reach the socket."""

    @property
    def socket(self) -> Path | None:
        """The UNIX socket; None: it is TCP."""
        return Path(self.address.removeprefix(UNIX)) if self.address.startswith(UNIX) else None

    def middleware(self) -> Middleware:
        """The outermost middleware: the request is the client's from here on."""

        @web.middleware
        async def take_address(request: web.Request, handler: Handler) -> web.StreamResponse:
            given = request.headers.get(KEY_HEADER, "")
            if self.key and not hmac.compare_digest(given.encode(errors="surrogateescape"), self.key.encode()):
                return Problem(403, "front_only", "This address is the cluster's own; ask the server's front.").response()
            return await handler(request.clone(remote=request.headers.get(PEER_HEADER, "")))

        return take_address
