"""`GET /v1/calls/{id}/events`: the events of a running or kept call, from any event on, for the operator's monitors. Those of a
call that does not run here come from the store, or from Redis if only that knows it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from typing import TypeAlias, TypeVar

from aiohttp import web

from voiceagent.media.outgoing_events import TOO_SLOW
from voiceagent.server.calls.monitors import MAX_MONITORS, MAX_MONITORS_OF_A_CALL, CallFeed, CallFeeds, Line
from voiceagent.server.calls.quotas import CLIENT
from voiceagent.server.http.app import ApplicationPart
from voiceagent.server.http.event_stream import EventStream, SlowReaderError, StreamClosedError, stream_for_key
from voiceagent.server.http.problems import Problem
from voiceagent.store.database import StoreAddress, StoreError
from voiceagent.store.event_streams import CallState, EventStreams
from voiceagent.store.open_streams import open_streams
from voiceagent.store.records import LOST
from voiceagent.store.redis_streams import RedisStreams

log = logging.getLogger(__name__)

T = TypeVar("T")
Opened: TypeAlias = Callable[[], AbstractContextManager[EventStreams]]
"""Opens streams, in the thread that reads them."""

NOW = "now"
POLLED_EVERY_S = 1.0
"""Another server's call is looked up in the store so often."""
RETRY_AFTER_S = 5
SERVER_STOPPING = "server_stopping"
STORE_FAILED = "store_failed"


class CallEventsPart(ApplicationPart):
    """The part of the application that monitors use."""

    def __init__(
        self,
        feeds: CallFeeds,
        address: StoreAddress,
        watching: Callable[[int], None] = lambda monitors: None,
        was_slow: Callable[[], None] = lambda: None,
        redis: RedisStreams | None = None,
    ) -> None:
        """`watching` is called with the number of monitors whenever it changes, and `was_slow` when one was closed because it
        does not read in time."""
        self._feeds = feeds
        self._redis = redis
        self._store: Opened = partial(open_streams, address)
        self._places: list[Opened] = [self._store] if redis is None else [self._store, lambda: nullcontext(redis)]
        self._watching, self._was_slow = watching, was_slow
        self._of_call: dict[str, int] = {}
        self._stopping = asyncio.Event()

    def add_routes(self, app: web.Application) -> None:
        """See `ApplicationPart`."""
        app.router.add_get("/v1/calls/{id}/events", self._events)
        app.on_shutdown.append(self._stop)

    async def _stop(self, _: web.Application) -> None:
        """The feeds of running calls end with their calls."""
        self._stopping.set()
        if self._redis is not None:
            self._redis.close()

    async def _events(self, request: web.Request) -> web.StreamResponse:
        if not request[CLIENT].is_monitor:
            raise Problem(
                403, "monitor_only", "Only a monitor may follow calls; `voiceagent keys add NAME --monitor` makes a key."
            )
        call_id, since = request.match_info["id"], _since(request)
        with self._place(call_id):
            feed = self._feeds.of(call_id)
            if feed is not None:
                return await self._stream(request, self._running(call_id, feed, feed.next if since is None else since))
            place, state, last = await self._found(call_id)
            if since is None or (state is CallState.ENDED and since > last):
                return web.Response(status=204)  # an EventSource does not come again after this
            return await self._stream(request, self._kept(place, call_id, state, since))

    async def _found(self, call_id: str) -> tuple[Opened, CallState, int]:
        """The first place that knows a call, the call's state and the number of its last event. Raises Problem."""
        failed = False
        for place in self._places:
            try:
                state = await _asked(place, lambda streams: streams.state(call_id))
                if state is not None:
                    return place, state, int(await _asked(place, lambda streams: streams.last(call_id)) or 0)
            except StoreError as error:
                log.error("the call %s cannot be followed: %s", call_id, error)
                failed = True
        if failed:
            raise Problem(503, STORE_FAILED, "The store of calls cannot be read; the server's log says why.")
        raise Problem(404, "call_not_found", f"There is no call {call_id[:40]!r}, or nothing is kept of it.", param="id")

    @contextmanager
    def _place(self, call_id: str) -> Iterator[None]:
        of_call, all_of_them = self._of_call.get(call_id, 0), sum(self._of_call.values())
        if all_of_them >= MAX_MONITORS or of_call >= MAX_MONITORS_OF_A_CALL:
            raise Problem(
                429,
                "too_many_monitors",
                f"At most {MAX_MONITORS_OF_A_CALL} monitors may follow a call, and {MAX_MONITORS} a server.",
                retry_after_s=RETRY_AFTER_S,
            )
        self._of_call[call_id] = of_call + 1
        self._watching(all_of_them + 1)
        try:
            yield
        finally:
            self._of_call[call_id] -= 1
            if not self._of_call[call_id]:
                del self._of_call[call_id]
            self._watching(sum(self._of_call.values()))

    async def _stream(self, request: web.Request, pages: AsyncGenerator[list[Line], None]) -> web.StreamResponse:
        """Answer with pages of events until they end, or until the reader is too slow."""
        stream = stream_for_key(request)
        try:
            await stream.begin()
            while page := await stream.awaited(_next(pages)):
                await stream.send(page)
            return await stream.end()
        except SlowReaderError:
            return await self._closed(stream, TOO_SLOW)
        except StreamClosedError as closed:
            return await self._closed(stream, str(closed))
        except StoreError as error:
            log.error("the call %s cannot be followed: %s", request.match_info["id"], error)
            return await self._closed(stream, STORE_FAILED)
        except ConnectionError:
            return stream.response
        finally:
            await pages.aclose()

    async def _closed(self, stream: EventStream, reason: str) -> web.StreamResponse:
        """Say why no more comes."""
        if reason == TOO_SLOW:
            self._was_slow()
        return await stream.end({"type": "monitor.closed", "reason": reason})

    async def _running(self, call_id: str, feed: CallFeed, since: int) -> AsyncGenerator[list[Line], None]:
        """The events of a call that runs here. What the feed holds no more comes from the store, if it is kept."""
        held = feed.first
        monitor = feed.follow(since)
        try:
            while since < held and (page := [line for line in await _page(self._store, call_id, since) if line[0] < held]):
                yield page
                since = page[-1][0] + 1
            if since < held:
                yield [_gap(since, held - 1)]
            while lines := await monitor.take():
                yield lines
            if monitor.closed:
                raise StreamClosedError(monitor.closed)
        finally:
            feed.leave(monitor)

    async def _kept(self, place: Opened, call_id: str, state: CallState | None, since: int) -> AsyncGenerator[list[Line], None]:
        """The events of a call that is over, or runs on another server that writes to the same place."""
        while True:
            while page := await _page(place, call_id, since):
                if page[0][0] > since:
                    yield [_gap(since, page[0][0] - 1)]
                yield page
                since = page[-1][0] + 1
            if state is CallState.ENDED:
                return
            if state is not CallState.GOES_ON:
                raise StreamClosedError(LOST)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), POLLED_EVERY_S)
                raise StreamClosedError(SERVER_STOPPING)
            state = await _asked(place, lambda streams: streams.state(call_id))


async def _next(pages: AsyncGenerator[list[Line], None]) -> list[Line] | None:
    return await anext(pages, None)


async def _asked(place: Opened, ask: Callable[[EventStreams], T]) -> T:
    """The answer of a place, which is asked in a thread. Raises StoreError."""

    def asked() -> T:
        with place() as streams:
            return ask(streams)

    return await asyncio.to_thread(asked)


async def _page(place: Opened, call_id: str, since: int) -> list[Line]:
    """The next events in a place. Raises StoreError."""
    events = await _asked(place, lambda streams: streams.read(call_id, str(since - 1)))
    return [(int(event.id), event.line) for event in events]


def _gap(first: int, last: int) -> Line:
    """Says that these events are not there."""
    return 0, json.dumps({"type": "monitor.gap", "first": first, "last": last}).encode()


def _since(request: web.Request) -> int | None:
    """The number of the first event that is wanted; None: only what comes from now on. Raises Problem."""
    seen, wanted = request.headers.get("Last-Event-ID"), request.query.get("from", "1")
    if seen is None and wanted == NOW:
        return None
    given = wanted if seen is None else seen
    if not (given.isascii() and given.isdigit() and len(given) <= 9):
        told = f"Last-Event-ID or from is {given[:40]!r}, expected the number of an event, or from=now."
        raise Problem(400, "invalid_from", told, param="from")
    return max(1, int(given)) if seen is None else int(given) + 1
