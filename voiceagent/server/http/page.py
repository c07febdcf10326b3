"""The page, its client library and the call button: files of `web/`, each with its type, an entity tag, a strict content security
policy, and as gzip for those who take it."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from voiceagent.server.http.problems import Problem

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webmanifest": "application/manifest+json",
}
HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; media-src 'self' blob:; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "Vary": "Accept-Encoding, Origin",
    "X-Content-Type-Options": "nosniff",
}
"""`no-cache` means: ask again each time, and get 304 when the entity tag still fits."""
_TAKES_GZIP = re.compile(r"(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.IGNORECASE)


def serve_page(folder: Path) -> Handler:
    """A handler for `/` and `/{path}`: the files below `folder` of a listed type, as they are when the server starts. They are
    kept in memory (400 kB, with their gzip). So a request for an unknown path costs one look-up, and a slow reader holds no file
    open."""
    files = dict(_read(folder.resolve()))

    async def handle(request: web.Request) -> web.StreamResponse:
        path = request.match_info.get("path") or "index.html"
        file = files.get(path) or files.get(f"{path}.html")
        if file is None:
            raise Problem(404, "not_found", f"There is nothing at {request.path[:100]}.")
        packs = _TAKES_GZIP.search(request.headers.get("Accept-Encoding", "")) is not None
        tag = f"{file.tag}-gzip" if packs else file.tag
        headers = {**HEADERS, "ETag": f'"{tag}"'}
        if any(known.value in (tag, "*") for known in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = file.type
        if packs:
            return web.Response(body=file.packed, headers={**headers, "Content-Encoding": "gzip"})
        return web.Response(body=file.content, headers=headers)

    return handle


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the page."""

    content: bytes
    packed: bytes
    """The same as gzip."""
    type: str
    tag: str


def _read(root: Path) -> Iterator[tuple[str, _File]]:
    for path in root.rglob("*"):
        if path.suffix in TYPES and path.is_file() and path.resolve().is_relative_to(root):
            content = path.read_bytes()
            tag = hashlib.sha256(content).hexdigest()[:32]
            packed = gzip.compress(content, 9, mtime=0)
            yield path.relative_to(root).as_posix(), _File(content, packed, TYPES[path.suffix], tag)
