"""Calls through the first process of `voiceagent serve --workers 2` by HTTPS: vendors' webhooks, the streams behind them,
and a WebSocket of OpenAI's protocol."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from tests.certificates import write_certificate
from tests.fakes import Said, Words
from tests.server.test_tls import trusting
from tests.server_process import running_server
from tests.telephone.peers import Peer, environment
from tests.telephone.test_telephone_calls import AGENT, WEATHER, spoken
from voiceagent.resources import demo_agent_file

VENDORS = ("twilio", "vonage", "telnyx")


async def greeted(peer: Peer) -> None:
    await peer.wait(lambda: bool(peer.heard) and peer.is_quiet(0.6))


async def answered(peer: Peer, said: Said, words: Words) -> str:
    """What the caller hears to a question."""
    asked_s = asyncio.get_running_loop().time()
    peer.say(await spoken(said, WEATHER, peer))
    await peer.wait(lambda: peer.heard[-1][0] > asked_s and peer.is_quiet(1.0))
    return await words(peer.heard_pcm(asked_s), peer.rate_hz)


async def test_calls_come_through_the_front_by_webhook_and_by_websocket(tmp_path: Path, said: Said, words: Words) -> None:
    certificate, key = write_certificate(tmp_path)
    (tmp_path / "agent.yaml").write_text(AGENT)
    (tmp_path / "tools.py").write_text((demo_agent_file().parent / "tools.py").read_text())
    options = ("--config", str(tmp_path / "agent.yaml"), "--workers", "2", "--tls-cert", str(certificate), "--tls-key", str(key))
    with running_server(tmp_path, *options, environment=environment()) as server:
        assert server.url.startswith("https://")
        trust = aiohttp.TCPConnector(ssl=trusting(certificate))
        async with aiohttp.ClientSession(connector=trust) as session, AsyncExitStack() as stack:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                async with aiohttp.ClientSession() as stranger:
                    await stranger.get(f"{server.url}/readyz")
            peers = [Peer(session, server.url, vendor, patience_s=30.0) for vendor in VENDORS]
            for peer in peers:
                await stack.enter_async_context(peer)
            await asyncio.gather(*map(greeted, peers))
            assert "degrees" in (await answered(peers[0], said, words)).lower()
            by_socket = await session.ws_connect(server.url.replace("http", "ws", 1) + "/v1/realtime")
            assert (await by_socket.receive_json(timeout=30))["type"] == "session.created"
            await by_socket.close()
