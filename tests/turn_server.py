"""A real coturn on loopback, with the configuration that docker-compose.yml gives it."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.programs import program

CONFIGURATION = Path(__file__).resolve().parents[1] / "deploy" / "coturn" / "turnserver.conf"
SECRET = "north"


@asynccontextmanager
async def turn_server(*options: str) -> AsyncIterator[tuple[str, int]]:
    """Its address and port, once it listens; further `options` go before the configuration."""
    turnserver = program("turnserver", "coturn")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        turnserver,
        *("-c", str(CONFIGURATION), f"--static-auth-secret={SECRET}", f"--listening-port={port}", "--pidfile="),
        *("--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", *options),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await _listening(port)
        yield "127.0.0.1", port
    finally:
        process.terminate()
        await process.wait()


async def _listening(port: int) -> None:
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
