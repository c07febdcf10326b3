"""A small package index on loopback, as pip reads one (PEP 503), and the faults that a pull from it must survive."""

import asyncio
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import encode_basic_auth, web


def wheel_of(name: str, version: str, files: Mapping[str, bytes]) -> bytes:
    """A wheel that carries `files` and nothing to import."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return made.getvalue()


@dataclass
class Index:
    """What the index holds and does. `requests` lists (file, Range header) of every GET of a wheel."""

    wheels: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """(name, version) → wheel."""
    cut_after: list[int] = field(default_factory=list)
    """The next GETs of a wheel end, connection and all, after so many bytes."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    address: str = ""
    password: str = ""
    """What a request must present, when there is one, as the user `reader`."""

    def add(self, name: str, version: str, files: Mapping[str, bytes]) -> int:
        """Hold a package; the size of its wheel."""
        self.wheels[name, version] = wheel_of(name, version, files)
        return len(self.wheels[name, version])

    def refuses(self, request: web.Request) -> bool:
        wanted = encode_basic_auth("reader", self.password)
        return bool(self.password) and request.headers.get("Authorization") != wanted

    async def links(self, request: web.Request) -> web.Response:
        if self.refuses(request):
            return web.Response(status=401)
        links = []
        for (name, version), wheel in self.wheels.items():
            if name == request.match_info["name"]:
                file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
                digest = hashlib.sha256(wheel).hexdigest()
                links.append(f'<a href="/wheels/{file}#sha256={digest}">{file}</a>')
        if not links:
            return web.Response(status=404)
        return web.Response(text=f"<!DOCTYPE html><html><body>{' '.join(links)}</body></html>", content_type="text/html")

    async def file(self, request: web.Request) -> web.StreamResponse:
        if self.refuses(request):
            return web.Response(status=401)
        file = request.match_info["file"]
        for (name, version), wheel in self.wheels.items():
            whole = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
            if file == whole:
                return await self._send(request, wheel)
        return web.Response(status=404)

    async def _send(self, request: web.Request, data: bytes) -> web.StreamResponse:
        wanted = request.headers.get("Range", "")
        self.requests.append((request.match_info["file"], wanted))
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        headers = {"Accept-Ranges": "bytes", "Content-Length": str(len(data) - start)}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
        response = web.StreamResponse(status=206 if start else 200, headers=headers)
        await response.prepare(request)
        cut = self.cut_after.pop(0) if self.cut_after else None
        await response.write(data[start:] if cut is None else data[start : start + cut])
        if cut is not None:
            assert request.transport is not None
            request.transport.close()
        return response


@contextmanager
def running_index(index: Index) -> Iterator[Index]:
    """Serve `index` in a thread of its own; sets its address."""
    loop = asyncio.new_event_loop()
    app = web.Application()
    app.router.add_get("/simple/{name}/", index.links)
    app.router.add_get("/wheels/{file}", index.file)
    runner = web.AppRunner(app)

    async def start() -> None:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        index.address = f"http://127.0.0.1:{runner.addresses[0][1]}/simple"

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield index
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
