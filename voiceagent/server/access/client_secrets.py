"""Client secrets: keys for one page, for minutes. A program with a key asks for one, and gives it to a page, which calls with it.
It is bound to the session settings that it came with, to an origin where that was given, to one call where that was asked. Only
hashes are kept, in memory: when the server starts anew, all are forgotten. A secret is 256 random bits, or 234 with a worker's
number, so its SHA-256 can be looked up: how long that takes tells nothing of a secret."""

from __future__ import annotations

import hashlib
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.realtime.fixed_settings import KEY, PARAMETERS, FixedSettings
from voiceagent.server.calls.call_ids import SECRET_PREFIX, marked
from voiceagent.server.http.problems import Problem
from voiceagent.token_bucket import TokenBucket

MIN_S, DEFAULT_S, MAX_S = 10, 600, 7200
"""Seconds for which a secret lives."""
MAX_SECRETS, MAX_OF_A_KEY = 8192, 2048
MAX_BYTES, MAX_BYTES_OF_A_KEY = 16_777_216, 4_194_304
"""Bytes of the sessions of all secrets, as JSON."""
ISSUED_PER_S, ISSUED_AT_ONCE = 20.0, 200.0
"""Secrets that one key may ask for: each takes time of the event loop."""
MAX_OWNERS = 8192
NO_PARAMETERS: Mapping[str, str] = {}


@dataclass(eq=False, slots=True)
class IssuedSecret:
    """A secret, without its value."""

    owner: tuple[str, str]
    """Name and id of the key that it was issued to."""
    session: bytes
    """Its session settings, as JSON."""
    fixed: tuple[str, ...]
    """Paths of the settings that its client may not change."""
    parameters: bytes
    """Facts of its calls for the agent's tools, as JSON."""
    origin: str
    """The only origin whose pages may use it; empty: any that may call."""
    once: bool
    """True if it is good for one call."""
    expires_s: float
    """On the clock of `ClientSecrets`."""
    is_spent: bool = False
    """True if it is good for one call, and that has been begun."""

    def take(self) -> None:
        """A call is about to be begun with it. Raises Problem (401) if it may begin no more."""
        if self.is_spent:
            raise Problem(
                401, "client_secret_used", "This client secret was good for one call, which has begun; ask for a new one."
            )
        self.is_spent = self.once

    def give_back(self) -> None:
        """The call was not begun."""
        self.is_spent = False

    def session_of(self, offered: JsonObject) -> JsonObject:
        """The session of a call: the secret's settings, with those over them that its client offered and may change. Raises
        Problem (400)."""
        own: JsonObject = msgspec.json.decode(self.session)
        changes, refused = FixedSettings(self.fixed).without_fixed(offered, own)
        if refused:
            names = ", ".join(refused)[:200]
            message = f"The client secret fixes {names}; leave it out of the session, or ask for a secret without it."
            raise Problem(400, "setting_fixed", message, param=f"session.{refused[0][:100]}")
        parameters = msgspec.json.decode(self.parameters)
        ours = {KEY: self.fixed, PARAMETERS: parameters} if parameters else {KEY: self.fixed}
        return {**_over(own, changes), "voiceagent": ours}


class ClientSecrets:
    """Issues secrets, and finds them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.refused: Counter[str] = Counter()
        """Refusals of secrets, by reason."""
        self.issued = 0
        self._clock = clock
        self._by_hash: dict[bytes, IssuedSecret] = {}
        self._count: Counter[tuple[str, str]] = Counter()
        self._bytes: Counter[tuple[str, str]] = Counter()
        self._asked: dict[tuple[str, str], TokenBucket] = {}
        self._next_expiry_s = float("inf")

    def __len__(self) -> int:
        """The number of secrets that are good for something."""
        self._forget_expired()
        return len(self._by_hash)

    def admit(self, owner: tuple[str, str]) -> None:
        """A key asks for a secret; call it before the request is read. Raises Problem (429) if it asks too often."""
        now_s = self._clock()
        if owner not in self._asked and len(self._asked) >= MAX_OWNERS:
            self._asked = {each: asked for each, asked in self._asked.items() if asked.left(now_s) < ISSUED_AT_ONCE}
        asked = self._asked.setdefault(owner, TokenBucket(ISSUED_PER_S, ISSUED_AT_ONCE))
        if not asked.take(1.0, now_s):
            message = f"More than {ISSUED_PER_S:g} client secrets a second were asked for; wait between them."
            raise Problem(429, "too_many_client_secrets", message, retry_after_s=1)

    def issue(
        self,
        owner: tuple[str, str],
        session: JsonObject,
        fixed: tuple[str, ...],
        origin: str,
        lifetime_s: float,
        *,
        once: bool,
        parameters: Mapping[str, str] = NO_PARAMETERS,
    ) -> str:
        """A new secret. Raises Problem (429) if its key has too many."""
        self._forget_expired()
        now_s = self._clock()
        written, told = msgspec.json.encode(session), msgspec.json.encode(parameters)
        if (
            self._count[owner] >= MAX_OF_A_KEY
            or self._bytes[owner] + len(written) + len(told) > MAX_BYTES_OF_A_KEY
            or len(self._by_hash) >= MAX_SECRETS
            or self._bytes.total() + len(written) + len(told) > MAX_BYTES
        ):
            raise self._full(owner, now_s)
        value = f"{SECRET_PREFIX}{marked(secrets.token_urlsafe(32))}"
        made = IssuedSecret(owner, written, fixed, told, origin, once, now_s + lifetime_s)
        self._by_hash[_hash(value)] = made
        self._count[owner] += 1
        self._bytes[owner] += len(written) + len(told)
        self._next_expiry_s = min(self._next_expiry_s, made.expires_s)
        self.issued += 1
        return value

    def find(self, value: str) -> IssuedSecret | None:
        """The secret of this value; None for one that never was, has expired or was revoked."""
        found = self._by_hash.get(_hash(value))
        return found if found is not None and self._clock() < found.expires_s else None

    def revoke(self, owner: tuple[str, str]) -> int:
        """Forget all secrets of a key; returns how many there were."""
        self._forget_expired()
        count = self._count[owner]
        self._keep({hashed: each for hashed, each in self._by_hash.items() if each.owner != owner})
        return count

    def _full(self, owner: tuple[str, str], now_s: float) -> Problem:
        """All of a key's secrets are in use, or those of all keys."""
        own = [each.expires_s for each in self._by_hash.values() if each.owner == owner]
        wait_s = min(own, default=self._next_expiry_s) - now_s
        message = (
            f"{self._count[owner]} client secrets of this key have not expired, as many or as large as they may be; "
            "ask for shorter lives or smaller sessions, or ask again later."
        )
        return Problem(429, "too_many_client_secrets", message, retry_after_s=max(1, round(wait_s)))

    def _forget_expired(self) -> None:
        now_s = self._clock()
        if now_s >= self._next_expiry_s:
            self._keep({hashed: each for hashed, each in self._by_hash.items() if now_s < each.expires_s})

    def _keep(self, kept: dict[bytes, IssuedSecret]) -> None:
        self._by_hash = kept
        self._count = Counter(each.owner for each in kept.values())
        self._bytes = Counter()
        for each in kept.values():
            self._bytes[each.owner] += len(each.session) + len(each.parameters)
        self._next_expiry_s = min((each.expires_s for each in kept.values()), default=float("inf"))


def _hash(value: str) -> bytes:
    return hashlib.sha256(value.encode(errors="surrogateescape")).digest()


def _over(own: JsonObject, changes: JsonObject) -> JsonObject:
    """A new object: `own` with the changes in it."""
    merged = dict(own)
    for key, value in changes.items():
        known = own.get(key)
        merged[key] = _over(known, value) if isinstance(value, dict) and isinstance(known, dict) else value
    return merged
