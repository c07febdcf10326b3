"""A call from a network that lets nothing through but a TURN server: real Chromium, real coturn, a real server."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.browser.test_page import HERE, chromium
from tests.server_process import running_server
from tests.turn_relay import SECRET, turn_server


@pytest.mark.browser
async def test_the_page_calls_through_the_turn_server_that_it_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = chromium()
    async with turn_server("--allow-loopback-peers", "--allowed-peer-ip=0.0.0.0-255.255.255.255") as (host, port):
        monkeypatch.setenv("VOICEAGENT_ICE_URLS", f"turn:{host}:{port}?transport=tcp")
        monkeypatch.setenv("VOICEAGENT_TURN_SECRET", SECRET)
        with running_server(tmp_path) as server:
            driven = await asyncio.create_subprocess_exec(
                *("node", str(HERE / "relay.mjs"), server.url),
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "CHROMIUM": browser},
            )
            out, _ = await asyncio.wait_for(driven.communicate(), 90)
    assert driven.returncode == 0
    carried = json.loads(out)
    assert carried["local"] == "relay"
    why = "the browser asks the relay for ports that the answer closes, and a caller's number of ports is bounded"
    assert carried["transports"] == 1, why
