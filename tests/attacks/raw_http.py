"""HTTP without a client library: requests that no library would send, on sockets that the test holds."""

from __future__ import annotations

import asyncio
import os
import re
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from tests.server_process import ServerProcess, running_server


@contextmanager
def guarded_server(
    data: Path, *options: str, keys: str = "secret", descriptors: int = 1024, exit_code: int = 0
) -> Iterator[ServerProcess]:
    """A server with these keys and so many descriptors, as most systems give a process by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = os.environ.get("VOICEAGENT_KEYS")
    os.environ["VOICEAGENT_KEYS"] = keys
    resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard))
    server = running_server(data, *options, exit_code=exit_code)
    try:
        running = server.__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        os.environ.pop("VOICEAGENT_KEYS")
        if before is not None:
            os.environ["VOICEAGENT_KEYS"] = before
    try:
        yield running
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        server.__exit__(None, None, None)


def address_of(url: str) -> tuple[str, int]:
    """Host and port of a URL."""
    parts = urlsplit(url)
    return str(parts.hostname), int(parts.port or 80)


def connected(url: str, sent: bytes = b"", *, receive_bytes: int | None = None) -> socket.socket:
    """A connection on which so much was sent. With `receive_bytes` its receive buffer is that small."""
    made = socket.socket()
    if receive_bytes is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    made.settimeout(10)
    made.connect(address_of(url))
    made.sendall(sent)
    made.setblocking(False)
    return made


def is_open(connection: socket.socket) -> bool:
    """False once the server has closed it. Reads what has come."""
    try:
        while connection.recv(65_536):
            continue
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


async def exchange(url: str, request: bytes, timeout_s: float = 20.0) -> tuple[bytes, float]:
    """The answer, or what came of it until the server closed, and how long that took in ms."""
    began_s = time.perf_counter()
    reader, writer = await asyncio.open_connection(*address_of(url))
    try:
        async with asyncio.timeout(timeout_s):
            writer.write(request)
            answer = await _answer(reader)
            with suppress(ConnectionError):
                await writer.drain()  # all that can be sent, also after a refusal
    finally:
        writer.close()
    return answer, (time.perf_counter() - began_s) * 1000


async def _answer(reader: asyncio.StreamReader) -> bytes:
    answer = b""
    while part := await reader.read(65_536):
        answer += part
        head, between, body = answer.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        if between and length and len(body) >= int(length[1]):
            break
    return answer


async def readiness(url: str) -> tuple[bytes, float]:
    """The answer of `/readyz` on a new connection, and how long it took in ms."""
    return await exchange(url, f"GET /readyz HTTP/1.1\r\nHost: {':'.join(map(str, address_of(url)))}\r\n\r\n".encode())
