"""`serve --open` shows the page in a browser, where there is one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.server_process import running_server
from voiceagent.cli import serve

MOST_S = 20.0


def test_the_page_is_opened_once_calls_are_answered(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "opened")
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {tmp_path / "opened"}\n')
    browser.chmod(0o755)
    with running_server(tmp_path, "--open", environment={"BROWSER": f"{browser} %s"}) as server:
        assert (tmp_path / "opened").read_text().strip() == server.url


def test_without_a_screen_nothing_is_opened_and_nothing_said(tmp_path: Path) -> None:
    with running_server(tmp_path, "--open", environment=dict.fromkeys(serve.SCREENS, "")) as server:
        assert server.said() == []


def test_a_browser_that_fails_is_no_fault(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BROWSER", str(tmp_path / "none"))
    began_s = time.monotonic()
    serve.open_page("http://0.0.0.0:1")
    assert time.monotonic() - began_s < MOST_S
