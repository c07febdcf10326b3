"""The operator's monitor in real Chromium, of a real server with a real spoken call."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_page import HERE, chromium
from tests.fakes import Said
from tests.server_process import running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.resources import demo_agent_file
from voiceagent.server.access.key_ring import KEYS_VARIABLE

KEY = "open-sesame"
ASKED = "What's the weather in Paris tomorrow?"


@pytest.mark.browser
async def test_an_operator_sees_the_server_and_a_call_and_ends_it(tmp_path: Path, said: Said) -> None:
    browser = chromium("axe-core")
    demo = demo_agent_file()
    text = demo.read_text()
    for file in ("tools.py", "endpointing.json"):
        text = text.replace(file, str(demo.parent / file))
    (tmp_path / "agent.yaml").write_text(f"{text}\nrecords: {{keep: transcripts}}\n")
    shots = os.environ.get("VOICEAGENT_SCREENSHOTS", "-")
    options = ("--config", str(tmp_path / "agent.yaml"), "--profile", "embedded")
    with running_server(tmp_path, *options, environment={KEYS_VARIABLE: KEY}, exit_code=-signal.SIGKILL) as server:
        caller = Caller(server.url, token=KEY)
        async with caller, Dialogue(caller) as dialogue:
            await dialogue.wait_greeting()
            await dialogue.turn(ASKED, *await said(ASKED))
            call = caller.location.rpartition("/")[2]
            program = ("node", str(HERE / "monitor.mjs"), server.url, str(server.process.pid), KEY, call, shots)
            driven = await asyncio.create_subprocess_exec(
                *program,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, "CHROMIUM": browser},
            )
            out, problems = await asyncio.wait_for(driven.communicate(), 120)
        assert driven.returncode == 0, problems.decode()
    seen: dict[str, Any] = json.loads(out)
    assert (seen["errors"], seen["violations"]) == ([], [])
    assert not [url for url in seen["requests"] if KEY in url]
    shown = seen["shown"]
    assert not shown["problem"]
    assert shown["alerts"], "a busy machine may show some"
    assert not {"EngineDown", "NotReady", "CallsFail"}.intersection(shown["alerts"].split())
    assert "1 of 16" in shown["places"]
    assert call.removeprefix("rtc_")[:8] in shown["calls"]
    assert "ms" in shown["calls"]
    assert "of 1 turns" in shown["budget"]
    assert "voice_to_voice 1" in shown["stages"]
    assert shown["address"] == f"/monitor#call={call}"
    assert "Paris" in shown["call events"]
    assert "Caller → agent" in shown["call turns"]
    assert "webrtc" in shown["call call-facts"]
    assert set(shown["tools"]) == {"tool.started", "tool.ended"}
    found, first = shown["found"]
    assert " of " in found
    assert "paris" in json.dumps(first).lower()
    assert "What you see is from before" in shown["lost"]
    assert not shown["problemAfterwards"]
    assert "being ended" in shown["done"]
    assert "hangup" in shown["ended"]
    assert shown["nobody"]
    assert (shown["again"][0], shown["again"][-1]) == ("call.ended", "call.started")
