"""Addresses and headers of remote tools, checked before the first call; secrets come from the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from voiceagent.addresses import check_address
from voiceagent.errors import ConfigError

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def checked_url(owner: str, url: str) -> str:
    """The address. Raises ConfigError unless it is an http(s) URL without user name and password."""
    try:
        return check_address(url, secrets_go="name the variable that holds it with headers_env")
    except ValueError as error:
        raise ConfigError(f"{owner}: url {error}") from error


def headers_from(owner: str, headers_env: Mapping[str, str]) -> dict[str, str]:
    """Each header from the environment variable that is named for it. Raises ConfigError when one is not set."""
    headers: dict[str, str] = {}
    for header, variable in headers_env.items():
        if not _VARIABLE.fullmatch(variable):  # the name may be the secret itself
            raise ConfigError(f"{owner}: the header {header} names no environment variable; expected a name such as API_TOKEN")
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
