"""A real MCP server behind an address, for tests that never end it."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "tests.tools.mcp_program")


def free_port() -> int:
    """A port of loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def kitchen_served() -> Iterator[str]:
    """The address of the server."""
    port = free_port()
    process = subprocess.Popen([*COMMAND, str(port)], cwd=ROOT, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert any("Uvicorn running" in line for line in process.stderr)
    drain = threading.Thread(target=process.stderr.read)
    drain.start()
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    drain.join()
    process.wait()
    process.stderr.close()
