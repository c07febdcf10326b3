"""A real Redis, Debian's, for the time of the tests: in a folder of its own, on loopback, with a password, with TLS on a second
port."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.certificates import write_certificate
from tests.programs import program
from voiceagent.store.redis_connection import RedisAddress, RedisConnection

PASSWORD = "planted-events-password"


@dataclass
class RedisServer:
    """A running server."""

    command: str
    folder: Path
    port: int
    tls_port: int
    certificate: Path
    key: Path
    _process: subprocess.Popen[str] | None = field(default=None)

    @property
    def address(self) -> RedisAddress:
        return RedisAddress(f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0")

    @property
    def tls_address(self) -> RedisAddress:
        return RedisAddress(f"rediss://:{PASSWORD}@127.0.0.1:{self.tls_port}/0?ssl_ca_certs={self.certificate}")

    def emptied(self) -> RedisAddress:
        """Its address; nothing is kept there."""
        connection = RedisConnection(self.address)
        connection.run("FLUSHALL")
        connection.close()
        return self.address

    def start(self, *more: str) -> None:
        """Begin, with what was kept, and more options."""
        kept = ("--dir", str(self.folder), "--save", "", "--appendonly", "yes", "--appendfsync", "always")
        tls = ("--tls-port", str(self.tls_port), "--tls-cert-file", str(self.certificate), "--tls-key-file", str(self.key))
        options = ("--bind", "127.0.0.1", "--port", str(self.port), "--requirepass", PASSWORD, "--tls-auth-clients", "no")
        command = [self.command, *options, *kept, *tls, *more]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if "Ready to accept connections tls" in line or line.rstrip().endswith("Ready to accept connections"):
                return
        raise AssertionError("".join(said))

    def stop(self) -> None:
        """Kill it. What it has acknowledged is kept: it wrote that to the disk before it answered."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process = None


@contextmanager
def redis_server() -> Iterator[RedisServer]:
    """Start one. Where it is not installed the test is skipped, visibly; in CI it fails."""
    command = program("redis-server", "redis-server")
    folder = Path(tempfile.mkdtemp(prefix="redis-"))
    try:
        server = RedisServer(command, folder, free_port(), free_port(), *write_certificate(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
