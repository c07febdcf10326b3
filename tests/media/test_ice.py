"""What callers are told of STUN and TURN servers, and that a real coturn with the shipped configuration takes it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from aioice import stun, turn

from tests.turn_relay import SECRET, turn_server
from voiceagent.errors import ConfigError
from voiceagent.media.webrtc.ice import NO_ICE_SERVERS, IceServers, IceSettings


def servers(*urls: str, environment: dict[str, str] | None = None) -> IceServers:
    return IceServers.from_settings(IceSettings(urls=urls), environment or {"VOICEAGENT_TURN_SECRET": SECRET})


def test_nothing_is_told_unless_configured() -> None:
    assert NO_ICE_SERVERS.for_caller("a", 0) == []
    assert servers().for_caller("a", 0) == []


def test_a_credential_is_the_hash_of_its_expiry() -> None:
    named = servers("stun:a.example", "turn:a.example:3478?transport=udp", "turns:a.example")
    stun_server, turn_server = named.for_caller("x", 1000)
    assert stun_server == {"urls": ["stun:a.example"]}
    assert turn_server == {
        "urls": ["turn:a.example:3478?transport=udp", "turns:a.example"],
        "username": "8200:x",
        "credential": "aUNZON9jmQhfNVKopP3KQc+yr38=",
    }


def test_the_environment_goes_before_the_file() -> None:
    found = servers("stun:a.example", environment={"VOICEAGENT_ICE_URLS": "stun:b.example, stun:[::1]:3478"})
    assert found.for_caller("x", 0) == [{"urls": ["stun:b.example", "stun:[::1]:3478"]}]


@pytest.mark.parametrize(
    ("url", "environment", "said"),
    [
        ("http://a.example", {}, "http://a.example"),
        ("turn:a.example?transport=carrier-pigeon", {}, "is no STUN or TURN URL"),
        ("turn:a.example", {}, r"\$VOICEAGENT_TURN_SECRET"),
    ],
)
def test_what_cannot_work_is_refused(url: str, environment: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        servers(url, environment={"other": "x", **environment})


@pytest.fixture
async def coturn() -> AsyncIterator[tuple[str, int]]:
    async with turn_server() as address:
        yield address


async def allocate(address: tuple[str, int], server: dict[str, Any]) -> Any:
    """Take a relay, over TCP."""
    async with asyncio.timeout(20):
        relay, _ = await turn.create_turn_endpoint(
            asyncio.DatagramProtocol,
            server_addr=address,
            username=server["username"],
            password=server["credential"],
            transport="tcp",
        )
    return relay


def of_coturn(address: tuple[str, int], now_s: float) -> dict[str, Any]:
    """What a caller is told at a time."""
    (server,) = servers(f"turn:{address[0]}:{address[1]}").for_caller("caller", now_s)
    return server


async def test_coturn_gives_a_relay_for_a_credential_of_ours_and_none_for_another(coturn: tuple[str, int]) -> None:
    now = of_coturn(coturn, time.time())
    relay = await allocate(coturn, now)
    assert relay.get_extra_info("sockname")[0] == "127.0.0.1"
    relay.close()
    for wrong in ({**now, "credential": "guessed"}, of_coturn(coturn, time.time() - 8000)):
        with pytest.raises(stun.TransactionFailed, match="401"):
            await allocate(coturn, wrong)


@pytest.mark.parametrize(
    ("peer", "allowed"), [("172.30.40.7", True), ("172.30.41.7", False), ("10.0.0.1", False), ("127.0.0.1", False)]
)
async def test_a_relay_reaches_the_agents_network_and_nothing_else(coturn: tuple[str, int], peer: str, allowed: bool) -> None:
    relay = await allocate(coturn, of_coturn(coturn, time.time()))
    client = relay._TurnTransport__inner_protocol
    if allowed:
        await client.channel_bind(0x4000, (peer, 9))
    else:
        with pytest.raises(stun.TransactionFailed, match="403"):
            await client.channel_bind(0x4000, (peer, 9))
    relay.close()
