"""Calls that servers carry, kept in case one is killed, on both engines."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from voiceagent.store import carried_calls
from voiceagent.store.carried_calls import (
    LEASE_S,
    FoundCall,
    end_life,
    find_call,
    forget_call,
    forget_dead,
    keep_again,
    keep_first,
    show_life,
    take_call,
)
from voiceagent.store.database import Database, StoreAddress
from voiceagent.store.schema import connect
from voiceagent.store.waiting_calls import keep_calls, read_call, seal, seal_key, token_hash

WORDS = b"my number is 4711"
TOKEN = "rs_1"


@contextmanager
def written(address: StoreAddress) -> Iterator[Database]:
    database = connect(address, writes=True)
    try:
        yield database
    finally:
        database.close()


def keep(address: StoreAddress, words: bytes = WORDS, server: str = "a", token: str = TOKEN) -> bool:
    with written(address) as database:
        return keep_first(database, "rtc_1", server, token_hash(token), seal(words, seal_key(token), quickly=True))


def live(address: StoreAddress, server: str = "a") -> None:
    with written(address) as database:
        show_life(database, server)


def die(monkeypatch: pytest.MonkeyPatch, address: StoreAddress, server: str = "a") -> None:
    """The server showed its life for the last time, long ago."""
    with monkeypatch.context() as changed:
        changed.setattr(carried_calls, "LEASE_S", -10.0)
        live(address, server)


def test_a_call_is_its_servers_while_that_lives(address: StoreAddress, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_call(address, TOKEN) is None
    live(address)
    live(address, "b")
    assert keep(address)
    found = find_call(address, TOKEN)
    assert found is not None
    assert (found.left, found.server) == (WORDS, "a")
    assert 0 < found.alive_s <= LEASE_S
    assert take_call(address, TOKEN, "b", "rtc_2") is None
    die(monkeypatch, address)
    found = find_call(address, TOKEN)
    assert found is not None
    assert found.alive_s < 0


def test_of_several_who_take_it_one_gets_it_and_the_server_that_had_it_is_told(
    address: StoreAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(address)
    die(monkeypatch, address)
    live(address, "b")
    assert take_call(address, "rs_2", "b", "rtc_2") is None
    assert take_call(address, TOKEN, "b", "rtc_2") == WORDS
    assert take_call(address, TOKEN, "c", "rtc_3") is None, "the server that has it now lives"
    with written(address) as database:
        assert not keep_again(database, "rtc_1", "a", token_hash(TOKEN), "")
        assert not forget_call(database, "rtc_1", "a")
        assert keep_first(database, "rtc_2", "b", token_hash("rs_new"), seal(b"later", seal_key("rs_new")))
    assert find_call(address, TOKEN) is None
    found = find_call(address, "rs_new")
    assert found is not None
    assert (found.left, found.server) == (b"later", "b")


def test_a_server_that_dies_after_it_took_a_call_and_before_it_kept_it_loses_nothing(
    address: StoreAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(address)
    die(monkeypatch, address)
    assert take_call(address, TOKEN, "b", "rtc_2") == WORDS
    die(monkeypatch, address, "b")
    assert take_call(address, TOKEN, "c", "rtc_3") == WORDS


def test_a_call_is_kept_as_it_is_now_until_it_is_over(address: StoreAddress) -> None:
    live(address)
    keep(address)
    assert not keep(address, server="b"), "the call is another server's"
    with written(address) as database:
        assert keep_again(database, "rtc_1", "a", token_hash("rs_2"), seal(b"more", seal_key("rs_2")))
    assert find_call(address, TOKEN) is None
    assert getattr(find_call(address, "rs_2"), "left", None) == b"more"
    with written(address) as database:
        assert forget_call(database, "rtc_1", "a")
    assert find_call(address, "rs_2") is None


def test_a_call_that_is_left_waits_and_is_carried_no_more_unless_another_server_has_it(
    address: StoreAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = {token_hash(TOKEN): seal(b"left", seal_key(TOKEN))}
    place = {token_hash(TOKEN): ("rtc_1", "a")}
    keep(address)
    keep_calls(address, left, 1e12, place)
    assert find_call(address, TOKEN) == FoundCall(b"left")
    assert take_call(address, TOKEN, "b", "rtc_2") == b"left"
    assert find_call(address, TOKEN) is None
    keep(address, token="rs_2")
    die(monkeypatch, address)
    take_call(address, "rs_2", "b", "rtc_2")
    keep_calls(address, {token_hash("rs_2"): left[token_hash(TOKEN)]}, 1e12, {token_hash("rs_2"): ("rtc_1", "a")})
    assert read_call(address, "rs_2") is None


def test_what_a_dead_server_carried_is_deleted_once_its_callers_are_late(
    address: StoreAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_dead(address, 60.0)
    keep(address)
    die(monkeypatch, address)
    forget_dead(address, 60.0)
    assert find_call(address, TOKEN) is not None
    forget_dead(address, 1.0)
    assert find_call(address, TOKEN) is None
    with written(address) as database:
        assert database.execute("SELECT count(*) FROM voiceagent_servers") == [(0,)]
        assert database.execute("SELECT count(*) FROM voiceagent_carried_calls") == [(0,)]


def test_a_server_that_stops_leaves_nothing_that_it_carried(address: StoreAddress) -> None:
    live(address)
    keep(address)
    with written(address) as database:
        end_life(database, "a")
    assert find_call(address, TOKEN) is None


def test_without_the_token_it_says_nothing(address: StoreAddress) -> None:
    keep(address)
    with written(address) as database:
        rows = str(database.execute("SELECT * FROM voiceagent_carried_calls"))
    assert "4711" not in rows
    assert TOKEN not in rows
