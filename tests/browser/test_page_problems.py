"""What the page says when a call cannot be made or ends, in real Chromium against a real server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.browsers import installed
from tests.server_process import running_server
from voiceagent.server.access.key_ring import KEYS_VARIABLE


def drive(url: str, *arguments: str) -> dict[str, Any]:
    seen = installed("chromium").sees("problems.mjs", url, *arguments)
    assert all(problem["state"] == "idle" for problem in seen["shown"])
    return seen


@pytest.mark.browser
def test_every_problem_says_what_to_do_and_calling_again_works(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("llm: {base_url: 'http://127.0.0.1:9/v1'}\n")
    options = ("--config", str(tmp_path / "agent.yaml"), "--max-calls", "1")
    with running_server(tmp_path, *options, environment={KEYS_VARIABLE: "open-sesame"}) as server:
        seen = drive(server.url, "all", str(server.process.pid), "open-sesame")
        server.process.wait(5)  # the page has seen it stop
    texts = {problem["code"]: problem["text"] for problem in seen["shown"]}
    again = ["microphone_refused", "server_full", "server_stopping", "server_unreachable"]
    assert sorted(texts) == sorted(["missing_api_key", *again])
    assert "wants a key" in texts["missing_api_key"]
    assert "allow the microphone" in texts["microphone_refused"]
    assert "at most 1 call" in texts["server_full"]
    assert all("Call again" in texts[code] for code in again)
    assert ["language model failed" in line for line in seen["failed"]] == [True, True]


@pytest.mark.browser
def test_a_model_that_was_not_made_for_the_agent_and_has_no_memory_for_a_caller_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: Front desk\nadmission: {kv_tokens: 3000, context_tokens_per_call: 2000}\n")
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml"), "--profile", "embedded") as server:
        seen = drive(server.url, "memory")
    for shown in seen["unfit"]:
        assert "micro-lm was not made for this agent, which has no tools" in shown["text"]
        assert "voiceagent models pull --profile" in shown["text"]
        assert not shown["tooWide"]
    (problem,) = seen["shown"]
    assert "All lines are busy" in problem["text"]
    assert "memory of 3000 tokens holds 1 call" in problem["text"]
