"""What the page says when a call cannot be made or ends, in real Chromium against a real server."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_page import HERE, chromium
from tests.server_process import running_server
from voiceagent.server.access.key_ring import KEYS_VARIABLE


def drive(url: str, *arguments: str) -> list[dict[str, Any]]:
    browser = chromium()
    driven = subprocess.run(
        ["node", str(HERE / "problems.mjs"), url, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "CHROMIUM": browser},
        check=False,
    )
    assert driven.returncode == 0, driven.stderr
    seen = json.loads(driven.stdout)
    assert seen["pageErrors"] == []
    assert all(problem["state"] == "idle" for problem in seen["shown"])
    return list(seen["shown"])


@pytest.mark.browser
def test_every_problem_says_what_to_do_and_calling_again_works(tmp_path: Path) -> None:
    chromium()
    with running_server(tmp_path, "--max-calls", "1") as server:
        shown = drive(server.url, "full", str(server.process.pid))
        server.process.wait(5)  # the page has seen it stop
    assert [problem["code"] for problem in shown] == [
        "microphone_refused",
        "server_full",
        "server_stopping",
        "server_unreachable",
    ]
    assert "allow the microphone" in shown[0]["text"]
    assert "at most 1 call" in shown[1]["text"]
    assert all("Call again" in problem["text"] for problem in shown)


@pytest.mark.browser
def test_a_caller_for_whom_the_model_has_no_memory_is_told_so(tmp_path: Path) -> None:
    chromium()
    (tmp_path / "agent.yaml").write_text("admission: {kv_tokens: 3000, context_tokens_per_call: 2000}\n")
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml")) as server:
        (problem,) = drive(server.url, "memory")
    assert "All lines are busy" in problem["text"]
    assert "memory of 3000 tokens holds 1 call" in problem["text"]


@pytest.mark.browser
def test_a_server_with_keys_asks_for_one_and_then_takes_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chromium()
    monkeypatch.setenv(KEYS_VARIABLE, "open-sesame")
    with running_server(tmp_path) as server:
        (problem,) = drive(server.url, "key", "open-sesame")
    assert "wants a key" in problem["text"]


@pytest.mark.browser
def test_replies_that_fail_are_told_in_plain_words(tmp_path: Path) -> None:
    chromium()
    (tmp_path / "agent.yaml").write_text("llm: {base_url: 'http://127.0.0.1:9/v1'}\n")
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml")) as server:
        told = drive(server.url, "failing")
    assert ["language model failed" in line["text"] for line in told] == [True, True]
