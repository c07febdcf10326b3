"""The file of keys that an operator manages by `voiceagent keys`. It holds names, limits and salted hashes, never a key.

A key is `va_`, the id of its entry, and 256 random bits, which the server itself has drawn. Nobody can try that many values, so
one SHA-256 is enough. A slow hash (scrypt) protects words that people choose. Here it would only let strangers buy 50 ms of the
processor for each wrong key that they send."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from voiceagent.data_files import FILE_MODE, private_file, private_folder
from voiceagent.errors import ConfigError

PREFIX = "va_"
KEYS_FILE_VARIABLE = "VOICEAGENT_KEYS_FILE"
FILE_NAME = "keys.json"
USES_NAME = "keys-used.json"
MAX_KEYS = 4096
MAX_FILE_BYTES = 4_194_304
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(rf"{PREFIX}([0-9a-f]{{8}})_[A-Za-z0-9_-]{{43}}")
_EXPECTED = "expected a file that `voiceagent keys add` wrote"
_NO_SALT = bytes(16)


KeyKind = Literal["client", "operator", "monitor", "metrics"]
"""A client's key makes calls. An operator's may besides drain the server and dial. A monitor's follows calls, and so reads what
is said in them. A metrics key reads the metrics. The latter two do nothing else."""


class KeyLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The limits of one key. 0: those of `admission.per_client`, which holds for all keys."""

    calls: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    """Calls at the same time."""
    minutes_a_day: Annotated[float, msgspec.Meta(ge=0, le=10**7)] = 0.0
    """Minutes of calls a day, regained evenly over it."""
    calls_a_minute: Annotated[float, msgspec.Meta(ge=0, le=60_000)] = 0.0
    """Calls begun in any 60 seconds."""


NO_LIMITS = KeyLimits()


class StoredKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The entry of one key."""

    id: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{8}$")]
    """The part of the key that finds its entry. It is no secret."""
    name: Annotated[str, msgspec.Meta(pattern=rf"^{_NAME.pattern}$")]
    salt: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}$")]
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of the salt and the key."""
    created: Annotated[datetime, msgspec.Meta(tz=True)]
    kind: KeyKind = "client"
    limits: KeyLimits = NO_LIMITS


class _Content(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keys: Annotated[tuple[StoredKey, ...], msgspec.Meta(max_length=MAX_KEYS)] = ()


class KeyFile:
    """The keys in a file. Reading raises ConfigError for a file that cannot be used; a missing one holds no keys."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> tuple[StoredKey, ...]:
        """The entries, in the order in which they were made."""
        try:
            status = self.path.stat()
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise ConfigError(f"{self.path}: others may write it and so let themselves in; run: chmod 600 {self.path}")
            if status.st_size > MAX_FILE_BYTES:
                raise ConfigError(f"{self.path}: is larger than {MAX_FILE_BYTES} bytes; {_EXPECTED}")
            keys = msgspec.json.decode(self.path.read_bytes(), type=_Content).keys
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be read ({error.strerror}); give it to the server's own user") from error
        except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self.path}: {error}; {_EXPECTED}") from error
        for what, values in (("name", [key.name for key in keys]), ("id", [key.id for key in keys])):
            if len(set(values)) < len(values):
                raise ConfigError(f"{self.path}: two keys have the same {what}; remove one, or {_EXPECTED}")
        return keys

    def add(self, name: str, limits: KeyLimits | None = None, *, kind: KeyKind = "client") -> str:
        """Make a key and keep its hash; returns the key, which is kept nowhere. Raises ConfigError."""
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"{name[:80]!r} is no name of a key; expected at most 64 letters, digits, dots, hyphens and underscores, "
                "such as web-shop"
            )
        with self._changing() as keys:
            if any(key.name == name for key in keys):
                raise ConfigError(f"there is a key {name!r} already; choose another name, or revoke it first")
            if len(keys) >= MAX_KEYS:
                raise ConfigError(f"{self.path}: holds {MAX_KEYS} keys, as many as it may; revoke some first")
            taken = {key.id for key in keys}
            key_id = next(drawn for drawn in iter(lambda: secrets.token_hex(4), "") if drawn not in taken)
            key = f"{PREFIX}{key_id}_{secrets.token_urlsafe(32)}"
            salt = secrets.token_bytes(16)
            created = datetime.now(UTC).replace(microsecond=0)
            entry = StoredKey(key_id, name, salt.hex(), _hash(salt, key).hex(), created, kind, limits or NO_LIMITS)
            self._write((*keys, entry))
        return key

    def revoke(self, name: str) -> StoredKey:
        """Remove a key by its name or its id. Raises ConfigError if there is none."""
        with self._changing() as keys:
            found = next((key for key in keys if name in (key.name, key.id)), None)
            if found is None:
                raise ConfigError(f"there is no key {name[:80]!r} in {self.path}; `voiceagent keys list` shows those there are")
            self._write(tuple(key for key in keys if key is not found))
        return found

    @contextmanager
    def _changing(self) -> Iterator[tuple[StoredKey, ...]]:
        """The entries, which no other process changes meanwhile."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            private_file(lock)
            with lock.open("rb") as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                yield self.read()
        except OSError as error:
            raise ConfigError(
                f"{error.filename or self.path}: cannot be written ({error.strerror}); "
                f"run this as the server's own user, or name another file by ${KEYS_FILE_VARIABLE}"
            ) from error

    def _write(self, keys: tuple[StoredKey, ...]) -> None:
        _replace(Path(os.path.realpath(self.path)), msgspec.json.format(msgspec.json.encode(_Content(keys)), indent=2))


def matching(entries: Mapping[str, StoredKey], given: str) -> StoredKey | None:
    """The entry of a key, of the entries by id. A key with an unknown id takes as long as one with a wrong end."""
    found = _KEY.fullmatch(given)
    entry = entries.get(found[1]) if found else None
    salt = bytes.fromhex(entry.salt) if entry else _NO_SALT
    expected = bytes.fromhex(entry.sha256) if entry else bytes(32)
    return entry if hmac.compare_digest(_hash(salt, given), expected) and entry else None


class KeyUse(msgspec.Struct, frozen=True):
    """The use of one key."""

    last: Annotated[datetime, msgspec.Meta(tz=True)]
    """The time at which it was last presented."""
    spent_s: float = 0.0
    """Seconds of calls that it has used and not yet regained, where its minutes a day are limited."""
    at: float = 0.0
    """The time of `spent_s`, in seconds since 1970."""


class KeyUses:
    """The file of the keys' uses, which outlives the server. Only the processes of the server write it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, KeyUse]:
        """The uses by the keys' ids; empty where nothing is known."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, KeyUse])
        except (OSError, msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError):
            return {}

    @contextmanager
    def changing(self) -> Iterator[dict[str, KeyUse]]:
        """The uses, which no other process changes meanwhile. Raises OSError."""
        private_folder(self.path.parent)
        lock = self.path.with_name(f"{self.path.name}.lock")
        private_file(lock)
        with lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            yield self.read()

    def write(self, uses: Mapping[str, KeyUse]) -> None:
        """Keep these uses. Raises OSError."""
        private_folder(self.path.parent)
        _replace(self.path, msgspec.json.encode(uses))


def _hash(salt: bytes, key: str) -> bytes:
    return hashlib.sha256(salt + key.encode(errors="surrogateescape")).digest()


def _replace(path: Path, content: bytes) -> None:
    """Write the file anew, for its owner alone. A reader sees the old one or the new one. Raises OSError."""
    new = path.with_name(f"{path.name}.{os.getpid()}.new")
    new.unlink(missing_ok=True)
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
