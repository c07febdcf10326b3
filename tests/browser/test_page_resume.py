"""The page in real Chromium takes up a call again whose network was cut, and says so."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.browser.test_page import HERE, chromium
from tests.calls.scripted_model import agent_on
from tests.calls.test_restart import stopped_and_started
from tests.calls.test_resume import STORY, TOOLS, tells


@pytest.mark.browser
async def test_a_page_takes_the_call_up_again_and_says_so(tmp_path: Path) -> None:
    browser = chromium()
    async with agent_on(tmp_path, tells, TOOLS, "phrases: {greeting: ''}\n") as server:
        driven = await asyncio.create_subprocess_exec(
            *("node", str(HERE / "resume.mjs"), server.url),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "CHROMIUM": browser},
        )
        out, said = await driven.communicate()
    assert driven.returncode == 0, said.decode()
    seen = json.loads(out)
    assert seen["errors"] == []
    assert seen["agent"] == [STORY]
    assert "Your call waits" in seen["told"]
    assert [state for state in seen["states"] if state in ("resuming", "live")][-2:] == ["resuming", "live"]
    assert seen["problem"] == ""
    assert seen["muted"] == "true"


@pytest.mark.browser
async def test_a_page_takes_the_call_up_at_the_next_server(tmp_path: Path) -> None:
    browser = chromium()
    settings = "turn: {resume_after_restart: true}\nphrases: {greeting: ''}\n"
    async with agent_on(tmp_path, tells, TOOLS, settings) as server:
        driven = await asyncio.create_subprocess_exec(
            *("node", str(HERE / "resume.mjs"), server.url, "restart"),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "CHROMIUM": browser},
        )
        assert driven.stdout is not None
        assert await driven.stdout.readline() == b"restart\n"
        async with stopped_and_started(server):
            out, said = await driven.communicate()
    assert driven.returncode == 0, said.decode()
    seen = json.loads(out)
    assert seen["errors"] == []
    assert " ".join(seen["heard"]) == STORY
    assert seen["problem"] == ""
