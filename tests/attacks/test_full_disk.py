"""A disk that is full, a real one: it costs what was to be kept, which is counted, and never the call."""

from __future__ import annotations

import logging
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from tests.attacks.typed import typed_turn
from tests.server_process import running_server
from tests.store.calls import keep_call
from tests.store.test_event_log import RULES
from tests.store.test_turns import turn
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.conversation import events as ev
from voiceagent.store.database import local_store
from voiceagent.store.event_log import EventLog, StoredLog
from voiceagent.store.turns import TurnStore
from voiceagent.store.writer import Losses, StoreWriter


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system without a free byte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, text=True)
    if mounted.returncode:
        why = f"no file system can be mounted here ({mounted.stderr.strip()})"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    try:
        with pytest.raises(OSError, match="No space left"):
            (folder / "ballast").write_bytes(bytes(65_536 + 1))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_turns_that_a_full_disk_refuses_are_counted_and_told_once(full_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    losses = Losses()
    writer = StoreWriter(local_store(full_disk), losses)
    store = TurnStore(writer)
    for number in range(5):
        store.put(turn(number))
    writer.close()
    assert (writer.written, losses.counts) == ({}, {"measured turns": 5})
    (record,) = caplog.records
    assert "make room" in record.message


def test_an_event_log_that_a_full_disk_refuses_is_counted_to_its_end(full_disk: Path, caplog: pytest.LogCaptureFixture) -> None:
    losses = Losses()
    writer = StoreWriter(local_store(full_disk), losses)
    log = EventLog(StoredLog(writer, "rtc_1"), "rtc_1", RULES)
    for _ in range(5000):
        log.record(ev.CallStarted(0.0), ())
    log.close()
    writer.close()
    assert losses.counts == {"event log steps": 5000 + 1}, "each step, and the head"
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


def test_there_is_no_loss_where_there_is_room(tmp_path: Path) -> None:
    assert keep_call(local_store(tmp_path)).counts == {}


async def test_a_call_goes_on_while_the_disk_is_full(full_disk: Path, tmp_path: Path) -> None:
    with running_server(tmp_path, "--event-logs", "5", environment={"VOICEAGENT_DATA": str(full_disk)}) as server:
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            for _ in range(2):
                reply = await typed_turn(dialogue, "What time is it in Berlin?")
                assert reply["status"] == "completed"
        async with aiohttp.ClientSession() as session, session.get(f"{server.url}/metrics") as response:
            metrics = await response.text()
    assert re.search(r'voiceagent_store_losses_total\{what="event log steps"\} [1-9]', metrics)
    assert (tmp_path / "server.log").read_text().count("event log steps lost") == 1
