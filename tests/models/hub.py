"""A small model hub on loopback, with the routes and headers that a pull needs, and the faults it must survive."""

import asyncio
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

REVISION = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """What the hub holds and does. `requests` lists (path, Range header) of every GET."""

    files: dict[str, bytes]
    repository: str = "acme/model"
    cut_after: list[int] = field(default_factory=list)
    """The next GETs end, connection and all, after so many bytes."""
    answers: list[int] = field(default_factory=list)
    """The next GETs are answered with these statuses instead."""
    ignore_range: bool = False
    requests: list[tuple[str, str]] = field(default_factory=list)
    address: str = ""

    async def resolve(self, request: web.Request) -> web.StreamResponse:
        wanted = request.headers.get("Range", "")
        path = request.match_info["path"]
        self.requests.append((path, wanted))
        if self.answers and (status := self.answers.pop(0)):
            return web.Response(status=status)
        if request.match_info["repository"] != self.repository:
            return web.Response(status=404, headers={"X-Error-Code": "RepoNotFound"})
        if request.match_info["revision"] != REVISION:
            return web.Response(status=404, headers={"X-Error-Code": "RevisionNotFound"})
        if path not in self.files:
            return web.Response(status=404, headers={"X-Error-Code": "EntryNotFound"})
        return await self._send(request, self.files[path], wanted)

    async def _send(self, request: web.Request, data: bytes, wanted: str) -> web.StreamResponse:
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and not self.ignore_range else 0
        etag = hashlib.sha256(data).hexdigest()
        response = web.StreamResponse(
            status=206 if start else 200,
            headers={
                "ETag": f'"{etag}"', "X-Linked-ETag": f'"{etag}"', "X-Linked-Size": str(len(data)),
                "X-Repo-Commit": REVISION, "Accept-Ranges": "bytes", "Content-Length": str(len(data) - start),
            },
        )  # fmt: skip
        if start:
            response.headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        await response.prepare(request)
        cut = self.cut_after.pop(0) if self.cut_after else None
        await response.write(data[start:] if cut is None else data[start : start + cut])
        if cut is not None:
            assert request.transport is not None
            request.transport.close()
        return response


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    """Serve `hub` in a thread of its own; sets its address."""
    loop = asyncio.new_event_loop()
    app = web.Application()
    app.router.add_get("/{repository:[^/]+/[^/]+}/resolve/{revision}/{path:.+}", hub.resolve)
    runner = web.AppRunner(app)

    async def start() -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        hub.address = f"http://127.0.0.1:{runner.addresses[0][1]}"

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield hub
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
