"""Fetches models from a Hugging Face hub, or a mirror of one, into the models cache. A file is downloaded beside its place,
resumed where it was cut off, checked by SHA-256, and the model appears under its name only when it is whole."""

from __future__ import annotations

import errno
import fcntl
import io
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import constants, hf_hub_url
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import http_get
from huggingface_hub.utils._headers import build_hf_headers
from huggingface_hub.utils.tqdm import disable_progress_bars

from voiceagent.errors import ConfigError, ModelError
from voiceagent.models.checksums import check_sums, sha256_of
from voiceagent.models.registry import Model, ModelFile, size_text
from voiceagent.resources import bundled_models_dir

RETRY_DELAYS_S = (1.0, 2.0, 4.0, 8.0)
"""Waits between attempts that fetched nothing new, after what huggingface_hub does not try again itself: a reset connection, a
server's own error. After the last one the pull gives up."""

Progress = Callable[[str, int, int], None]
"""Told (file, bytes that are there, its size) as a pull goes on."""


def hub_endpoint(chosen: str = "") -> str:
    """The hub to fetch from: the chosen one, else `$HF_ENDPOINT`, else the public one. Raises ConfigError unless it is a URL."""
    endpoint = (chosen or os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(f"{endpoint!r} is not the address of a hub; expected http:// or https:// and a host")
    return endpoint


def pull(model: Model, cache: Path, endpoint: str, progress: Progress) -> Path:
    """Fetch what is missing of a model; its folder. A model that is there is left alone.

    Raises ModelError: the hub cannot be reached or does not have a file, a file is corrupt, the disk is full, another pull
    of the model runs. What was fetched stays and the next pull goes on from there.
    """
    folder = model.folder(cache)
    if model.is_present(cache):
        return folder
    if model.bundled:
        raise ModelError(f"the bundled model {model.name} is missing from {folder}; install voiceagent again")
    stage = folder.with_name(folder.name + ".part")
    try:
        stage.mkdir(parents=True, exist_ok=True)
        with _alone(folder.with_name(f".{folder.name}.lock"), model):
            _keep_whole_files(model, folder, stage)
            _require_space(model, stage)
            for file in model.files:
                _fetch(model, file, stage, endpoint, progress)
            if folder.exists():
                shutil.rmtree(folder)
            stage.replace(folder)
    except OSError as error:
        raise ModelError(f"{model.name}: {_disk_problem(error, cache)}") from error
    return folder


def verify(model: Model, cache: Path, progress: Progress) -> list[str]:
    """Read every file of a model; what is wrong, a line each, empty when all is well. Raises ModelError when the list of the
    bundled models' checksums is missing."""
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


@contextmanager
def _alone(lock: Path, model: Model) -> Iterator[None]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ModelError(f"{model.name}: another pull of it is running; wait for it to end") from error
        yield


def _keep_whole_files(model: Model, folder: Path, stage: Path) -> None:
    """A model that lost files, or was pulled halfway, need not be fetched anew: each file is checked again in `_fetch`."""
    for file in model.files:
        there, wanted = folder / file.name, stage / file.name
        if there.is_file() and there.stat().st_size == file.size and not wanted.exists():
            wanted.parent.mkdir(parents=True, exist_ok=True)
            there.replace(wanted)


def _require_space(model: Model, stage: Path) -> None:
    have = sum(p.stat().st_size for p in stage.rglob("*") if p.is_file())
    need = model.size_bytes - have
    free = shutil.disk_usage(stage).free
    if need > free:
        raise ModelError(
            f"{model.name}: needs {size_text(need)} more, {stage.parent} has {size_text(free)} free; "
            "free some space or choose another folder with --dir"
        )


def _fetch(model: Model, file: ModelFile, stage: Path, endpoint: str, progress: Progress) -> None:
    wanted = stage / file.name
    part = stage / f"{file.name}.incomplete"
    wanted.parent.mkdir(parents=True, exist_ok=True)
    if wanted.is_file():
        wanted.replace(part)
    _download(model, file, part, endpoint, progress)
    if _digest(part, file, None) != file.sha256:
        part.unlink()
        raise ModelError(
            f"{model.name}: {file.path} is corrupt (its SHA-256 is not the registry's) and was removed; pull it again, "
            f"and if that does not help, {endpoint} holds another file"
        )
    part.replace(wanted)


def _download(model: Model, file: ModelFile, part: Path, endpoint: str, progress: Progress) -> None:
    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    url = hf_hub_url(model.repository, file.path, revision=model.revision, endpoint=endpoint)
    # The machine's token belongs to the hub it was made for, not to any address that --endpoint names.
    headers = build_hf_headers(token=None if endpoint == constants.ENDPOINT else False, library_name="voiceagent")
    part.touch()
    waits = iter(RETRY_DELAYS_S)
    while (had := part.stat().st_size) != file.size:
        if had > file.size:
            os.truncate(part, had := 0)
        try:
            with _Part(part, file, progress) as target:
                target.seek(had)
                http_get(url, target, resume_size=had, headers=headers, expected_size=file.size)
        except (RepositoryNotFoundError, RevisionNotFoundError, EntryNotFoundError) as error:
            raise ModelError(_not_found(model, file, endpoint, error)) from error
        except OfflineModeIsEnabled as error:
            raise ModelError(f"{model.name}: HF_HUB_OFFLINE is set; unset it to pull models") from error
        except (httpx2.TransportError, HfHubHTTPError) as error:
            if part.stat().st_size > had:
                waits = iter(RETRY_DELAYS_S)
            wait_s = next(waits, None) if _may_pass(error) else None
            if wait_s is None:
                raise ModelError(_unreachable(model, file, endpoint, part, error)) from error
            time.sleep(wait_s)
        except OSError as error:
            if error.errno is not None:
                raise
            part.unlink()
            raise ModelError(f"{model.name}: {endpoint} holds another {file.path} ({error}); pull from another hub") from error
    progress(file.path, file.size, file.size)


def _may_pass(error: httpx2.TransportError | HfHubHTTPError) -> bool:
    if isinstance(error, HfHubHTTPError):
        return error.response.status_code >= 500
    # `http_get` has tried these five times already.
    return not isinstance(error, (httpx2.ConnectError, httpx2.TimeoutException, httpx2.RemoteProtocolError))


def _unreachable(model: Model, file: ModelFile, endpoint: str, part: Path, error: httpx2.TransportError | HfHubHTTPError) -> str:
    kept = f"; {size_text(part.stat().st_size)} of {file.path} are kept and the next pull goes on there"
    if isinstance(error, HfHubHTTPError):
        return f"{model.name}: {endpoint} answered {error.response.status_code} for {file.path}; try again later{kept}"
    reason = str(error) or type(error).__name__
    return f"{model.name}: {endpoint} cannot be reached ({reason}); check the network or name a mirror with --endpoint{kept}"


class _Part(io.BufferedRandom):
    """The file a download goes to: tells its progress, and refuses more bytes than the model's file has."""

    def __init__(self, path: Path, file: ModelFile, progress: Progress) -> None:
        super().__init__(io.FileIO(path, "r+"))
        self._file = file
        self._progress = progress

    def write(self, data: Any) -> int:
        written = super().write(data)
        if self.tell() > self._file.size:
            raise ModelError(f"{self._file.path}: the hub sends more than its {self._file.size} bytes; pull from another hub")
        self._progress(self._file.path, self.tell(), self._file.size)
        return written


def _digest(path: Path, file: ModelFile, progress: Progress | None) -> str:
    read = 0

    def tell(count: int) -> None:
        nonlocal read
        read += count
        if progress is not None:
            progress(file.path, read, file.size)

    return sha256_of(path, tell)


def _not_found(model: Model, file: ModelFile, endpoint: str, error: Exception) -> str:
    if isinstance(error, RepositoryNotFoundError):
        return f"{model.name}: {endpoint} has no repository {model.repository}, or does not show it without a token ($HF_TOKEN)"
    if isinstance(error, RevisionNotFoundError):
        return f"{model.name}: {endpoint} has no revision {model.revision} of {model.repository}; pull from another hub"
    return f"{model.name}: {endpoint} has no file {file.path} in {model.repository}; pull from another hub"


def _disk_problem(error: OSError, cache: Path) -> str:
    if error.errno == errno.ENOSPC:
        return f"the disk of {cache} is full; free some space or choose another folder with --dir; what was fetched is kept"
    return f"{cache} cannot be written ({error.strerror or error}); choose another folder with --dir or $VOICEAGENT_MODELS"
