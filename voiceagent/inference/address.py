"""The address of a model server and how it is trusted: `grpc://host:port`, `grpcs://host:port` with TLS, or `unix:///socket`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from voiceagent.addresses import is_loopback, shown
from voiceagent.errors import ConfigError
from voiceagent.redaction import keep_secret

KEY_VARIABLE = "VOICEAGENT_MODEL_SERVER_KEY"
"""The environment variable of the key that model servers ask for. A server takes several, separated by commas."""
DEFAULT_PORT = 8001
"""As Triton's."""
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
"""The longest message that is taken: two minutes of 16 kHz audio."""
_EXPECTED = "expected grpc://HOST:PORT, grpcs://HOST:PORT or unix:///SOCKET"


class ServerOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Options of every engine that runs in a model server."""

    url: str = ""
    """The server: `grpc://HOST:PORT`, with TLS `grpcs://HOST:PORT`, or `unix:///SOCKET`. If a name has several addresses, they
    take turns."""
    key_env: str = KEY_VARIABLE
    """The environment variable that holds the server's key."""
    ca: str = ""
    """A file of certificates (PEM) that are trusted with `grpcs`; empty: the system's."""
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=600)] = 10.0
    """The longest that the server may send nothing."""
    start_timeout_s: Annotated[float, msgspec.Meta(ge=0, le=600)] = 30.0
    """The longest wait for a server that is not up yet when the agent is loaded."""
    retries: Annotated[int, msgspec.Meta(ge=0, le=5)] = 1
    """The number of times that a request is sent once more that was not answered at all."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """The place of a model server, and what is shown to it."""

    url: str
    target: str
    """The same as gRPC writes it."""
    has_tls: bool
    key_env: str
    key: str
    ca: bytes | None


def address_of(options: ServerOptions, engine: str) -> ServerAddress:
    """The address that the options name. `engine` begins messages. Raises ConfigError."""
    url = options.url
    if not url:
        raise ConfigError(f"{engine}: names no server; set `url`, {_EXPECTED}")
    keys = keys_of_environment(options.key_env)
    return ServerAddress(
        shown(url),
        _target(url, engine),
        url.startswith("grpcs://"),
        options.key_env,
        keys[0] if keys else "",
        _certificates(options.ca, url, engine),
    )


def keys_of_environment(variable: str) -> tuple[str, ...]:
    """The keys in an environment variable, separated by commas."""
    keys = tuple(key for key in (part.strip() for part in os.environ.get(variable, "").split(",")) if key)
    keep_secret(*keys)
    return keys


def _target(url: str, engine: str) -> str:
    wrong = ConfigError(f"{engine}: url is {shown(url)[:200]!r}, {_EXPECTED}")
    try:
        parts = urlsplit(url)
        port = parts.port or DEFAULT_PORT
    except ValueError as error:
        raise wrong from error
    if "@" in url or parts.query or parts.fragment:
        raise ConfigError(f"{engine}: url holds more than an address; the key belongs into the environment variable of `key_env`")
    if parts.scheme == "unix" and parts.path.startswith("/") and not parts.netloc:
        return f"unix:{parts.path}"
    if parts.scheme not in ("grpc", "grpcs") or not parts.hostname or parts.path not in ("", "/"):
        raise wrong
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{host}:{port}" if is_loopback(parts.hostname) else f"dns:///{host}:{port}"


def _certificates(file: str, url: str, engine: str) -> bytes | None:
    if not file:
        return None
    if not url.startswith("grpcs://"):
        raise ConfigError(f"{engine}: ca is set, and url has no TLS; expected grpcs://…")
    try:
        return Path(file).expanduser().read_bytes()
    except OSError as error:
        raise ConfigError(f"{engine}: ca is {file}, which cannot be read ({error.strerror})") from error
