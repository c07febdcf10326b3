"""What callers are told of STUN and TURN servers, and that a real coturn with the shipped configuration takes it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aioice import stun, turn

from tests.programs import program
from voiceagent.errors import ConfigError
from voiceagent.media.ice import NO_ICE_SERVERS, IceServers, IceSettings

ROOT = Path(__file__).resolve().parents[2]
SECRET = "north"


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
    """A TURN server on loopback, with the configuration that docker-compose gives it."""
    turnserver = program("turnserver", "coturn")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    address = ("--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", f"--listening-port={port}", "--pidfile=")
    process = await asyncio.create_subprocess_exec(
        turnserver,
        *("-c", str(ROOT / "deploy" / "coturn" / "turnserver.conf")),
        *(f"--static-auth-secret={SECRET}", *address),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    await listening(port)
    yield "127.0.0.1", port
    process.terminate()
    await process.wait()


async def listening(port: int) -> None:
    """Wait until a port of loopback takes connections."""
    async with asyncio.timeout(20):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)
                continue
            writer.close()
            return


async def allocate(address: tuple[str, int], username: str, password: str) -> str:
    """Ask for a relay, over TCP; its address."""
    async with asyncio.timeout(20):
        transport, _ = await turn.create_turn_endpoint(
            asyncio.DatagramProtocol, server_addr=address, username=username, password=password, transport="tcp"
        )
    relayed: str = transport.get_extra_info("sockname")[0]
    transport.close()
    return relayed


async def test_coturn_gives_a_relay_for_a_credential_of_ours_and_none_for_another(coturn: tuple[str, int]) -> None:
    (server,) = servers(f"turn:{coturn[0]}:{coturn[1]}").for_caller("caller", time.time())
    assert await allocate(coturn, str(server["username"]), str(server["credential"])) == "127.0.0.1"
    with pytest.raises(stun.TransactionFailed, match="401"):
        await allocate(coturn, str(server["username"]), "guessed")
    (old,) = servers(f"turn:{coturn[0]}:{coturn[1]}").for_caller("caller", time.time() - 8000)
    with pytest.raises(stun.TransactionFailed, match="401"):
        await allocate(coturn, str(old["username"]), str(old["credential"]))
