"""Whole spoken calls on the page, in real Chromium and real Firefox, against a real server with the bundled models."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.browser.browsers import IN_BOTH, installed, recorded, speech
from tests.server_process import ServerProcess

LINES = ("What's the weather in Paris tomorrow?", "What can you do?", "What time is it in Berlin?", "Stop.")
"""What the caller says. The third interrupts the agent by a sentence: it must be silent while that lasts. The fourth interrupts
it by a word, which is answered as soon as it is over."""
TYPED = "What's the weather in Tokyo tomorrow?"
QUIET, LOUD = 0.003, 0.03
"""Root mean square of full scale."""


@pytest.mark.browser
@IN_BOTH
def test_a_person_speaks_sees_their_words_hears_the_agent_and_interrupts_it(
    tmp_path: Path, demo_server: ServerProcess, name: str
) -> None:
    browser = installed(name)
    files = [recorded(tmp_path / f"{at}.wav", asyncio.run(speech((line,)))) for at, line in enumerate(LINES)]
    seen = browser.sees("spoken.mjs", demo_server.url, *files)
    webrtc, websocket = seen["webrtc"], seen["websocket"]
    *said, stop, typed = webrtc["caller"]
    assert (*said, typed) == (*LINES[:3], TYPED)
    assert websocket["caller"][0] == LINES[0]
    assert (webrtc["note"], websocket["note"]) == (False, True)
    assert (webrtc["tools"][0]["tool"], webrtc["tools"][0]["status"]) == ("get_weather", "completed")
    assert json.loads(webrtc["tools"][0]["arguments"]) == {"city": "Paris", "day": "tomorrow"}
    assert "Paris" in webrtc["agent"][1]
    assert webrtc["turns"] >= 5
    assert (len(webrtc["cut"]), len(websocket["cut"])) == (2, 1)
    for call, last in ((webrtc, stop), (websocket, websocket["caller"][1])):
        assert last.strip(".").lower() == "stop"
        assert all(call["cut"])
        assert call["partials"] > 0
        assert call["playing"]
        assert {"listening", "hearing", "speaking"} <= set(call["statuses"])
        assert max(level for _, level in call["levels"]) > LOUD
    until = min(webrtc["cutAt"] + 350, webrtc["nextAt"])
    after_cut = [level for at, level in webrtc["levels"] if webrtc["cutAt"] + 100 < at < until]
    assert after_cut
    assert max(after_cut) < QUIET


@pytest.mark.browser
def test_the_page_calls_over_the_websocket_where_udp_goes_nowhere(demo_server: ServerProcess) -> None:
    assert "over a WebSocket" in installed("chromium").sees("no-udp.mjs", demo_server.url)["note"]
