"""Addresses and headers of remote tools, checked before the first call; secrets come from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from voiceagent.errors import ConfigError


def checked_url(owner: str, url: str) -> str:
    """The address. Raises ConfigError unless it is an http(s) URL without a name and password in it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and not parts.username and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        shown = "one with an @ in it" if "@" in url else f"{url!r:.200}"  # what goes to the log is no place for a password
        raise ConfigError(f"{owner}: url is {shown}, expected http://… or https://… without a password in it")
    return url


def headers_from(owner: str, headers_env: Mapping[str, str]) -> dict[str, str]:
    """Each header from the environment variable that is named for it. Raises ConfigError when one is not set."""
    headers: dict[str, str] = {}
    for header, variable in headers_env.items():
        value = os.environ.get(variable, "")
        if not value or not value.isprintable():
            raise ConfigError(f"{owner}: the header {header} comes from the environment variable {variable}; set it to one line")
        headers[header] = value
    return headers


def variables_from(owner: str, names: tuple[str, ...]) -> dict[str, str]:
    """The environment variables of these names. Raises ConfigError when one is not set."""
    missing = [name for name in names if name not in os.environ]
    if missing:
        raise ConfigError(f"{owner}: wants the environment variable {missing[0]}; set it, or take it out of `env`")
    return {name: os.environ[name] for name in names}
