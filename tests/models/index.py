"""A small package index on loopback, as pip reads one (PEP 503), and the faults that a pull from it must survive."""

import hashlib
import io
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import encode_basic_auth, web

from tests.models.served_files import send, served


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
        return await send(request, data, wanted, cut_after=self.cut_after.pop(0) if self.cut_after else None)


@contextmanager
def running_index(index: Index) -> Iterator[Index]:
    """Serve `index`; sets its address."""
    app = web.Application()
    app.router.add_get("/simple/{name}/", index.links)
    app.router.add_get("/wheels/{file}", index.file)
    with served(app) as address:
        index.address = f"{address}/simple"
        yield index
