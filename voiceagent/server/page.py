"""The page and its client library: files of `web/`, each with its type, an entity tag and a strict content security policy."""

from __future__ import annotations

from pathlib import Path

from aiohttp import web
from aiohttp.typedefs import Handler

from voiceagent.server.problems import Problem

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
"""`no-cache` means: ask again each time, and be told 304 when the entity tag still fits."""


def serve_page(folder: Path) -> Handler:
    """A handler for `/` and `/{path}`: files below `folder`, never outside it, never of an unlisted type."""
    root = folder.resolve()

    async def handle(request: web.Request) -> web.StreamResponse:
        name = request.match_info.get("path") or "index.html"
        try:
            file = (root / name).resolve()
            found = file.is_relative_to(root) and file.suffix in TYPES and file.is_file()
        except (OSError, ValueError):
            found = False
        if not found:
            raise Problem(404, "not_found", f"There is nothing at {request.path}.")
        return web.FileResponse(file, headers={**HEADERS, "Content-Type": TYPES[file.suffix]})

    return handle
