"""The connection to a Redis, by its URL, with `voiceagent[redis]`, that is redis-py (MIT). Commands are sent as they stand in the
documentation of Redis. It may be used from any thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from voiceagent.addresses import shown
from voiceagent.errors import ConfigError
from voiceagent.redaction import keep_secrets_of, redacted
from voiceagent.store.database import StoreError

if TYPE_CHECKING:
    from redis import Redis

EVENTS_VARIABLE = "VOICEAGENT_EVENTS"
REDIS_SCHEMES = ("redis", "rediss")
CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 5.0
"""The longest time that a command waits for its answer, beyond the time that it asks to wait."""
LONGEST_WAIT_S = 3.0
PASSING = ("LOADING", "MASTERDOWN", "READONLY", "TRYAGAIN", "CLUSTERDOWN", "UNBLOCKED", "NOREPLICAS")
"""Errors of a Redis that starts, or that another is taking over from."""

Word: TypeAlias = str | bytes | int
Command: TypeAlias = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """The URL of a Redis."""

    url: str

    def __str__(self) -> str:
        """The address for messages, without a password."""
        return shown(self.url)


def chosen_redis(url: str) -> RedisAddress | None:
    """The Redis at the URL; None without one. Raises ConfigError."""
    if not url:
        return None
    try:
        parts = urlsplit(url)
        fits = parts.scheme in REDIS_SCHEMES and parts.port != 0 and bool(parts.hostname)
    except ValueError:
        fits = False
    if not fits:
        what = "a value with an @ in it" if "@" in url else repr(shown(url)[:80])
        raise ConfigError(
            f"${EVENTS_VARIABLE} is {what}, expected redis://:PASSWORD@HOST:PORT/0, or rediss:// for TLS, or nothing"
        )
    return RedisAddress(url)


class RedisConnection:
    """Connections to one Redis. Each method raises StoreError."""

    def __init__(self, address: RedisAddress) -> None:
        """The first command connects. Raises ConfigError where the client library is missing, and for a URL that it does not
        take."""
        keep_secrets_of({}, {"": address.url})
        self._address = address
        self._client, self._errors = _client(address)

    def run(self, *command: Word) -> object:
        """The answer to a command, as Redis gives it."""
        try:
            answer: object = self._client.execute_command(*command)  # type: ignore[no-untyped-call]
        except self._errors as error:
            raise self._error(error) from error
        return answer

    def run_all(self, commands: Sequence[Command]) -> list[object]:
        """The answers to several commands, which are sent at once. One that Redis refuses has its StoreError as its answer."""
        try:
            with self._client.pipeline(transaction=False) as pipeline:
                for command in commands:
                    pipeline.execute_command(*command)  # type: ignore[no-untyped-call]
                answers = pipeline.execute(raise_on_error=False)
        except self._errors as error:
            raise self._error(error) from error
        return [self._error(answer) if isinstance(answer, self._errors) else answer for answer in answers]

    def close(self) -> None:
        """Close the connections. May be called twice. Raises nothing."""
        with suppress(*self._errors):
            self._client.close()

    def _error(self, error: Exception) -> StoreError:
        from redis import exceptions as of

        reason = redacted(" ".join(str(error).split()))[:300] or type(error).__name__
        is_answer = isinstance(error, of.ResponseError) and not isinstance(error, of.ConnectionError)
        is_refused = is_answer and not str(error).startswith(PASSING) and not isinstance(error, of.ReadOnlyError)
        if isinstance(error, of.AuthenticationError | of.NoPermissionError):
            advice = "are user and password right, and may the user read and write `voiceagent:*`?"
        elif isinstance(error, of.OutOfMemoryError):
            advice = "give Redis more memory, or keep events there for a shorter time (records.stream_hours)"
        elif not is_refused:
            advice = "is Redis up?"
        elif "unknown command" in reason:
            advice = "Redis 6.2 or newer is needed"
        else:
            advice = "does another program write `voiceagent:*` there?"
        why = f"{reason}; {advice}"
        return StoreError(f"{self._address}: {why}", why=why, is_lost=not is_refused, is_refused=is_refused)


def _client(address: RedisAddress) -> tuple[Redis, tuple[type[Exception], ...]]:
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError as error:
        raise ConfigError(f"events go to {address}, which needs redis-py: pip install 'voiceagent[redis]'") from error
    try:
        client = redis.Redis.from_url(
            address.url,
            client_name="voiceagent",
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_connect_timeout=CONNECT_TIMEOUT_S,
            socket_timeout=ANSWER_TIMEOUT_S + LONGEST_WAIT_S,
        )
    except (ValueError, TypeError) as error:
        raise ConfigError(f"${EVENTS_VARIABLE}: {redacted(str(error))[:200]}") from error
    client.response_callbacks.clear()  # answers as Redis gives them: redis-py's own forms change between its versions
    return client, (redis.RedisError, OSError)
