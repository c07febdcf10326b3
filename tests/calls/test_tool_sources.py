"""The example's tools in whole calls over real WebRTC: a webhook, an MCP server, a tool of the client's."""

from __future__ import annotations

import json
import runpy
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.fakes import Said
from tests.loopback import on_loopback
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tools"


@pytest.fixture
async def example(tmp_path: Path) -> AsyncIterator[ServerProcess]:
    """The example as it is, but for the port of its weather service."""
    folder = tmp_path / "example"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    weather = runpy.run_path(str(folder / "weather.py"))["app"]()
    settings: Any = yaml.safe_load((folder / "agent.yaml").read_text())
    hook = next(entry["webhook"] for entry in settings["tools"] if isinstance(entry, dict) and "webhook" in entry)
    async with on_loopback(weather) as address:
        hook["url"] = hook["url"].replace("9100", address.rpartition(":")[2])
        (folder / "agent.yaml").write_text(yaml.safe_dump(settings))
        with running_server(tmp_path, "--config", str(folder / "agent.yaml")) as server:
            yield server


async def test_a_webhook_an_mcp_server_and_the_client_answer_in_one_agent(example: ServerProcess, said: Said) -> None:
    async with Caller(example.url) as caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        weather, order = "What's the weather in Paris tomorrow?", "Where is my order 4 8 2 1 3?"
        (first,) = await dialogue.turn(weather, *await said(weather))
        (second,) = await dialogue.turn(order, *await said(order))
    (asked,) = first.tools
    assert asked["name"] == "get_weather"
    assert json.loads(asked["output"])["city"] == "Paris"
    assert "Paris" in first.heard
    (asked,) = second.tools
    assert asked["name"] == "order_status"
    assert json.loads(asked["output"])["status"] in ("delivered", "being packed", "ready for pickup")
    client = runpy.run_path(str(EXAMPLE / "client.py"))
    assert "timer" in (await client["ask"](example.url, "Set a timer for 5 minutes.")).lower()
