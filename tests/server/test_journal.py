"""The thread that keeps what a server's calls would leave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.server.calls import journal
from voiceagent.server.calls.journal import JournalledCall, ServerJournal
from voiceagent.server.calls.waiting_calls import NotYetError, WaitingCall, WaitingCalls
from voiceagent.store import carried_calls
from voiceagent.store.carried_calls import find_call, show_life, take_call
from voiceagent.store.database import Database, StoreAddress, StoreError, local_store
from voiceagent.store.schema import connect
from voiceagent.store.waiting_calls import MAX_BYTES, seal_key, token_hash
from voiceagent.store.writer import Losses

TOKEN = "rs_1"


def wrapped(left: object) -> WaitingCall:
    session: JsonObject = {"left": left}
    return WaitingCall(LegKind.WEBSOCKET, ("me", "1"), None, session, msgspec.Raw(b"null"))


def journalled(
    kept_by: ServerJournal, taken: Callable[[], object] = lambda: None, may_come_back: Callable[[], bool] = lambda: True
) -> JournalledCall:
    call = JournalledCall(kept_by, "rtc_1", wrapped, may_come_back, taken)
    call.opens_by(token_hash(TOKEN), seal_key(TOKEN))
    return call


def kept(address: StoreAddress, token: str = TOKEN) -> bytes | None:
    found = find_call(address, token)
    return None if found is None else found.left


async def test_the_newest_state_is_kept_under_the_newest_token_until_the_call_is_over(tmp_path: Path) -> None:
    address = local_store(tmp_path)
    server = ServerJournal(address)
    async with server.running():
        call = journalled(server)
        for number in range(50):
            call.note(lambda number=number: number)  # type: ignore[misc]
        assert await call.is_written()
        assert b'"left":49' in (kept(address) or b"")
        call.opens_by(token_hash("rs_2"), seal_key("rs_2"))
        assert await call.is_written()
        assert kept(address) is None
        assert kept(address, "rs_2") is not None
        call.end()
        other = journalled(server)
        other.note(lambda: 1)
        assert await other.is_written(), "in its turn, so the first is forgotten by now"
        assert kept(address, "rs_2") is None
    assert kept(address) is None, "a server that stops carries nothing any more"


async def test_a_call_whose_client_cannot_come_back_is_not_kept_until_it_can(tmp_path: Path) -> None:
    address, is_there = local_store(tmp_path), False
    server = ServerJournal(address)
    async with server.running():
        call = journalled(server, may_come_back=lambda: is_there)
        call.note(lambda: 1)
        assert await call.is_written()
        assert kept(address) is None
        is_there = True
        call.keep()
        assert await call.is_written()
        assert kept(address) is not None


async def test_a_server_that_finds_its_call_taken_ends_it_and_begins_no_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, taken = local_store(tmp_path), asyncio.Event()
    server = ServerJournal(address)
    async with server.running():
        call = journalled(server, taken.set)
        call.note(lambda: 1)
        assert await call.is_written()
        monkeypatch.setattr(carried_calls, "LEASE_S", -10.0)  # it seems to be dead, as one does that was stopped for a while
        call.note(lambda: 2)
        assert await call.is_written()
        other = WaitingCalls(address, 60.0, "other")
        assert await other.find(TOKEN) is not None
        assert take_call(address, TOKEN, "other", "rtc_2") is not None
        await taken.wait()
        call.note(lambda: 3)
        assert not await call.is_written()
        call.end()
    database = connect(address)
    assert database.execute("SELECT call_id, server FROM voiceagent_carried_calls") == [("rtc_2", "other")]
    database.close()


async def test_a_call_of_a_server_that_lives_is_not_given_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    address = local_store(tmp_path)
    monkeypatch.setattr("voiceagent.server.calls.waiting_calls.DEAD_S", 0.0)
    server = ServerJournal(address)
    async with server.running():
        call = journalled(server)
        call.note(lambda: 1)
        assert await call.is_written()
        with pytest.raises(NotYetError, match="lives"):
            await WaitingCalls(address, 60.0, "other").find(TOKEN)
        assert await WaitingCalls(address, 60.0, server.server).find(TOKEN) is None


async def test_a_tool_does_not_begin_while_the_store_may_hold_what_was_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, losses, is_away = local_store(tmp_path), Losses(), True

    def shown(database: Database, server: str) -> None:
        if is_away:
            raise StoreError("no connection", is_lost=True)
        show_life(database, server)

    monkeypatch.setattr(journal, "show_life", shown)
    monkeypatch.setattr(journal, "WRITTEN_S", 0.2)
    monkeypatch.setattr(journal, "RETRY_S", 0.02)
    server = ServerJournal(address, losses)
    async with server.running():
        call = journalled(server)
        call.note(lambda: 1)
        assert await call.is_written(), "nothing of the call was ever kept"
        is_away = False
        monkeypatch.setattr(journal, "WRITTEN_S", 10.0)
        call.note(lambda: 2)
        assert await call.is_written()
        assert b'"left":2' in (kept(address) or b"")
        is_away = True
        monkeypatch.setattr(journal, "WRITTEN_S", 0.2)
        call.note(lambda: 3)
        assert not await call.is_written()
        is_away = False
    assert losses.counts["states of calls"] > 0


@pytest.mark.parametrize("left", [lambda: "x" * MAX_BYTES, lambda: 1 / 0], ids=["too large", "broken"])
async def test_a_call_that_cannot_be_kept_goes_on_without(
    left: Callable[[], object], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = local_store(tmp_path)
    server = ServerJournal(address)
    async with server.running():
        call = journalled(server)
        call.note(lambda: 1)
        assert await call.is_written()
        call.note(left)
        assert await call.is_written()
        assert kept(address) is None, "what was before must not be taken for how it is"
        call.note(lambda: 2)
    assert [line.getMessage().partition(":")[0] for line in caplog.records if "killed" in line.getMessage()] == [
        "call rtc_1 cannot go on if this server is killed"
    ]
