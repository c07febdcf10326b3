"""What a service manager is told of a server that it started."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_process import running_server
from voiceagent.server.http.service_manager import tell_service_manager


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here:
        here.bind(str(tmp_path / "notify"))
        here.settimeout(10)
        yield here


def test_a_server_tells_when_it_answers_and_when_it_ends(manager: socket.socket, tmp_path: Path) -> None:
    with running_server(tmp_path, environment={"NOTIFY_SOCKET": manager.getsockname()}) as server:
        assert manager.recv(1024).decode() == f"READY=1\nSTATUS=answers at {server.url}"
        server.process.send_signal(signal.SIGUSR1)
        assert manager.recv(1024) == b"STOPPING=1"


def test_a_socket_without_a_file_is_reached_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as here:
        here.bind(f"\0{tmp_path}")
        here.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{tmp_path}")
        tell_service_manager("READY=1")
        assert here.recv(1024) == b"READY=1"


def test_a_manager_that_is_gone_keeps_nobody_from_the_calls(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    tell_service_manager("READY=1")
    assert "was not told READY=1" in caplog.text
