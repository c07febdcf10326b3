"""Quotas that hold over all workers. Workers ask the front for each place (`WorkerQuotas`), and the front counts (`QuotaDesk`).
A worker's places are given back when its link to the front ends. A worker whose link comes up again, or that another front
counts for from now on, tells the places that its calls have."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from voiceagent.gateway.messages import (
    ChargePlace,
    ConnectPlace,
    Granted,
    IsFull,
    PlaceConnected,
    QuotaClient,
    Refused,
    ReleasePlace,
    TakePlace,
    ToFront,
    Told,
    ToWorker,
)
from voiceagent.server.calls.quotas import Client, Place, Quotas
from voiceagent.server.http.problems import Problem
from voiceagent.settings.agent import QuotaSettings

ANSWER_S = 5.0
"""The longest wait for the front: it waits 3 s itself for a call that is half-open."""


# --- in a worker ------------------------------------------------------------------------------------------------------


class WorkerQuotas:
    """Asks the front. Implements `ClientQuotas`."""

    def __init__(self, settings: QuotaSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self.send: Callable[[ToFront], None] | None = None
        """Sends to the front; None while the link is down."""
        self._settings = settings
        self._clock = clock
        self._last = 0
        self._asked: dict[int, asyncio.Future[ToWorker]] = {}
        self._places: dict[int, WorkerPlace] = {}

    async def begin(self, client: Client) -> WorkerPlace:
        """See `ClientQuotas`."""
        place = self._new(client)
        try:
            await self.ask(TakePlace(place.number, _told(client)), place.number)
        except BaseException:
            place.release()
            raise
        return place

    def take_again(self, client: Client) -> WorkerPlace:
        """See `ClientQuotas`. Nobody waits for the front: the place is granted in any case."""
        place = self._new(client)
        self.tell(TakePlace(place.number, _told(client), again=True))
        return place

    async def has_all(self, client: Client) -> bool:
        """See `ClientQuotas`."""
        number = self.next_number()
        answer = await self.ask(IsFull(number, _told(client)), number)
        return isinstance(answer, Told) and answer.yes

    def spent_s(self) -> Mapping[str, float]:
        """See `ClientQuotas`: the front counts."""
        return {}

    def came_up(self, send: Callable[[ToFront], None]) -> None:
        """The link to the front that counts from now on is up. Tell it what is taken, and the one that counted until now that
        nothing is."""
        for place in self._places.values():
            self.tell(ReleasePlace(place.number))
        self.send = send
        for place in self._places.values():
            send(TakePlace(place.number, _told(place.client), again=True))
            if place.is_connected:
                send(PlaceConnected(place.number))

    def went_down(self) -> None:
        """The link is down: nobody answers what was asked."""
        self.send = None
        for waiting in self._asked.values():
            if not waiting.done():
                waiting.set_exception(_no_front())

    def answered(self, answer: ToWorker) -> None:
        """The front has answered."""
        waiting = self._asked.get(answer.ask)
        if waiting is None or waiting.done():
            return
        if isinstance(answer, Refused):
            refused = Problem(answer.status, answer.code, answer.message, param=answer.param, retry_after_s=answer.retry_after_s)
            waiting.set_exception(refused)
        else:
            waiting.set_result(answer)

    async def ask(self, message: ToFront, number: int) -> ToWorker:
        """Send a message, and wait for its answer. Raises Problem."""
        if self.send is None:
            raise _no_front()
        waiting: asyncio.Future[ToWorker] = asyncio.get_running_loop().create_future()
        self._asked[number] = waiting
        try:
            self.send(message)
            async with asyncio.timeout(ANSWER_S):
                return await waiting
        except TimeoutError as error:
            raise _no_front() from error
        finally:
            del self._asked[number]
            waiting.cancel()

    def tell(self, message: ToFront) -> None:
        """Send a message that has no answer. While the link is down it is left out: `came_up` tells how things stand."""
        if self.send is not None:
            self.send(message)

    def forget(self, place: WorkerPlace) -> None:
        """A place was given back."""
        if self._places.pop(place.number, None) is not None:
            self.tell(ReleasePlace(place.number))

    def next_number(self) -> int:
        """A number for what is asked."""
        self._last += 1
        return self._last

    def _new(self, client: Client) -> WorkerPlace:
        has_minutes = bool(client.limits.minutes_a_day or self._settings.minutes_a_day)
        place = WorkerPlace(client, has_minutes, self.next_number(), self, self._clock)
        self._places[place.number] = place
        return place


@dataclass(eq=False)
class WorkerPlace:
    """A place that the front counts. Implements `CallPlace`."""

    client: Client
    has_minutes: bool
    number: int
    _quotas: WorkerQuotas
    _clock: Callable[[], float]
    _connected_s: float | None = None

    async def connect(self) -> None:
        """See `CallPlace`."""
        ask = self._quotas.next_number()
        await self._quotas.ask(ConnectPlace(ask, self.number), ask)

    def connected(self) -> None:
        """See `CallPlace`."""
        self._connected_s = self._clock()
        self._quotas.tell(PlaceConnected(self.number))

    @property
    def is_connected(self) -> bool:
        """See `CallPlace`."""
        return self._connected_s is not None

    def is_older_than(self, seconds: float) -> bool:
        """See `CallPlace`."""
        return self._connected_s is not None and self._clock() - self._connected_s >= seconds

    async def charge(self) -> bool:
        """See `CallPlace`. A call goes on while the front cannot be asked: it charges the whole time later."""
        ask = self._quotas.next_number()
        try:
            answer = await self._quotas.ask(ChargePlace(ask, self.number), ask)
        except Problem:
            return True
        return isinstance(answer, Told) and answer.yes

    def release(self) -> None:
        """See `CallPlace`."""
        self._quotas.forget(self)


def _told(client: Client) -> QuotaClient:
    return QuotaClient(client.name, client.key_id, client.limits)


def _no_front() -> Problem:
    return Problem(503, "busy", "The server cannot count this call at the moment; call again in a few seconds.", retry_after_s=2)


# --- in the front -----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class QuotaDesk:
    """Counts for all workers."""

    quotas: Quotas
    _places: dict[int, dict[int, Place]] = field(default_factory=lambda: defaultdict(dict))
    """Places by link, and by its worker's own number for it."""

    def gone(self, link: int) -> None:
        """The link of a worker has ended, and its calls with it."""
        for place in self._places.pop(link, {}).values():
            place.release()

    def hear(self, link: int, message: ToFront) -> ToWorker | Awaitable[ToWorker] | None:
        """A message by a link; returns the answer, or what waits for it."""
        places = self._places[link]
        if isinstance(message, TakePlace):
            return self._take(places, message)
        if isinstance(message, IsFull):
            return Told(message.ask, self.quotas.is_full(_client(message.client)))
        if isinstance(message, (ConnectPlace, ChargePlace)):
            place = places.get(message.place)
            if place is None:
                return Told(message.ask, yes=True)
            if isinstance(message, ChargePlace):
                return Told(message.ask, place.has_time_left())
            return _connect(message.ask, place, lambda: places.get(message.place) is place)
        if isinstance(message, PlaceConnected) and message.place in places:
            places[message.place].connected()
        if isinstance(message, ReleasePlace) and (released := places.pop(message.place, None)) is not None:
            released.release()
        return None

    def _take(self, places: dict[int, Place], message: TakePlace) -> ToWorker | None:
        if message.place in places:
            return None
        client = _client(message.client)
        if message.again:
            places[message.place] = self.quotas.take_again(client)
            return None
        try:
            place = places[message.place] = self.quotas.take(client)
        except Problem as problem:
            return _refused(message.place, problem)
        return Granted(message.place, place.has_minutes)


async def _connect(ask: int, place: Place, is_taken: Callable[[], bool]) -> ToWorker:
    try:
        await place.connect()
    except Problem as problem:
        return _refused(ask, problem)
    if not is_taken():
        place.connected()  # it was given back meanwhile, and is half-open no more
    return Told(ask, yes=True)


def _client(told: QuotaClient) -> Client:
    return Client(told.name, limits=told.limits, key_id=told.key_id)


def _refused(ask: int, problem: Problem) -> Refused:
    return Refused(ask, problem.status, problem.code, str(problem), problem.param, problem.retry_after_s)
