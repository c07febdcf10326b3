"""Monitors of calls: all get the same events, from any event on, and no call waits for one."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler

from tests.store.calls import keep_call
from voiceagent.server.access.key_file import KeyFile, KeyKind
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.calls import monitors
from voiceagent.server.calls.monitors import MAX_KEPT, MAX_MONITORS_OF_A_CALL, MAX_WAITING, CallFeed, CallFeeds
from voiceagent.server.calls.quotas import CLIENT, Client
from voiceagent.server.http.app import CORS, KEYS
from voiceagent.server.http.call_events import CallEventsPart
from voiceagent.server.http.problems import answer_problems
from voiceagent.store.call_events import CallEvent
from voiceagent.store.database import StoreAddress, local_store
from voiceagent.store.redis_streams import RedisStreams

PATIENCE_S = 20.0


def event(number: int, text: str = "") -> CallEvent:
    return CallEvent(number, "caller.said" if number else "caller.partial", 0.0, {"text": text})


def numbers(lines: list[tuple[int, bytes]]) -> list[int]:
    return [number for number, _ in lines]


@dataclass
class Dropped:
    queues: list[str] = field(default_factory=list)


def feed_of(dropped: Dropped) -> CallFeed:
    return CallFeeds(dropped.queues.append).begin("rtc_1")


async def test_a_monitor_gets_what_was_and_what_comes() -> None:
    feed = feed_of(Dropped())
    feed.publish([event(1), event(2), event(3)])
    monitor = feed.follow(2)
    feed.publish([event(0, "so far"), event(4)])
    assert numbers(await monitor.take()) == [2, 3, 0, 4]
    feed.publish([event(5)])
    feed.end()
    assert numbers(await monitor.take()) == [5]
    assert await monitor.take() == []
    assert monitor.closed == ""


async def test_a_feed_holds_a_bounded_number_of_events_and_bytes() -> None:
    feed = feed_of(Dropped())
    for number in range(1, 3 * MAX_KEPT):
        feed.publish([event(number)])
    assert (feed.first, feed.next) == (2 * MAX_KEPT, 3 * MAX_KEPT)
    feed.publish([event(3 * MAX_KEPT, "x" * monitors.MAX_KEPT_BYTES)])
    assert feed.first == feed.next, "one that is larger than all of it is not held"


async def test_ten_monitors_cost_a_call_one_encoding_of_each_event_and_bounded_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded: list[int] = []
    line = CallEvent.line

    def counted(event: CallEvent) -> bytes:
        encoded.append(event.number)
        return line(event)

    monkeypatch.setattr(CallEvent, "line", counted)
    dropped = Dropped()
    feed = feed_of(dropped)
    stuck, quick = [feed.follow(1) for _ in range(5)], [feed.follow(1) for _ in range(5)]
    total = 3 * MAX_WAITING
    for number in range(1, total + 1):
        feed.publish([event(number)])  # it returns at once: nothing in it waits
        assert [numbers(await monitor.take()) for monitor in quick] == [[number]] * len(quick)
    assert encoded == [*range(1, total + 1)], "each event once, whoever reads it"
    assert [monitor.closed for monitor in stuck] == ["too_slow"] * len(stuck)
    assert dropped.queues == ["monitors"] * len(stuck)
    assert len(feed) == len(quick), "the call has let go of those that are stuck"


async def test_a_slow_monitor_is_closed_and_the_others_go_on() -> None:
    dropped = Dropped()
    feed = feed_of(dropped)
    slow, quick = feed.follow(1), feed.follow(1)
    for number in range(1, MAX_WAITING + 2):
        feed.publish([event(number)])
        assert numbers(await quick.take()) == [number]
    assert (slow.closed, dropped.queues, len(feed)) == ("too_slow", ["monitors"], 1)
    assert await slow.take() == []


async def test_a_monitor_is_slow_by_its_bytes_too() -> None:
    feed = feed_of(Dropped())
    slow = feed.follow(1)
    for number in range(1, 4):
        feed.publish([event(number, "x" * (monitors.MAX_WAITING_BYTES // 3))])
    assert slow.closed == "too_slow"


class Watching:
    """The number of monitors, as the server counts it."""

    def __init__(self) -> None:
        self.count = 0
        self._changed = asyncio.Event()

    def __call__(self, count: int) -> None:
        self.count = count
        self._changed.set()

    async def until(self, count: int) -> None:
        while self.count != count:
            self._changed.clear()
            await self._changed.wait()


@dataclass
class Served:
    """A server of monitors, and what it counts."""

    feeds: CallFeeds
    session: aiohttp.ClientSession
    url: str
    watching: Watching
    slow: list[int]
    """One for each monitor that was closed because it was too slow."""

    def get(self, path: str, **headers: str) -> aiohttp.client._RequestContextManager:
        return self.session.get(f"{self.url}{path}", headers=headers)


@asynccontextmanager
async def serving(
    address: StoreAddress,
    *,
    kind: KeyKind = "monitor",
    keys: KeyRing | None = None,
    key: str = "",
    redis: RedisStreams | None = None,
) -> AsyncIterator[Served]:
    @web.middleware
    async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
        request[CLIENT] = (keys.client(key) if keys else None) or Client("key 1", kind)
        return await handler(request)

    app = web.Application(middlewares=[answer_problems, admit])
    app[KEYS] = keys or KeyRing()
    app[CORS] = lambda request: {"Access-Control-Allow-Origin": "*"}
    watching = Watching()
    feeds = CallFeeds(lambda queue: None)
    slow: list[int] = []
    CallEventsPart(feeds, address, watching, lambda: slow.append(1), redis).add_routes(app)
    async with TestServer(app) as server, aiohttp.ClientSession() as session, asyncio.timeout(PATIENCE_S):
        yield Served(feeds, session, str(server.make_url("")).rstrip("/"), watching, slow)


async def messages(response: aiohttp.ClientResponse) -> list[tuple[int, dict[str, object]]]:
    """All messages of a stream up to its end, each with its id, 0 for one without."""
    assert response.status == 200, await response.text()
    assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    found = []
    for block in (await response.text()).split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((int(fields.get("id", 0)), json.loads(fields["data"])))
    return found


async def told(served: Served, path: str, **headers: str) -> list[int]:
    async with served.get(path, **headers) as response:
        return [number for number, _ in await messages(response)]


async def test_a_kept_call_is_told_from_any_event_on(tmp_path: Path) -> None:
    keep_call(local_store(tmp_path), "rtc_1")
    async with serving(local_store(tmp_path)) as served:
        async with served.get("/v1/calls/rtc_1/events") as response:
            assert response.headers["Access-Control-Allow-Origin"] == "*"
            whole = await messages(response)
        count = len(whole)
        assert [number for number, _ in whole] == list(range(1, count + 1))
        assert whole[0][1]["type"] == "call.started"
        assert whole[-1][1]["type"] == "call.ended"
        assert await told(served, "/v1/calls/rtc_1/events?from=7") == list(range(7, count + 1))
        assert await told(served, "/v1/calls/rtc_1/events?from=2", **{"Last-Event-ID": "9"}) == list(range(10, count + 1))
        async with served.get("/v1/calls/rtc_1/events", **{"Last-Event-ID": str(count)}) as response:
            assert response.status == 204, "there is nothing more, and an EventSource need not ask again"
        await served.watching.until(0)


async def test_what_the_feed_holds_no_more_comes_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitors, "MAX_KEPT", 3)
    keep_call(local_store(tmp_path), "rtc_1", ends=False)
    async with serving(local_store(tmp_path)) as served:
        feed = served.feeds.begin("rtc_1")
        for number in range(1, 31):
            feed.publish([event(number)])
        async with served.get("/v1/calls/rtc_1/events?from=5") as response:
            feed.end()
            found = await messages(response)
    kept = 20
    assert [number for number, _ in found] == [*range(5, kept), 0, *range(28, 31)]
    assert found[kept - 5][1] == {"type": "monitor.gap", "first": kept, "last": 27}


async def test_ten_monitors_get_the_same_while_the_call_runs(tmp_path: Path) -> None:
    async with serving(local_store(tmp_path)) as served:
        feed = served.feeds.begin("rtc_1")
        feed.publish([event(1)])
        responses = [await served.get("/v1/calls/rtc_1/events") for _ in range(10)]
        late = await served.get("/v1/calls/rtc_1/events?from=now")
        assert served.watching.count == 11
        for number in range(2, 200):
            feed.publish([event(0, "so far"), event(number)])
            if not number % 20:
                await asyncio.sleep(0)
        feed.end()
        found = [await messages(response) for response in responses]
        assert all(each == found[0] for each in found)
        assert [number for number, _ in found[0] if number] == list(range(1, 200))
        assert [number for number, _ in await messages(late) if number] == list(range(2, 200))


async def test_a_reader_that_takes_nothing_is_closed_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voiceagent.server.http.event_stream.READ_TIMEOUT_S", 0.2)
    async with serving(local_store(tmp_path)) as served:
        feed = served.feeds.begin("rtc_1")
        feed.publish([event(1)])
        async with served.get("/v1/calls/rtc_1/events") as response:
            number = 1
            while len(feed):  # until the server has had enough of a reader that reads nothing
                number += 1
                feed.publish([event(number, "x" * 10_000)])
                await asyncio.sleep(0)
            assert number < 10_000
            await served.watching.until(0)
            assert served.slow == [1]
            response.close()


async def test_a_reader_that_is_late_is_told_why_it_is_closed(tmp_path: Path) -> None:
    async with serving(local_store(tmp_path)) as served:
        feed = served.feeds.begin("rtc_1")
        async with served.get("/v1/calls/rtc_1/events") as response:
            for number in range(1, MAX_WAITING + 5):
                feed.publish([event(number)])
            found = await messages(response)
        assert found[-1] == (0, {"type": "monitor.closed", "reason": "too_slow"})
        assert served.slow == [1]


async def test_a_monitor_that_goes_leaves_its_place(tmp_path: Path) -> None:
    async with serving(local_store(tmp_path)) as served:
        feed = served.feeds.begin("rtc_1")
        feed.publish([event(1)])
        responses = [await served.get("/v1/calls/rtc_1/events") for _ in range(MAX_MONITORS_OF_A_CALL)]
        async with served.get("/v1/calls/rtc_1/events") as refused:
            assert refused.status == 429
            assert (await refused.json())["error"]["code"] == "too_many_monitors"
        responses.pop().close()
        await served.watching.until(MAX_MONITORS_OF_A_CALL - 1)
        responses.append(await served.get("/v1/calls/rtc_1/events"))
        feed.end()
        assert [len(await messages(response)) for response in responses] == [1] * MAX_MONITORS_OF_A_CALL


async def test_a_call_of_another_server_is_followed_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("voiceagent.server.http.call_events.POLLED_EVERY_S", 0.01)
    monkeypatch.setattr("voiceagent.store.sql_streams.time", _at(1_700_000_000.0))
    address = local_store(tmp_path)
    keep_call(address, "rtc_1", ends=False)
    async with serving(address) as served, served.get("/v1/calls/rtc_1/events") as response:
        await response.content.readuntil(b"turn.measured")
        await asyncio.to_thread(_complete, address)
        assert b"call.ended" in await response.content.read()


def _at(now_s: float) -> object:
    class Clock:
        monotonic = staticmethod(time.monotonic)

        @staticmethod
        def time() -> float:
            return now_s

    return Clock


def _complete(address: StoreAddress) -> None:
    """The other server ends the call."""
    from voiceagent.store.records import CallRecord, CallSummary, keep_event, keep_record
    from voiceagent.store.writer import StoreWriter

    writer = StoreWriter(address)
    writer.put("events", keep_event("rtc_1", 500, b'{"type":"call.ended","number":500}'))
    ended = CallRecord(
        call_id="rtc_1", leg="webrtc", agent="A", profile="p", started=1.0, seen=2.0, ended=2.0, summary=CallSummary(events=500)
    )
    writer.put("records", keep_record(ended))
    writer.close()


async def test_a_call_whose_server_went_down_ends_the_stream(tmp_path: Path) -> None:
    keep_call(local_store(tmp_path), "rtc_1", ends=False)
    async with serving(local_store(tmp_path)) as served, served.get("/v1/calls/rtc_1/events") as response:
        assert (await messages(response))[-1] == (0, {"type": "monitor.closed", "reason": "lost"})


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/calls/rtc_9/events", 404, "call_not_found"),
        ("/v1/calls/rtc_1/events?from=x", 400, "invalid_from"),
        ("/v1/calls/rtc_1/events?from=-1", 400, "invalid_from"),
        ("/v1/calls/rtc_1/events?from=99999999999", 400, "invalid_from"),
    ],
)
async def test_what_cannot_be_followed_is_refused(tmp_path: Path, path: str, status: int, code: str) -> None:
    keep_call(local_store(tmp_path), "rtc_1")
    async with serving(local_store(tmp_path)) as served, served.get(path) as response:
        assert (response.status, (await response.json())["error"]["code"]) == (status, code)


@pytest.mark.parametrize("kind", ["client", "operator"])
async def test_only_monitors_may_follow_calls(tmp_path: Path, kind: KeyKind) -> None:
    keep_call(local_store(tmp_path), "rtc_1")
    async with serving(local_store(tmp_path), kind=kind) as served, served.get("/v1/calls/rtc_1/events") as response:
        assert (response.status, (await response.json())["error"]["code"]) == (403, "monitor_only")


async def test_without_a_store_a_call_that_is_over_is_not_there(tmp_path: Path) -> None:
    async with serving(local_store(tmp_path / "never")) as served, served.get("/v1/calls/rtc_1/events") as response:
        assert response.status == 404


async def test_a_store_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    local_store(tmp_path).file.write_bytes(b"no database" * 100)
    async with serving(local_store(tmp_path)) as served, served.get("/v1/calls/rtc_1/events") as response:
        assert (response.status, (await response.json())["error"]["code"]) == (503, "store_failed")


async def test_a_monitor_whose_key_is_revoked_is_told_so_and_ended(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("watcher", kind="monitor")
    ring = KeyRing(file=file)
    async with serving(local_store(tmp_path), keys=ring, key=key) as served:
        feed = served.feeds.begin("rtc_1")
        feed.publish([event(1)])
        async with served.get("/v1/calls/rtc_1/events") as response:
            await response.content.readuntil(b"\n\n")
            file.revoke("watcher")
            await ring.look()
            ends = await messages(response)
        assert [data for _, data in ends] == [{"type": "monitor.closed", "reason": "key_revoked"}]
        await served.watching.until(0)
