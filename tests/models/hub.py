"""A small model hub on loopback, with the routes and headers that a pull needs, and the faults it must survive."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.models.served_files import send, served

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
        etag = hashlib.sha256(data).hexdigest()
        headers = {"ETag": f'"{etag}"', "X-Linked-ETag": f'"{etag}"', "X-Linked-Size": str(len(data)), "X-Repo-Commit": REVISION}
        cut_after = self.cut_after.pop(0) if self.cut_after else None
        return await send(request, data, "" if self.ignore_range else wanted, headers, cut_after=cut_after)


@contextmanager
def running(hub: Hub) -> Iterator[Hub]:
    """Serve `hub`; sets its address."""
    app = web.Application()
    app.router.add_get("/{repository:[^/]+/[^/]+}/resolve/{revision}/{path:.+}", hub.resolve)
    with served(app) as hub.address:
        yield hub
