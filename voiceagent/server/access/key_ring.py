"""The keys of a server: those of the environment, and those of a file, which is read again when it changes. A revoked key is
refused within a second, and the server need not start anew."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from voiceagent.addresses import is_loopback
from voiceagent.errors import ConfigError
from voiceagent.server.access.key_file import (
    FILE_NAME,
    KEYS_FILE_VARIABLE,
    USES_NAME,
    KeyFile,
    KeyKind,
    KeyUse,
    KeyUses,
    StoredKey,
    matching,
)
from voiceagent.server.calls.quotas import Client

KEYS_VARIABLE = "VOICEAGENT_KEYS"
OPERATOR_KEYS_VARIABLE = "VOICEAGENT_OPERATOR_KEYS"
VARIABLES: Mapping[KeyKind, str] = {
    "operator": OPERATOR_KEYS_VARIABLE,
    "monitor": "VOICEAGENT_MONITOR_KEYS",
    "metrics": "VOICEAGENT_METRICS_KEYS",
    "client": KEYS_VARIABLE,
}
"""The environment variables of keys. A key that stands in several is of the first of these kinds."""
MIN_KEY_CHARACTERS = 16
"""The shortest key that other machines may try."""
LOOK_S = 1.0
"""The interval at which the file is looked at."""
KEEP_USES_S = 10.0
"""The interval at which the times of the keys' last use are written."""

Owner = tuple[str, str]
"""Name and id of a key."""
SpentSeconds = Callable[[], Mapping[str, float]]
"""Returns the seconds of calls that clients have spent, by their names."""

log = logging.getLogger(__name__)


def keys_from_environment(variable: str = KEYS_VARIABLE) -> tuple[str, ...]:
    """The keys in an environment variable, separated by commas."""
    return tuple(key for key in (part.strip() for part in os.environ.get(variable, "").split(",")) if key)


def keys_file(data_dir: Path) -> KeyFile:
    """The file of keys: `$VOICEAGENT_KEYS_FILE`, else the one in the data folder."""
    return KeyFile(Path(os.environ.get(KEYS_FILE_VARIABLE) or data_dir / FILE_NAME))


def key_uses(data_dir: Path) -> KeyUses:
    """The file of the keys' last uses, in the data folder."""
    return KeyUses(data_dir / USES_NAME)


class KeyRing:
    """Finds the client of a key."""

    def __init__(
        self,
        keys: tuple[str, ...] = (),
        operator_keys: tuple[str, ...] = (),
        file: KeyFile | None = None,
        uses: KeyUses | None = None,
        *,
        monitor_keys: tuple[str, ...] = (),
        metrics_keys: tuple[str, ...] = (),
    ) -> None:
        """`operator_keys` are let in like `keys`, and belong to the operator. If there is one key in all, and it is a client's,
        it has every right. Raises ConfigError for a file that cannot be used."""
        others: dict[KeyKind, tuple[str, ...]] = {"operator": operator_keys, "monitor": monitor_keys, "metrics": metrics_keys}
        self._fixed = [
            (_digest(key), Client(f"{kind} key {number}", kind))
            for kind, given in others.items()
            for number, key in enumerate(given, 1)
        ]
        self._fixed += [(_digest(key), Client(f"key {number}")) for number, key in enumerate(keys, 1)]
        every = (*keys, *operator_keys, *monitor_keys, *metrics_keys)
        self._shortest = min(map(len, every), default=MIN_KEY_CHARACTERS)
        self._clients = len(set(keys) - {key for given in others.values() for key in given})
        self._file, self._uses = file, uses
        self._seen: object = None
        self._stored: dict[str, StoredKey] = {}
        self._used: dict[str, datetime] = {}
        self._uses_before = uses.read() if uses is not None else {}
        self._kept_spent_s = 0.0
        if file is not None:
            self._seen = _state(file.path)
            self._stored = {key.id: key for key in file.read()}
        self._needed = bool(self._fixed or self._stored)

    @property
    def is_needed(self) -> bool:
        """True if a client must present a key. Once it must, it must until the server ends, even if all keys are revoked."""
        return self._needed

    def count(self) -> int:
        """The number of keys of clients."""
        return self._clients + sum(key.kind == "client" for key in self._stored.values())

    def client(self, token: str) -> Client | None:
        """The client whose key this is. Each key of the environment is compared, in a time that does not depend on how much of it
        is right."""
        given = _digest(token)
        known = [client for digest, client in self._fixed if hmac.compare_digest(given, digest)]
        if known:
            is_only = len(self._fixed) == 1 and not self._stored and known[0].kind == "client"
            return Client(known[0].name, "owner") if is_only else known[0]
        stored = matching(self._stored, token)
        if stored is None:
            return None
        self._used[stored.id] = datetime.now(UTC).replace(microsecond=0)
        return _client(stored)

    def of_owner(self, owner: tuple[str, str]) -> Client | None:
        """The client whose key has this name and id; None if the key was revoked."""
        name, key_id = owner
        if not key_id:
            return next((client for _, client in self._fixed if client.name == name), None)
        stored = self._stored.get(key_id)
        return _client(stored) if stored is not None and stored.name == name else None

    def check_exposure(self, host: str) -> None:
        """Raises ConfigError when the server would be open to the network without keys, or with a key that can be guessed."""
        if is_loopback(host):
            return
        if self._shortest < MIN_KEY_CHARACTERS:
            raise ConfigError(
                f"a key of {self._shortest} characters in {KEYS_VARIABLE} or the like could be guessed; expected "
                f"at least {MIN_KEY_CHARACTERS}, such as from: openssl rand -hex 24"
            )
        if not self._needed:
            raise ConfigError(
                f"--host {host} lets other machines call this server, but no keys are configured; make one with "
                f"`voiceagent keys add NAME`, set {KEYS_VARIABLE} to one or more secret keys separated by commas, or use "
                "--host 127.0.0.1"
            )

    def spent_before(self, client: Client, now: float) -> tuple[float, float]:
        """The seconds of calls that a client had spent when a server of these keys last ran, and how long ago that was. `now` is
        in seconds since 1970."""
        use = self._uses_before.get(client.key_id)
        return (0.0, 0.0) if use is None else (use.spent_s, max(0.0, now - use.at))

    def knows(self, client: Client) -> bool:
        """False once the key of this client was revoked."""
        return not client.key_id or self.of_owner(client.owner) is not None

    async def watch(self, spent_s: SpentSeconds, revoked: Callable[[Owner], None]) -> None:
        """Read the file again whenever it has changed, and keep the uses of its keys, for ever. `revoked` is called for each key
        that is in it no more."""
        while True:
            for _ in range(int(KEEP_USES_S / LOOK_S)):
                await asyncio.sleep(LOOK_S)
                for owner in await self.look():
                    revoked(owner)
            await self.keep_uses(spent_s())

    async def look(self) -> set[Owner]:
        """Read the file if it has changed; returns the keys that were revoked. A file that cannot be used changes nothing, and is
        logged once."""
        if self._file is None:
            return set()
        state = await asyncio.to_thread(_state, self._file.path)
        if state == self._seen:
            return set()
        self._seen = state
        try:
            stored = {key.id: key for key in await asyncio.to_thread(self._file.read)}
        except ConfigError as error:
            log.error("the keys stay as they were: %s", error)
            return set()
        for name in sorted({key.name for key in self._stored.values()} ^ {key.name for key in stored.values()}):
            log.warning("key %s was %s", name, "added" if any(key.name == name for key in stored.values()) else "revoked")
        revoked = {(key.name, key.id) for key in self._stored.values()} - {(key.name, key.id) for key in stored.values()}
        self._stored = stored
        self._needed = self._needed or bool(stored)
        return revoked

    async def keep_uses(self, spent_s: Mapping[str, float]) -> None:
        """Write when keys were used and what they have spent, by their names, if that is more than the last time."""
        used, self._used = self._used, {}
        total_s = sum(spent_s.values())
        grown, self._kept_spent_s = total_s > self._kept_spent_s, total_s
        if self._uses is None or not (used or grown):
            return
        try:
            await asyncio.to_thread(self._write_uses, self._uses, used, spent_s)
        except OSError as error:
            log.warning("the uses of keys cannot be kept in %s (%s)", self._uses.path, error.strerror)

    def _write_uses(self, uses: KeyUses, used: Mapping[str, datetime], spent_s: Mapping[str, float]) -> None:
        now, kept = time.time(), {}
        with uses.changing() as before:
            for key_id, key in self._stored.items():
                last = used.get(key_id) or (before[key_id].last if key_id in before else None)
                if last is not None:
                    known = before.get(key_id, KeyUse(last))
                    kept[key_id] = (
                        KeyUse(last, spent_s[key.name], now) if key.name in spent_s else KeyUse(last, known.spent_s, known.at)
                    )
            uses.write(kept)


def keys_of_server(data_dir: Path) -> KeyRing:
    """The keys of the environment and of the file. Raises ConfigError."""
    found = {kind: keys_from_environment(variable) for kind, variable in VARIABLES.items()}
    return KeyRing(
        found["client"],
        found["operator"],
        keys_file(data_dir),
        key_uses(data_dir),
        monitor_keys=found["monitor"],
        metrics_keys=found["metrics"],
    )


def _client(key: StoredKey) -> Client:
    return Client(key.name, key.kind, key.limits, key.id)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()


def _state(path: Path) -> object:
    """The state of a file; another one after each change."""
    try:
        status = path.stat()
    except OSError as error:
        return error.errno
    return status.st_mtime_ns, status.st_ino, status.st_size, status.st_mode
