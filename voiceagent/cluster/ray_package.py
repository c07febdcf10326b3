"""Ray itself, which is installed where somebody wants it, and the file in which `voiceagent cluster up` leaves the address and
the token of the Ray that it has started, for the commands that ask it."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from voiceagent.errors import ConfigError

RayObject: TypeAlias = Any
"""Ray itself, an actor, or what an actor answers: it is an optional package."""
FILE_NAME = "cluster.json"
MODE_VARIABLE, TOKEN_VARIABLE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"


class OwnRay(msgspec.Struct, frozen=True):
    """The Ray of `voiceagent cluster up`."""

    address: str
    token: str

    @classmethod
    def read(cls, data: Path) -> OwnRay | None:
        """The Ray that the file in the data folder names; None where no such Ray runs. Raises ConfigError."""
        file = data / FILE_NAME
        try:
            return msgspec.json.decode(file.read_bytes(), type=cls)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            raise ConfigError(f"{file} cannot be read ({error}); remove it, and start the cluster anew") from error

    @contextmanager
    def kept(self, data: Path) -> Iterator[None]:
        """The file is there meanwhile, for this user alone."""
        file = data / FILE_NAME
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(msgspec.json.encode(self))
        try:
            yield
        finally:
            file.unlink(missing_ok=True)


def use_token(token: str = "") -> str:
    """Have Ray ask for a token and present it: this one, else a new one. Call it before Ray is imported. Returns it."""
    os.environ[MODE_VARIABLE] = "token"
    os.environ[TOKEN_VARIABLE] = token or secrets.token_hex(32)
    return os.environ[TOKEN_VARIABLE]


def require_ray() -> None:
    """Raises ConfigError where Ray is not installed. Nothing is imported: Ray looks for its token when it is."""
    if find_spec("ray") is None:
        raise ConfigError("Ray is not installed; install it with: pip install 'voiceagent[cluster]'")


def ray_module() -> RayObject:
    """Ray, which sends nothing to its maker. Raises ConfigError where it is not installed."""
    require_ray()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    return import_module("ray")
