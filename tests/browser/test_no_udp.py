"""A call from a network that lets no UDP through, in real Chromium: it goes over the WebSocket, and the page says so."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.browser.test_page import LOUD, heard_by_chromium, speech


@pytest.mark.browser
def test_the_page_calls_over_the_websocket_where_udp_is_blocked(tmp_path: Path) -> None:
    script = (4.0, "What's the weather in Paris tomorrow?", 9.0, "What can you do?", 3.0, "Stop.", 30.0)
    seen = heard_by_chromium("no-udp.mjs", asyncio.run(speech(script)), tmp_path)
    assert "over a WebSocket" in seen["afterWaiting"]
    assert "over a WebSocket" in seen["note"]
    assert seen["caller"][0] == "What's the weather in Paris tomorrow?"
    assert seen["loudest"] > LOUD
    assert seen["cut"]
    assert {"listening", "hearing", "speaking"} <= set(seen["statuses"])
