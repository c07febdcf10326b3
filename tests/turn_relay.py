"""A real coturn on loopback, with the configuration that docker-compose.yml gives it."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.programs import program

COTURN = Path(__file__).resolve().parents[1] / "deploy" / "coturn"
SECRET = "north"


@asynccontextmanager
async def turn_process(
    folder: Path, *options: str, certificate: tuple[Path, Path] | None = None
) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """coturn as its container starts it, with `folder` for what it writes, and its port, once it listens."""
    program("turnserver", "coturn")
    secret = folder / "turn.secret"
    secret.write_text(SECRET)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    files = {"TURN_SECRET_FILE": secret, "TURN_RUN_FOLDER": folder, "TURN_CONFIGURATION": COTURN / "turnserver.conf"}
    if certificate is not None:
        files |= {"TURN_CERTIFICATE": certificate[0], "TURN_KEY": certificate[1]}
    process = await asyncio.create_subprocess_exec(
        *("sh", str(COTURN / "start.sh"), f"--listening-port={port}", "--pidfile=", f"--userdb={folder / 'turndb'}"),
        *("--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", *options),
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, **{name: str(file) for name, file in files.items()}},
    )
    try:
        await _listening(port)
        yield process, port
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def turn_server(*options: str, certificate: tuple[Path, Path] | None = None) -> AsyncIterator[tuple[str, int]]:
    """Its address and port, once it listens; further `options` go before the configuration. With a certificate and its key it
    speaks TLS on that port, too."""
    with TemporaryDirectory() as folder:
        async with turn_process(Path(folder), *options, certificate=certificate) as (_, port):
            yield "127.0.0.1", port


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
