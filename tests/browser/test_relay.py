"""A call from a network that lets nothing through but a TURN server: real Chromium, real coturn, a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.browsers import installed
from tests.certificates import write_certificate
from tests.server_process import running_server
from tests.turn_relay import SECRET, turn_server

PROTOCOLS = {"turn": "tcp", "turns": "tls"}


@pytest.mark.browser
async def test_the_page_calls_through_the_turn_server_that_it_is_told_of(tmp_path: Path) -> None:
    browser = installed("chromium")
    options = ("--allow-loopback-peers", "--allowed-peer-ip=0.0.0.0-255.255.255.255")
    async with turn_server(*options, certificate=write_certificate(tmp_path)) as (host, port):
        urls = ",".join(f"{scheme}:{host}:{port}?transport=tcp" for scheme in PROTOCOLS)
        with running_server(tmp_path, environment={"VOICEAGENT_ICE_URLS": urls, "VOICEAGENT_TURN_SECRET": SECRET}) as server:
            seen = await browser.seen("relay.mjs", server.url, *PROTOCOLS)
    assert [(call["local"], call["protocol"]) for call in seen["calls"]] == [("relay", known) for known in PROTOCOLS.values()]
    assert [call["transports"] for call in seen["calls"]] == [1, 1], "a relay's ports are bounded: the answer closes all but one"
