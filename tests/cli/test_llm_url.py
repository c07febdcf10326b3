"""`serve --llm-url`: a language model server in one flag; what it is and cannot do is said at once."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.llm.kinds_of_servers import ollama, serving
from tests.server_process import running_server

Run = Callable[..., Outcome]


async def test_the_server_is_told_at_the_start_and_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: Desk\nprofile: embedded\n")
    async with serving(ollama()) as url:
        with ExitStack() as stack:
            starting = running_server(tmp_path, "--config", str(tmp_path / "agent.yaml"), "--llm-url", url)
            server = await asyncio.to_thread(stack.enter_context, starting)
            told = await asyncio.to_thread(urllib.request.urlopen, f"{server.url}/v1/voiceagent/about", timeout=10)
            about = json.load(told)
    assert {"part": "llm", "name": "qwen3:8b (Ollama 0.12.6)"} in about["models"]
    assert "qwen3:8b cuts off what is over 4096 tokens without a word; OLLAMA_CONTEXT_LENGTH sets that" in about["limits"]


async def test_the_doctor_tries_the_server_out(voiceagent: Run, tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: Desk\nprofile: embedded\n")
    async with serving(ollama()) as url:
        config = str(tmp_path / "agent.yaml")
        outcome = await asyncio.to_thread(voiceagent, "doctor", "--port", "0", "--config", config, "--llm-url", url, "--json")
    found = [(one["status"], one["detail"]) for one in json.loads(outcome.out) if one["name"] == "language model's server"]
    assert ("ok", f"qwen3:8b by Ollama 0.12.6 at {url}/v1") in found
    assert [status for status, _ in found].count("warn") == 3


def test_a_dead_address_is_one_line_and_nothing_is_served(voiceagent: Run) -> None:
    outcome = voiceagent("serve", "--port", "0", "--llm-url", "127.0.0.1:9")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (1, "", 1)
    assert "error: http://127.0.0.1:9/v1/models: no language model server answers there" in outcome.err


@pytest.mark.parametrize("command", [("serve",), ("eval", "examples/blank/scenarios")])
def test_flags_that_exclude_each_other_are_refused(voiceagent: Run, command: tuple[str, ...]) -> None:
    other = ("--llm", "models") if command == ("serve",) else ("--url", "http://127.0.0.1:1")
    outcome = voiceagent(*command, *other, "--llm-url", "http://127.0.0.1:9")
    assert (outcome.code, "--llm-url" in outcome.err) == (2, True)
