"""Fetches a model's file from a Hugging Face hub, or a mirror of one."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
from huggingface_hub import constants, hf_hub_url
from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.utils._headers import build_hf_headers

from voiceagent.errors import ConfigError
from voiceagent.models.download import Address, NotFound, SourceError, download
from voiceagent.models.makers import Progress
from voiceagent.models.model import Fetched, ModelFile

ANSWER_TIMEOUT_S = 5.0
"""A hub that does not answer within this time is skipped for the next source, if there is one."""


def hub_endpoint(chosen: str = "") -> str:
    """The hub to fetch from: the named one, else `$HF_ENDPOINT`, else the public one. Raises ConfigError unless it is a URL."""
    endpoint = (chosen or os.environ.get("HF_ENDPOINT") or constants.ENDPOINT).rstrip("/")
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(f"{endpoint!r} is not the address of a hub; expected http:// or https:// and a host")
    return endpoint


def require_answer(model: str, endpoint: str) -> None:
    """Check quickly that the hub answers at all. Raises SourceError."""
    try:
        httpx2.head(endpoint, timeout=ANSWER_TIMEOUT_S)
    except httpx2.TransportError as error:
        raise SourceError(f"{model}: {endpoint} cannot be reached ({str(error) or type(error).__name__})") from error


def fetch(model: str, origin: Fetched, file: ModelFile, part: Path, endpoint: str, progress: Progress) -> None:
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
