"""Downloads one file over HTTP, into a part beside its place. The download is resumed where it was cut off, tried again while
new bytes come, and never longer than it should be. The caller knows what the file is for, and checks that it is the right
one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


import io
import logging
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

import httpx2
from huggingface_hub.errors import (
    EntryNotFoundError,
    HfHubHTTPError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)
from huggingface_hub.file_download import http_get
from huggingface_hub.utils.tqdm import disable_progress_bars

from voiceagent.errors import ModelError
from voiceagent.models.makers import Progress
from voiceagent.models.registry import size_text

RETRY_DELAYS_S = (1.0, 2.0, 4.0, 8.0)
"""Waits between attempts that fetched nothing new, for errors that huggingface_hub does not try again itself: a reset connection,
a server's own error. After the last wait the pull gives up."""
NotFound = (RepositoryNotFoundError, RevisionNotFoundError, EntryNotFoundError)
"""The answer of a hub that does not have a file."""


class SourceError(ModelError):
    """A source does not answer, or does not have the right file: another source may."""


@dataclass(frozen=True, slots=True)
class Address:
    """A file, and where to fetch it."""

    model: str
    """The model that the file belongs to; every message begins with it."""
    path: str
    """Its name in messages and for the progress."""
    size: int
    """In bytes."""
    url: str
    place: str
    """The server's name in messages."""
    elsewhere: str
    """Advice for when it cannot be reached."""
    headers: dict[str, str] = field(default_factory=dict)


class Get(Protocol):
    """Fetches the missing rest of a file. Raises httpx2.HTTPError, HfHubHTTPError, OSError."""

    def __call__(self, url: str, target: BinaryIO, /, *, resume_size: int, headers: dict[str, str], expected_size: int) -> None:
        """`target` is positioned behind the `resume_size` bytes that are there."""


def download(address: Address, part: Path, progress: Progress, get: Get = http_get) -> None:
    """Complete the file `part`; the bytes that it has are kept. Raises SourceError, one of `NotFound`, OSError."""
    disable_progress_bars()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    part.touch()
    waits = iter(RETRY_DELAYS_S)
    while (had := part.stat().st_size) != address.size:
        if had > address.size:
            os.truncate(part, had := 0)
        try:
            with _Part(part, address, progress) as target:
                target.seek(had)
                get(address.url, target, resume_size=had, headers=address.headers, expected_size=address.size)
        except NotFound:
            raise
        except OfflineModeIsEnabled as error:
            raise SourceError(f"{address.model}: HF_HUB_OFFLINE is set; unset it to pull models") from error
        except (httpx2.HTTPError, HfHubHTTPError) as error:
            if part.stat().st_size > had:
                waits = iter(RETRY_DELAYS_S)
            wait_s = next(waits, None) if _may_pass(error, get) else None
            if wait_s is None:
                raise SourceError(_unreachable(address, part, error)) from error
            time.sleep(wait_s)
        except OSError as error:
            if error.errno is not None:
                raise
            part.unlink()
            raise SourceError(f"{address.model}: {address.place} holds another {address.path} ({error}); {ANOTHER}") from error
    progress(address.path, address.size, address.size)


ANOTHER = "pull from another hub, or choose the source with --from"


def _may_pass(error: httpx2.HTTPError | HfHubHTTPError, get: Get) -> bool:
    if isinstance(error, (httpx2.HTTPStatusError, HfHubHTTPError)):
        return error.response.status_code >= 500
    if get is not http_get:
        return not isinstance(error, httpx2.ConnectError)
    # `http_get` has tried these errors five times already.
    return not isinstance(error, (httpx2.ConnectError, httpx2.TimeoutException, httpx2.RemoteProtocolError))


def _unreachable(address: Address, part: Path, error: httpx2.HTTPError | HfHubHTTPError) -> str:
    there = part.stat().st_size
    kept = f"; {size_text(there)} of {address.path} are kept and the next pull goes on there" if there else ""
    start = f"{address.model}: {address.place}"
    if isinstance(error, (httpx2.HTTPStatusError, HfHubHTTPError)):
        return f"{start} answered {error.response.status_code} for {address.path}; try again later{kept}"
    reason = " ".join(str(error).split()) or type(error).__name__
    return f"{start} cannot be reached ({reason}); {address.elsewhere}{kept}"


class _Part(io.BufferedRandom):
    """The file of a download: reports its progress, and refuses more bytes than the file has."""

    def __init__(self, path: Path, address: Address, progress: Progress) -> None:
        super().__init__(io.FileIO(path, "r+"))
        self._address = address
        self._progress = progress

    def write(self, data: ReadableBuffer) -> int:
        written = super().write(data)
        path, size = self._address.path, self._address.size
        if self.tell() > size:
            raise SourceError(
                f"{self._address.model}: {self._address.place} sends more than the {size} bytes of {path}; {ANOTHER}"
            )
        self._progress(path, self.tell(), size)
        return written
