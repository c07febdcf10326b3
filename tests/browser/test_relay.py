"""A call from a network that lets nothing through but a TURN server: real Chromium, real coturn, a real server."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from tests.browser.test_page import HERE, chromium
from tests.certificates import write_certificate
from tests.server_process import running_server
from tests.turn_relay import SECRET, turn_server


@pytest.mark.browser
@pytest.mark.parametrize(("url", "protocol"), [("turn:{}:{}?transport=tcp", "tcp"), ("turns:{}:{}?transport=tcp", "tls")])
async def test_the_page_calls_through_the_turn_server_that_it_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, protocol: str
) -> None:
    browser = chromium()
    options = ("--allow-loopback-peers", "--allowed-peer-ip=0.0.0.0-255.255.255.255")
    async with turn_server(*options, certificate=write_certificate(tmp_path)) as address:
        monkeypatch.setenv("VOICEAGENT_ICE_URLS", url.format(*address))
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
    assert (carried["local"], carried["protocol"]) == ("relay", protocol)
    assert carried["transports"] == 1, "a relay's ports are bounded, and the answer closes all but one"
