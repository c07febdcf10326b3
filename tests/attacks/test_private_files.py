"""What a server keeps of its calls is nobody else's on the machine, whatever umask it was started with."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.typed import typed_turn
from tests.server_process import running_server
from tests.store.calls import keep_call
from tests.store.test_turns import stored, turn
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.context.index import FolderIndex, index_file
from voiceagent.data_files import keep_private
from voiceagent.store.database import local_store
from voiceagent.store.event_log import logged_calls


@pytest.fixture(autouse=True)
def permissive_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[str]:
    """What in the folder, and the folder itself, group or others may do anything with."""
    found = [folder, *folder.rglob("*")]
    return [path.name for path in found if stat.S_IMODE(path.stat().st_mode) & 0o077]


def kept(data: Path) -> None:
    """Turns, a call with its event log, an index."""
    documents = data.parent / "documents"
    documents.mkdir(exist_ok=True)
    (documents / "a.md").write_text("# Hours\nWe are open from nine to five.\n")
    stored(local_store(data), turn(1))
    keep_call(local_store(data))
    (data / "calls").mkdir(mode=0o700)
    (data / "calls" / "of_an_earlier_version.jsonl").touch(mode=0o600)
    index = FolderIndex(documents, index_file(data, documents))
    index.refresh()
    index.close()


def test_what_is_kept_is_private_from_the_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    keep_private(data)
    kept(data)
    assert len(list(data.rglob("*"))) >= 5
    assert open_to_others(data) == []


def test_what_an_earlier_version_left_open_is_closed_and_what_is_not_ours_stays(tmp_path: Path) -> None:
    data = tmp_path / "data"
    kept(data)
    (data / "notes").mkdir()
    linked = tmp_path / "linked.jsonl"
    linked.touch()
    (data / "calls" / "link.jsonl").symlink_to(linked)
    for path in data.rglob("*"):
        path.chmod(0o777 if path.is_dir() else 0o666)
    data.chmod(0o755)
    keep_private(data)
    assert open_to_others(data) == ["notes", "link.jsonl"]
    assert stat.S_IMODE(linked.stat().st_mode) == 0o666


def test_a_folder_that_others_share_is_told_and_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    kept(shared)
    with caplog.at_level(logging.WARNING):
        keep_private(shared)
    assert open_to_others(shared) == ["shared"]
    assert "that others share" in caplog.text


async def test_a_server_keeps_its_calls_to_itself(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with running_server(tmp_path, "--event-logs", "5", environment={"VOICEAGENT_DATA": str(data)}) as server:
        async with Caller(server.url) as caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            await typed_turn(dialogue, "What time is it in Berlin?")
        assert open_to_others(data) == []
    assert len(logged_calls(local_store(data))) == 1
    assert open_to_others(data) == []
