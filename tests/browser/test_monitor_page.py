"""The operator's monitor in real Chromium and real Firefox, of a real server with a real spoken call."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import Iterator

import pytest

from tests.browser.browsers import COMMANDS, IN_BOTH, installed
from tests.demo_agent import demo_with
from tests.fakes import Said
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.server.access.key_ring import KEYS_VARIABLE

KEY = "open-sesame"
ASKED = "What's the weather in Paris tomorrow?"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Which keeps its calls, and is killed at the end."""
    folder = tmp_path_factory.mktemp("monitor")
    options = ("--config", demo_with(folder, "records: {keep: transcripts}\n"), "--profile", "embedded")
    with running_server(folder, *options, environment={KEYS_VARIABLE: KEY}, exit_code=-signal.SIGKILL) as running:
        yield running
        running.process.kill()


@pytest.mark.browser
@IN_BOTH
async def test_an_operator_sees_the_server_and_a_call_and_ends_it(server: ServerProcess, said: Said, name: str) -> None:
    browser = installed(name, "axe-core")
    shots = os.environ.get("VOICEAGENT_SCREENSHOTS", "-")
    death = "SIGKILL" if name == list(COMMANDS)[-1] else "SIGSTOP"
    caller = Caller(server.url, token=KEY)
    async with caller, Dialogue(caller) as dialogue:
        await dialogue.wait_greeting()
        call = caller.location.rpartition("/")[2]
        # It looks at errors until there is a turn to be seen.
        looking = asyncio.create_task(browser.seen("monitor.mjs", server.url, str(server.process.pid), death, KEY, call, shots))
        try:
            await dialogue.turn(ASKED, *await said(ASKED))
        finally:
            seen = await looking
    assert seen["violations"] == []
    assert not [url for url in seen["requests"] if KEY in url]
    shown = seen["shown"]
    assert not shown["problem"]
    assert shown["alerts"], "a busy machine may show some"
    assert not {"EngineDown", "NotReady", "CallsFail"}.intersection(shown["alerts"].split())
    assert "1 of 16" in shown["places"]
    assert call.removeprefix("rtc_")[:8] in shown["calls"]
    assert "ms" in shown["calls"]
    assert re.search(r"of [12] turns", shown["budget"]), "one by each browser"
    assert re.search(r"voice_to_voice [12] ", shown["stages"])
    assert shown["address"] == f"/monitor#call={call}"
    assert "Paris" in shown["call events"]
    assert "Caller → agent" in shown["call turns"]
    assert "webrtc" in shown["call call-facts"]
    assert set(shown["tools"]) == {"tool.started", "tool.ended"}
    found, first = shown["found"]
    assert " of " in found
    assert "paris" in json.dumps(first).lower()
    assert "What you see is from before" in shown["lost"]
    assert not shown.get("problemAfterwards")
    assert "being ended" in shown["done"]
    assert "hangup" in shown["ended"]
    assert shown["nobody"]
    assert (shown["again"][0], shown["again"][-1]) == ("call.ended", "call.started")
