"""The connection to a Redis, by its URL, with `voiceagent[redis]`, that is redis-py (MIT): to one server, or to the primary that
Redis Sentinel names (https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/), by a URL of Lettuce's form.
Commands are sent as they stand in the documentation of Redis. It may be used from any thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from voiceagent.addresses import shown
from voiceagent.errors import ConfigError
from voiceagent.redaction import keep_secrets_of, redacted
from voiceagent.store.database import StoreError

if TYPE_CHECKING:
    from redis import Redis

EVENTS_VARIABLE = "VOICEAGENT_EVENTS"
REDIS_SCHEMES = {"redis": "redis", "rediss": "rediss", "redis-sentinel": "redis", "rediss-sentinel": "rediss"}
"""Schemes of a URL, and those by which its servers are reached."""
SENTINEL, SENTINEL_PORT = "-sentinel", 26_379
PRIMARY_NAME = "sentinelMasterId"
"""The part of a URL's query that has the name by which Sentinel knows the primary."""
SENTINEL_PASSWORD = "sentinelPassword"
CONNECT_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 5.0
"""The longest time that a command waits for its answer, beyond the time that it asks to wait."""
LONGEST_WAIT_S = 3.0
PASSING = ("LOADING", "MASTERDOWN", "READONLY", "TRYAGAIN", "CLUSTERDOWN", "UNBLOCKED", "NOREPLICAS")
"""Errors of a Redis that starts, or that another is taking over from."""

NO_CLUSTER = "a Redis Cluster is not supported; name a Redis that is none, or those that Sentinel watches"

Word: TypeAlias = str | bytes | int
Command: TypeAlias = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """The URL of a Redis, or of those that Sentinel watches."""

    url: str

    @property
    def is_watched(self) -> bool:
        """True if another server takes over from one that dies."""
        return urlsplit(self.url).scheme.endswith(SENTINEL)

    @property
    def hosts(self) -> list[tuple[str, int]]:
        """The servers that are asked, or the Sentinels. Raises ValueError."""
        parts = urlsplit(self.url)
        standard = SENTINEL_PORT if self.is_watched else 6379
        each = [urlsplit(f"//{one}") for one in parts.netloc.rpartition("@")[2].split(",")]
        return [(one.hostname or "", standard if one.port is None else one.port) for one in each]

    @property
    def query(self) -> dict[str, str]:
        """The query of the URL, by name."""
        return dict(parse_qsl(urlsplit(self.url).query))

    def of_one(self) -> str:
        """The URL with the first host alone, without what is Sentinel's."""
        parts, ((host, port), *_) = urlsplit(self.url), self.hosts
        user, at, _ = parts.netloc.rpartition("@")
        netloc = f"{user}{at}{f'[{host}]' if ':' in host else host}:{port}"
        query = urlencode({name: value for name, value in self.query.items() if name not in (PRIMARY_NAME, SENTINEL_PASSWORD)})
        return urlunsplit((REDIS_SCHEMES[parts.scheme], netloc, parts.path, query, ""))

    def __str__(self) -> str:
        """The address for messages, without a password."""
        return shown(self.url)


def chosen_redis(url: str) -> RedisAddress | None:
    """The Redis at the URL; None without one. Raises ConfigError."""
    if not url:
        return None
    address = RedisAddress(url)
    try:
        fits = urlsplit(url).scheme in REDIS_SCHEMES and all(host and port for host, port in address.hosts)
        fits = fits and (bool(address.query.get(PRIMARY_NAME)) if address.is_watched else len(address.hosts) == 1)
    except ValueError:
        fits = False
    if not fits:
        what = "a value with an @ in it" if "@" in url else repr(shown(url)[:80])
        raise ConfigError(
            f"${EVENTS_VARIABLE} is {what}, expected redis://:PASSWORD@HOST:PORT/0, or rediss:// for TLS, or "
            f"redis-sentinel://:PASSWORD@HOST:PORT,HOST:PORT/0?{PRIMARY_NAME}=NAME, or nothing"
        )
    return address


class RedisConnection:
    """Connections to one Redis, or to the primary of those that Sentinel watches. Each method raises StoreError."""

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
        elif reason.startswith(("MOVED", "CROSSSLOT")):
            advice = NO_CLUSTER
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
        from redis.connection import parse_url
        from redis.retry import Retry
        from redis.sentinel import Sentinel
    except ImportError as error:
        raise ConfigError(f"events go to {address}, which needs redis-py: pip install 'voiceagent[redis]'") from error
    options: dict[str, object] = {
        "client_name": "voiceagent",
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": CONNECT_TIMEOUT_S,
        "socket_timeout": ANSWER_TIMEOUT_S + LONGEST_WAIT_S,
    }
    try:
        if address.is_watched:
            parsed = dict(parse_url(address.of_one()))  # type: ignore[no-untyped-call]
            is_tls = parsed.pop("connection_class", None) is not None
            of_servers = {name: value for name, value in parsed.items() if name not in ("host", "port")} | {"ssl": is_tls}
            of_sentinels = {name: value for name, value in of_servers.items() if name.startswith("ssl")}
            asked = {"password": address.query.get(SENTINEL_PASSWORD), "socket_timeout": CONNECT_TIMEOUT_S}
            sentinel = Sentinel(  # type: ignore[no-untyped-call]
                address.hosts, sentinel_kwargs={**of_sentinels, **asked}, **options, **of_servers
            )
            client = sentinel.master_for(address.query[PRIMARY_NAME])  # type: ignore[no-untyped-call]
        else:
            client = redis.Redis.from_url(address.url, **options)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"${EVENTS_VARIABLE}: {redacted(str(error))[:200]}") from error
    client.response_callbacks.clear()  # answers as Redis gives them: redis-py's own forms change between its versions
    return client, (redis.RedisError, OSError)
