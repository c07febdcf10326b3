"""The page and its client library: files of `web/`, each with its type, an entity tag and a strict content security policy."""

from __future__ import annotations

import hashlib
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
    "X-Content-Type-Options": "nosniff",
}
"""`no-cache` means: ask again each time, and get 304 when the entity tag still fits."""


def serve_page(folder: Path) -> Handler:
    """A handler for `/` and `/{path}`: the files below `folder` of a listed type, as they are when the server starts. They are
    kept in memory (80 kB). So a request for an unknown path costs one look-up, and a slow reader holds no file open."""
    files = dict(_read(folder.resolve()))

    async def handle(request: web.Request) -> web.StreamResponse:
        file = files.get(request.match_info.get("path") or "index.html")
        if file is None:
            raise Problem(404, "not_found", f"There is nothing at {request.path[:100]}.")
        headers = {**HEADERS, "ETag": f'"{file.tag}"'}
        if any(tag.value in (file.tag, "*") for tag in request.if_none_match or ()):
            return web.Response(status=304, headers=headers)
        return web.Response(body=file.content, headers={**headers, "Content-Type": file.type})

    return handle


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the page."""

    content: bytes
    type: str
    tag: str


def _read(root: Path) -> Iterator[tuple[str, _File]]:
    for path in root.rglob("*"):
        if path.suffix in TYPES and path.is_file() and path.resolve().is_relative_to(root):
            content = path.read_bytes()
            yield path.relative_to(root).as_posix(), _File(content, TYPES[path.suffix], hashlib.sha256(content).hexdigest()[:32])
