"""What is Redis' own: it may be away, its streams are bounded, its address is a secret."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.redis_sentinel import WatchedRedis, watched_redis
from tests.redis_server import PASSWORD, RedisServer, free_port
from tests.server.test_monitors import serving, told
from tests.store.calls import keep_call
from voiceagent.errors import ConfigError
from voiceagent.redaction import redacted
from voiceagent.store import redis_writer
from voiceagent.store.database import StoreError, local_store
from voiceagent.store.event_streams import ALL_CALLS
from voiceagent.store.redis_connection import RedisAddress, RedisConnection, chosen_redis
from voiceagent.store.redis_streams import RedisStreams, key_of, running_key
from voiceagent.store.redis_writer import HOUR_S, STREAMED, RedisWriter
from voiceagent.store.writer import Losses


def streamed(address: RedisAddress, call_id: str = "rtc_1") -> list[str]:
    streams = RedisStreams(address)
    found = streams.read(call_id)
    streams.close()
    return [event.id for event in found]


def number_of(answer: object) -> int:
    assert isinstance(answer, int)
    return answer


def write(writer: RedisWriter, first: int, last: int) -> None:
    for number in range(first, last + 1):
        writer.event("rtc_1", number, b'{"type":"caller.started"}')


def wait_for(writer: RedisWriter, count: int) -> None:
    while writer.written != {STREAMED: count}:
        threading.Event().wait(0.01)


def test_a_redis_that_goes_down_loses_nothing_if_it_comes_back(redis: RedisServer) -> None:
    lost = Losses()
    writer = RedisWriter(redis.emptied(), lost)
    write(writer, 1, 2)
    wait_for(writer, 2)
    redis.stop()
    write(writer, 3, 49)
    redis.start()
    wait_for(writer, 49)
    writer.close()
    assert lost.counts == {}
    assert streamed(redis.address) == [str(number) for number in range(1, 50)]


@pytest.mark.parametrize("change", [WatchedRedis.kill_the_primary, WatchedRedis.replace_the_primary])
def test_a_replica_that_takes_over_has_every_event(change: Callable[[WatchedRedis], None]) -> None:
    """Its primary is killed while events are written, of which it acknowledged some a moment before, or goes on as if nothing had
    happened."""
    with watched_redis() as watched:
        writer = RedisWriter(watched.address, lost := Losses())
        write(writer, 1, 2)
        wait_for(writer, 2)
        for number in range(3, 403):
            write(writer, number, number)
            if number == 200:
                while writer.written[STREAMED] < 100:
                    threading.Event().wait(0.001)
                change(watched)
        wait_for(writer, 402)
        writer.close()
        watched.until_replaced()
        primary = RedisConnection(RedisAddress(f"redis://:{PASSWORD}@127.0.0.1:{watched.replica}/0"))
        assert number_of(primary.run("XLEN", key_of("rtc_1"))) == 402
        primary.close()
        assert streamed(watched.address) == [str(number) for number in range(1, 403)]
    assert lost.counts == {}


def test_without_a_replica_events_are_written_all_the_same() -> None:
    with watched_redis() as watched:
        watched.kill_the_replica()
        writer = RedisWriter(watched.address, lost := Losses())
        write(writer, 1, 3)
        wait_for(writer, 3)
        write(writer, 4, 6)
        wait_for(writer, 6)
        writer.close()
        assert streamed(watched.address) == ["1", "2", "3", "4", "5", "6"]
    assert lost.counts == {}


def test_a_cluster_is_refused_with_one_line(redis: RedisServer) -> None:
    redis.stop()
    redis.start("--appendonly", "no", "--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    streams = RedisStreams(redis.address)
    try:
        with pytest.raises(StoreError, match="a Redis Cluster is not supported; name a Redis that is none"):
            streams.check()
    finally:
        streams.close()
        redis.stop()
        redis.start()


def test_what_is_written_again_stands_there_once(redis: RedisServer) -> None:
    """As after an answer that got lost."""
    writer = RedisWriter(redis.emptied(), lost := Losses())
    write(writer, 1, 3)
    write(writer, 2, 4)
    writer.close()
    assert (streamed(redis.address), lost.counts) == (["1", "2", "3", "4"], {})


def test_a_redis_that_stays_away_costs_events_and_is_written_again_when_it_is_back(
    redis: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    redis.emptied()
    redis.stop()
    lost = Losses()
    with caplog.at_level(logging.WARNING):
        writer = RedisWriter(redis.address, lost, retry_for_s=0.0)
        write(writer, 1, 1)
        while not lost.counts:
            threading.Event().wait(0.01)
    redis.start()
    write(writer, 2, 2)
    writer.close()
    assert (lost.counts, streamed(redis.address)) == ({STREAMED: 1}, ["2"])
    (record,) = caplog.records
    assert "streamed events are not kept" in record.message
    assert "is Redis up?" in record.message
    assert PASSWORD not in caplog.text


def test_a_write_that_is_refused_takes_no_other_with_it(redis: RedisServer, caplog: pytest.LogCaptureFixture) -> None:
    connection = RedisConnection(redis.emptied())
    connection.run("SET", key_of("rtc_2"), "in the way")
    writer = RedisWriter(redis.address, lost := Losses())
    writer.event("rtc_2", 1, b"{}")
    write(writer, 1, 3)
    writer.close()
    connection.close()
    assert (lost.counts, streamed(redis.address)) == ({STREAMED: 1}, ["1", "2", "3"])
    assert "WRONGTYPE" in caplog.text


def test_streams_are_bounded_and_go_by_themselves(redis: RedisServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(redis_writer, "MAX_STREAMED", 100)
    address = redis.emptied()
    writer = RedisWriter(address, keep_hours=2)
    write(writer, 1, 1000)
    writer.seen(["rtc_1", "rtc_2"])
    writer.close()
    keep_call(local_store(tmp_path), "rtc_3", redis=address)
    connection = RedisConnection(address)
    assert 100 <= number_of(connection.run("XLEN", key_of("rtc_1"))) <= 200
    keys = connection.run("KEYS", "*")
    assert isinstance(keys, list)
    left_s = {key.decode(): number_of(connection.run("TTL", key)) for key in keys}
    connection.close()
    assert set(left_s) == {
        *(key_of("rtc_1"), key_of("rtc_3"), key_of(ALL_CALLS)),
        *(running_key("rtc_1"), running_key("rtc_2")),
    }
    assert all(0 < seconds <= 24 * HOUR_S for seconds in left_s.values())
    assert left_s[key_of("rtc_1")] <= 2 * HOUR_S


def test_what_is_old_leaves_the_stream_of_all_calls(redis: RedisServer, tmp_path: Path) -> None:
    connection = RedisConnection(redis.emptied())
    for number in range(1, 301):  # Redis trims whole nodes of a hundred entries
        connection.run("XADD", key_of(ALL_CALLS), f"{number}-0", "event", '{"type":"call.started"}')
    keep_call(local_store(tmp_path), "rtc_1", redis=redis.address)
    assert number_of(connection.run("XLEN", key_of(ALL_CALLS))) < 200
    connection.close()


def test_what_another_program_wrote_there_is_left_out(redis: RedisServer) -> None:
    connection = RedisConnection(redis.emptied())
    connection.run("XADD", key_of("rtc_1"), "1-0", "other", "field")
    connection.run("XADD", key_of("rtc_1"), "2-0", "event", "no JSON")
    connection.close()
    assert streamed(redis.address) == ["2"]


def test_a_redis_is_reached_by_tls_which_is_checked(redis: RedisServer) -> None:
    redis.emptied()
    writer = RedisWriter(redis.tls_address, lost := Losses())
    write(writer, 1, 3)
    writer.close()
    assert (streamed(redis.tls_address), lost.counts) == (["1", "2", "3"], {})
    unknown = RedisStreams(RedisAddress(redis.tls_address.url.partition("?")[0]))
    with pytest.raises(StoreError, match=r"rediss://127\.0\.0\.1:\d+/0: .*certificate"):
        unknown.check()


def test_a_wrong_password_is_one_line_without_it(redis: RedisServer) -> None:
    streams = RedisStreams(RedisAddress(redis.address.url.replace(PASSWORD, "wrong-events-password")))
    with pytest.raises(StoreError) as error:
        streams.check()
    assert "are user and password right" in str(error.value)
    assert "wrong-events-password" not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        *("http://h", "redis:/h", "redis://h:0", "redis://h:x/0", "x://user:secret-word@h/0", "redis://a:1,b:2/0"),
        *("redis-sentinel://a,b/0", "redis-sentinel://a,:5/0?sentinelMasterId=m", "redis-sentinel://a,b:x/0?sentinelMasterId=m"),
    ],
)
def test_an_address_of_another_kind_is_one_line(url: str) -> None:
    with pytest.raises(ConfigError, match=r"\$VOICEAGENT_EVENTS is .*, expected redis://") as error:
        chosen_redis(url)
    assert "secret-word" not in str(error.value)


def test_an_option_that_the_client_does_not_know_is_one_line() -> None:
    with pytest.raises(ConfigError, match="VOICEAGENT_EVENTS"):
        RedisStreams(RedisAddress("redis://127.0.0.1:9/0?socket_timeout=soon"))


def test_an_address_is_shown_without_its_password() -> None:
    assert str(chosen_redis("rediss://voice:secret@events.example.org:6380/2?ssl_ca_certs=ca.pem")) == (
        "rediss://events.example.org:6380/2"
    )
    watched = "rediss-sentinel://voice:secret@one,[::1]:5000/2?sentinelMasterId=calls&sentinelPassword=other"
    address = chosen_redis(watched)
    assert str(address) == "rediss-sentinel://one,[::1]:5000/2"
    assert address is not None
    assert address.hosts == [("one", 26379), ("::1", 5000)]
    assert chosen_redis("") is None


def test_the_password_of_sentinel_is_a_secret() -> None:
    address = RedisAddress("redis-sentinel://:planted-one@127.0.0.1:9/0?sentinelMasterId=m&sentinelPassword=planted-other-word")
    streams = RedisStreams(address)
    with pytest.raises(StoreError, match="is Redis up"):
        streams.check()
    assert redacted("planted-one and planted-other-word") == "[secret] and [secret]"
    streams.close()


async def test_a_call_that_only_redis_knows_is_followed_over_http(
    redis: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The servers have a store each."""
    monkeypatch.setattr("voiceagent.server.http.call_events.POLLED_EVERY_S", 0.01)
    another = local_store(tmp_path / "another")
    keep_call(another, "rtc_1", redis=redis.emptied())
    keep_call(another, "rtc_2", redis=redis.address, ends=False)
    count = len(streamed(redis.address))
    async with serving(local_store(tmp_path / "own"), redis=RedisStreams(redis.address)) as served:
        assert await told(served, "/v1/calls/rtc_1/events") == list(range(1, count + 1))
        assert await told(served, "/v1/calls/rtc_1/events", **{"Last-Event-ID": "7"}) == list(range(8, count + 1))
        async with served.get("/v1/calls/rtc_1/events", **{"Last-Event-ID": str(count)}) as response:
            assert response.status == 204
        async with served.get("/v1/calls/rtc_3/events") as response:
            assert response.status == 404
        async with served.get("/v1/calls/rtc_2/events") as response:
            await response.content.readuntil(b"turn.measured")
            RedisStreams(redis.address).forget(["rtc_2"])
            (*_, last) = (await response.text()).strip().splitlines()
            assert json.loads(last.removeprefix("data: ")) == {"type": "monitor.closed", "reason": "lost"}
