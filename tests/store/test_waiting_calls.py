"""Calls that wait in the store, on both engines."""

from __future__ import annotations

import time

import pytest

from voiceagent.store.database import StoreAddress, StoreError
from voiceagent.store.schema import connect, reading
from voiceagent.store.waiting_calls import (
    MAX_BYTES,
    forget_late,
    keep_calls,
    read_call,
    seal,
    seal_key,
    take_call,
    token_hash,
)

WORDS = b"my number is 4711"


def keep(address: StoreAddress, token: str, expires_s: float = 60.0) -> None:
    keep_calls(address, {token_hash(token): seal(WORDS, seal_key(token))}, time.time() + expires_s)


def kept(address: StoreAddress) -> list[tuple[object, ...]]:
    with reading(address) as database:
        return list(database.execute("SELECT token, expires, sealed FROM voiceagent_waiting_calls"))


def test_one_who_has_the_token_takes_it_once(address: StoreAddress) -> None:
    assert read_call(address, "rs_1") is None
    keep(address, "rs_1")
    assert read_call(address, "rs_1") == WORDS
    assert take_call(address, "rs_2") is None
    assert take_call(address, "rs_1") == WORDS
    assert take_call(address, "rs_1") is None
    assert not kept(address)


def test_without_the_token_it_says_nothing(address: StoreAddress) -> None:
    keep(address, "rs_1")
    assert "4711" not in str(kept(address))
    assert "rs_1" not in str(kept(address))


def test_its_time_is_over(address: StoreAddress) -> None:
    keep(address, "rs_late", expires_s=0.0)
    assert take_call(address, "rs_late") is None
    assert len(kept(address)) == 1
    forget_late(address)
    assert not kept(address)


def test_one_that_is_too_large_is_not_kept() -> None:
    with pytest.raises(StoreError, match="bytes"):
        seal(bytes(MAX_BYTES + 1), seal_key("rs_1"))


def test_a_store_of_an_earlier_version_gets_the_table(address: StoreAddress) -> None:
    database = connect(address, writes=True)
    database.execute("DROP TABLE voiceagent_waiting_calls")
    database.close()
    assert take_call(address, "rs_1") is None
    keep(address, "rs_1")
    assert read_call(address, "rs_1") == WORDS
