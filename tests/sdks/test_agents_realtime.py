"""Whole calls with OpenAI's Agents SDK for JavaScript (npm `@openai/agents-realtime`), as it comes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.browser.browsers import installed
from tests.browser.test_page_client_secret import secret_of
from tests.fakes import Said
from tests.realtime.protocol_rules import check_sequence
from tests.sdks.conftest import ORIGIN
from tests.server_process import ServerProcess
from voiceagent.audio.resample import resample
from voiceagent.json_types import JsonObject

HERE = Path(__file__).parent
LINES = {"weather": "What's the weather in Paris tomorrow?", "time": "What time is it in Tokyo?", "stop": "Stop."}
RATE_HZ = 24_000


async def world(folder: Path, server: ServerProcess, key: str, clock: JsonObject, said: Said) -> Path:
    """The file that tells a program what to say, and to whom."""
    lines = {}
    for name, text in LINES.items():
        pcm, rate_hz = await said(text)
        file = folder / f"{name}.pcm"
        file.write_bytes(resample(pcm, rate_hz, RATE_HZ).astype("<i2").tobytes())
        lines[name] = str(file)
    file = folder / "world.json"
    told = {"url": server.url, "key": secret_of(server.url, key), "lines": lines, "schema": clock, "origin": ORIGIN}
    file.write_text(json.dumps(told))
    return file


def made_of_it(program: str, file: Path) -> dict[str, Any]:
    """What the SDK made of the call that a program beside this file made."""
    driven = subprocess.run(
        ["node", str(HERE / program), str(file)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert driven.returncode == 0, driven.stderr
    made: dict[str, Any] = json.loads(driven.stdout)
    return made


def check(made: dict[str, Any]) -> None:
    assert made["errors"] == []
    check_sequence(made["events"], call_over=False)
    assert made["ran"] == [{"city": "Tokyo"}]
    calls = {item["name"]: item for item in made["history"] if "name" in item}
    assert (calls["get_weather"]["type"], calls["get_weather"]["status"]) == ("mcp_call", "completed")
    assert json.loads(calls["get_weather"]["output"])["city"] == "Paris"
    assert (calls["get_time"]["type"], calls["get_time"]["status"]) == ("function_call", "completed")
    weather, time, cut, okay = (item for item in made["history"] if item.get("role") == "assistant")
    assert "Paris" in weather["content"][0]["transcript"]
    assert "Tokyo" in time["content"][0]["transcript"]
    assert "Okay" in okay["content"][0]["transcript"]
    assert cut["status"] == "incomplete"
    assert {item["status"] for item in made["history"] if item is not cut} == {"completed"}
    done = [event["response"] for event in made["events"] if event["type"] == "response.done"]
    assert done[-2]["status_details"]["reason"] == "turn_detected"


async def test_a_call_over_a_websocket_in_node(
    keyed: tuple[ServerProcess, str], clock: JsonObject, said: Said, tmp_path: Path
) -> None:
    installed("chromium", "@openai/agents-realtime")
    made = made_of_it("socket.mjs", await world(tmp_path, *keyed, clock, said))
    check(made)
    assert made["interrupted"], "the client is told to stop its playback"


@pytest.mark.browser
async def test_a_call_over_webrtc_in_chromium(
    keyed: tuple[ServerProcess, str], clock: JsonObject, said: Said, tmp_path: Path
) -> None:
    browser = installed("chromium", "@openai/agents-realtime")
    check(await browser.seen(HERE / "page.mjs", str(await world(tmp_path, *keyed, clock, said))))
