"""A real `voiceagent serve` in a process of its own, on a free port of loopback."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sent_events import check_file
from voiceagent.store.database import local_store
from voiceagent.store.turns import read_turns

PROFILE = os.environ.get("VOICEAGENT_TEST_PROFILE", "")
"""The profile with which all calls of the tests are answered; empty: the agents' own."""

LOOP_BLOCKED = "the event loop was blocked for"


def complaints(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings and errors that a server in this process has logged, without the event loop monitor's: those tell how busy the
    machine is."""
    logged = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    return [line for line in logged if LOOP_BLOCKED not in line]


@dataclass
class ServerProcess:
    """A running server."""

    url: str
    process: subprocess.Popen[str]
    data: Path

    def said(self) -> list[str]:
        """The lines of its log, without the event loop monitor's: those tell how busy the machine is."""
        return [line for line in (self.data / "server.log").read_text().splitlines() if LOOP_BLOCKED not in line]


@contextmanager
def running_server(
    data: Path, *options: str, environment: Mapping[str, str] | None = None, exit_code: int = 0
) -> Iterator[ServerProcess]:
    """Start a server and wait until it answers calls; its data and its log lie in `data`, unless `environment`, which goes over
    this process's own, says otherwise of the data. It must end cleanly at SIGTERM, or with `exit_code` where a test ends it. Its
    events are held against the protocol's rules then."""
    ours = {"VOICEAGENT_DATA": str(data), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"}
    profile = ("--profile", PROFILE) if PROFILE else ()
    events = data / "sent_events.jsonl"
    command = [sys.executable, "-m", "tests.sent_events", str(events), "serve", "--port", "0", *profile, *options]
    with (data / "server.log").open("w") as log:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **ours, **(environment or {})}
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                found = re.search(r"answers at (https?://\S+)", line)
                if found:
                    break
            else:
                raise AssertionError(f"the server did not start: {(data / 'server.log').read_text()}")
            yield ServerProcess(found[1], process, data)
        finally:
            process.terminate()
            code = process.wait(15)
            assert code == exit_code, f"exit code {code}: {(data / 'server.log').read_text()}"
            assert process.stdout is not None
            process.stdout.close()
    said = (data / "server.log").read_text()
    assert "Traceback" not in said, said[-5000:]
    check_waits(data)
    check_file(events)


def check_waits(data: Path) -> None:
    """Of every turn that a server has measured, the contributions add up to the wait, without gap or overlap."""
    store = local_store(data)
    for turn in read_turns(store) if store.file.exists() else ():
        if turn.wait is None:
            assert turn.voice_to_voice_ms is None, turn
            continue
        assert turn.wait.typed or abs(turn.wait.duration_ms - (turn.voice_to_voice_ms or 0.0)) < 1.0, turn
        end_ms = 0.0
        for piece in turn.wait.contributions:
            assert abs(piece.start_ms - end_ms) < 1.0, turn
            end_ms = piece.start_ms + piece.duration_ms
