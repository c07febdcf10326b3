"""Quotas of one client, so that others get their share of the server: calls, calls that are not connected yet, calls begun a
second and a minute, minutes a day. A client is a key of the server, or an address where there are no keys. Each call belongs to
one client. A key may have limits of its own."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from aiohttp import web

from voiceagent.json_types import JsonObject
from voiceagent.server.access.client_secrets import IssuedSecret
from voiceagent.server.access.key_file import NO_LIMITS, KeyKind, KeyLimits
from voiceagent.server.calls.sliding_window import SlidingWindow
from voiceagent.server.http.problems import Problem
from voiceagent.settings.agent import QuotaSettings
from voiceagent.token_bucket import TokenBucket


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request."""

    name: str
    """The name of its key, `key 2` for the second key of the environment, or the address. Never the key."""
    kind: KeyKind | Literal["owner"] = "client"
    """The kind of its key. The owner has the only key, or no key is needed: every right is its own."""
    limits: KeyLimits = NO_LIMITS
    """The limits of its key."""
    key_id: str = ""
    """The id of its key, if that is in the file of keys."""
    secret: IssuedSecret | None = None
    """The client secret that it presented in place of the key."""
    is_telephone: bool = False
    """True if it is a telephone, which has no key. The operator may end its calls."""

    @property
    def is_operator(self) -> bool:
        """True if it may stop the server."""
        return self.kind in ("operator", "owner")

    @property
    def is_monitor(self) -> bool:
        """True if it may read what is said in calls."""
        return self.kind in ("monitor", "owner")

    @property
    def owner(self) -> tuple[str, str]:
        """The name and the id of its key."""
        return self.name, self.key_id

    def may_end(self, call_of: Client) -> bool:
        """True for a call of its own, and of a client secret that its key has issued; for the operator, of a telephone, too."""
        if call_of.is_telephone:
            return self.is_operator
        return self.owner == call_of.owner and self.secret in (None, call_of.secret)

    def may_join(self, call_of: Client) -> bool:
        """True for a call that it may end, and in which it may read what is said."""
        return self.may_end(call_of) and (self.is_monitor or not call_of.is_telephone)

    @contextmanager
    def beginning(self, offered: JsonObject) -> Iterator[JsonObject]:
        """A call is begun with the session settings that the client offers; yields those that it gets. A secret that is good for
        one call is spent, unless the call is not begun after all. Raises Problem."""
        offered = {name: value for name, value in offered.items() if name != "voiceagent"}  # that part is the server's own
        if self.secret is None:
            yield offered
            return
        session = self.secret.session_of(offered)
        self.secret.take()
        try:
            yield session
        except BaseException:
            self.secret.give_back()
            raise


NOBODY = Client("")
"""Used where nothing is known of the sender."""

CLIENT = web.RequestKey("client", Client)
"""The client that `Gate` has let in."""


class CallPlace(Protocol):
    """The share of its client's quota that a call has taken: `release` it at its end."""

    client: Client
    has_minutes: bool
    """True if the minutes of its client are limited."""

    async def connect(self) -> None:
        """The call is about to be answered. Raises Problem (429) if too many of the client's calls are half-open."""
        ...

    def connected(self) -> None:
        """Media flow: the call is not half-open any more."""
        ...

    @property
    def is_connected(self) -> bool:
        """True once media flow."""
        ...

    def is_older_than(self, seconds: float) -> bool:
        """True if the call was connected at least that long ago."""
        ...

    async def charge(self) -> bool:
        """Charge the time since the last charge; returns whether its client may go on."""
        ...

    def release(self) -> None:
        """The call is over, or never began. Call it once."""
        ...


class ClientQuotas(Protocol):
    """The calls and minutes that clients have taken: of this server (`Quotas`), or over all workers."""

    async def begin(self, client: Client) -> CallPlace:
        """Take what a call needs. Raises Problem (429) when the client has had its share."""
        ...

    def take_again(self, client: Client) -> CallPlace:
        """Take what a call needs that had it at another server. It may be more than the client's share."""
        ...

    async def has_all(self, client: Client) -> bool:
        """True while the client has as many calls as it may have."""
        ...

    def spent_s(self) -> Mapping[str, float]:
        """The seconds of calls that clients with limited minutes have used and not regained, by their names, as far as they are
        counted here."""
        ...


CONNECT_WAIT_S = 3.0
"""Longest wait of an offer until another of its client's calls is connected, so that many can call at the same moment."""
DAY_S = 86_400.0
UNLIMITED_S = 1e12
NO_LIMIT = 1_000_000
MAX_CLIENTS = 8192


@dataclass(eq=False)
class _Used:
    """The use of one client."""

    offers: TokenBucket
    seconds: TokenBucket
    begun: SlidingWindow | None
    """Calls begun a minute; None: no limit."""
    limits: KeyLimits
    calls: int = 0
    connecting: int = 0
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set whenever one of its calls is connected or over."""


@dataclass(eq=False)
class Place:
    """A place that is counted here. Implements `CallPlace`."""

    client: Client
    has_minutes: bool
    """True if the minutes of its client are limited."""
    _used: _Used
    _clock: Callable[[], float]
    _limit: int
    _is_connecting: bool = False
    _connected_s: float | None = None
    _charged_s: float = 0.0

    async def connect(self) -> None:
        """The call is about to be answered; it is half-open until it is `connected`. Waits for a while if too many of the
        client's calls are half-open; raises Problem (429) if they still are then."""
        used = self._used
        try:
            async with asyncio.timeout(CONNECT_WAIT_S):
                while used.connecting >= self._limit:
                    used.freed.clear()
                    await used.freed.wait()
        except TimeoutError:
            message = f"{used.connecting} of your calls are answered but not connected, as many as may be; connect those first."
            raise _refusal("too_many_connecting", message, 5) from None
        self._is_connecting = True
        used.connecting += 1

    def connected(self) -> None:
        """Media flow: the call is not half-open any more."""
        self._stop_connecting()
        self._connected_s = self._charged_s = self._clock()

    @property
    def is_connected(self) -> bool:
        """True once media flow."""
        return self._connected_s is not None

    def is_older_than(self, seconds: float) -> bool:
        """True if the call was connected at least that long ago."""
        return self._connected_s is not None and self._clock() - self._connected_s >= seconds

    def has_time_left(self) -> bool:
        """Charge the time since the last charge; returns whether its client may go on."""
        now_s = self._clock()
        if self.is_connected:
            self._used.seconds.charge(now_s - self._charged_s, now_s)
            self._charged_s = now_s
        return self._used.seconds.left(now_s) > 0

    async def charge(self) -> bool:
        """See `CallPlace`."""
        return self.has_time_left()

    def release(self) -> None:
        """The call is over, or never began. Call it once."""
        self.has_time_left()
        self._stop_connecting()
        self._used.calls -= 1

    def _stop_connecting(self) -> None:
        if self._is_connecting:
            self._is_connecting = False
            self._used.connecting -= 1
            self._used.freed.set()


class Quotas:
    """Counts what each client has taken. Implements `ClientQuotas`."""

    def __init__(
        self,
        settings: QuotaSettings,
        max_calls: int,
        *,
        keys: Callable[[], int] = lambda: 0,
        clock: Callable[[], float] = time.monotonic,
        spent_before: Callable[[Client, float], tuple[float, float]] = lambda client, now: (0.0, 0.0),
    ) -> None:
        """`keys` says how many keys the server has. With several keys, none may take all places. `spent_before` returns the
        seconds that a client had spent before this server began, and how many seconds ago, at a time in seconds since 1970."""
        self._settings = settings
        self._max_calls = max_calls
        self._keys = keys
        self._offers_at_once = max(10.0, 2.0 * max_calls)
        self._clock = clock
        self._spent_before = spent_before
        self._by_client: dict[str, _Used] = {}

    def take(self, client: Client) -> Place:
        """Take what a call needs. Raises Problem (429) when the client has had its share; it says which limit that was, and when
        to try again."""
        now_s = self._clock()
        used = self._of(client)
        most = self._most(client)
        minutes = self._minutes(client)
        if not used.offers.take(1.0, now_s):
            raise _refusal(
                "too_many_offers",
                f"More than {self._settings.offers_per_s:g} calls a second were offered; wait between them.",
                used.offers.wait_s(1.0, now_s),
                "offers_per_s",
            )
        if used.calls >= most:
            message = f"You have {used.calls} calls, as many as you may have at the same time; end one, or call again later."
            raise _refusal("too_many_calls", message, 15, "calls")
        if used.seconds.left(now_s) <= 0:
            wait_s = used.seconds.wait_s(min(60.0, minutes * 60.0), now_s)
            message = f"Your {minutes:g} minutes of calls a day are used; call again in {_time_text(wait_s)}."
            raise _refusal("minutes_used", message, wait_s, "minutes_a_day")
        if used.begun is not None and not used.begun.take(now_s):
            wait_s = used.begun.wait_s(now_s)
            message = f"You may begin {client.limits.calls_a_minute:g} calls a minute; call again in {_time_text(wait_s)}."
            raise _refusal("too_many_calls_a_minute", message, wait_s, "calls_a_minute")
        return self._place(client, used)

    async def begin(self, client: Client) -> Place:
        """See `ClientQuotas`."""
        return self.take(client)

    async def has_all(self, client: Client) -> bool:
        """See `ClientQuotas`."""
        return self.is_full(client)

    def is_full(self, client: Client) -> bool:
        """True while the client has as many calls as it may have."""
        return self._of(client).calls >= self._most(client)

    def _most(self, client: Client) -> int:
        several = self._keys() > 1
        return client.limits.calls or self._settings.calls or (max(1, self._max_calls * 3 // 4) if several else NO_LIMIT)

    def take_again(self, client: Client) -> Place:
        """Take what a call needs that had it at another server. It may be more than the client's share."""
        return self._place(client, self._of(client))

    def _place(self, client: Client, used: _Used) -> Place:
        used.calls += 1
        several, minutes = self._keys() > 1, self._minutes(client)
        connecting = self._settings.connecting or max(4, self._max_calls // (4 if several else 2))
        return Place(client, minutes > 0, used, self._clock, connecting)

    def spent_s(self) -> dict[str, float]:
        """The seconds of calls that clients with limited minutes have used and not regained, by their names."""
        now_s = self._clock()
        limited = {name: used.seconds for name, used in self._by_client.items() if used.seconds.burst < UNLIMITED_S}
        return {name: seconds.burst - left for name, seconds in limited.items() if (left := seconds.left(now_s)) < seconds.burst}

    def _minutes(self, client: Client) -> float:
        return client.limits.minutes_a_day or self._settings.minutes_a_day

    def _of(self, client: Client) -> _Used:
        known = self._by_client.get(client.name)
        if known is not None and known.limits == client.limits:
            return known
        if len(self._by_client) >= MAX_CLIENTS:
            self._by_client = {name: used for name, used in self._by_client.items() if used.calls}
        seconds = self._minutes(client) * 60.0 or UNLIMITED_S
        a_minute = client.limits.calls_a_minute
        offers = TokenBucket(self._settings.offers_per_s, self._offers_at_once)
        begun = known.begun if known is not None else None
        if begun is not None and a_minute:
            begun.limit_to(a_minute)
        else:
            begun = SlidingWindow(a_minute) if a_minute else None
        fresh = _Used(offers, TokenBucket(seconds / DAY_S, seconds), begun, client.limits)
        if known is None:
            spent_s, ago_s = self._spent_before(client, time.time())
            fresh.seconds.charge(max(0.0, spent_s - ago_s * fresh.seconds.rate_per_s), self._clock())
            self._by_client[client.name] = fresh
            return fresh
        known.seconds, known.begun, known.limits = fresh.seconds, fresh.begun, fresh.limits  # the operator has changed the limits
        return known


def _refusal(code: str, message: str, retry_after_s: float, limit: str = "") -> Problem:
    return Problem(429, code, message, param=limit or None, retry_after_s=max(1, math.ceil(retry_after_s)))


def _time_text(seconds: float) -> str:
    """A duration as people say it, rounded up."""
    whole = max(1, math.ceil(seconds))
    if whole < 120:
        return "a second" if whole == 1 else f"{whole} seconds"
    minutes = math.ceil(whole / 60)
    return f"{minutes} minutes" if minutes < 120 else f"{math.ceil(minutes / 60)} hours"
