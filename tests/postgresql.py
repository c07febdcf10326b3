"""A real PostgreSQL, Debian's, for the time of the tests: run by a user without rights, in a folder of its own, on loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg

from tests.programs import program
from voiceagent.store.database import StoreAddress

USER, PASSWORD = "voice", "planted-store-password"
NOBODY = "nobody"
STARTED_S, STOPPED_S = 30, 30


@dataclass
class PostgreSql:
    """A running server."""

    folder: Path
    bin: Path
    port: int
    _number: Iterator[int] = field(default_factory=lambda: count(1))

    def url(self, database: str) -> str:
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def new_store(self, data: Path) -> StoreAddress:
        """A database without tables."""
        name = f"store_{next(self._number)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return StoreAddress(data / "none.sqlite3", self.url(name))

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=off"
        self._control("start", "-w", "-t", str(STARTED_S), "-l", str(self.folder / "log"), "-o", options)

    def stop(self) -> None:
        self._control("stop", "-w", "-t", str(STOPPED_S), "-m", "immediate")

    def kill(self) -> None:
        """End it with no time for anything."""
        os.kill(int((self.folder / "data" / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)

    def promote(self) -> None:
        """Make a standby the primary."""
        self._control("promote", "-w", "-t", str(STARTED_S))

    @contextmanager
    def standby(self) -> Iterator[PostgreSql]:
        """One that follows this server, which acknowledges nothing any more before the other has it."""
        folder = _folder("standby-")
        try:
            follower = PostgreSql(folder, self.bin, _free_port())
            copied = ("-d", self.url("postgres"), "-D", str(folder / "data"), "-R", "--no-sync", "--checkpoint=fast")
            _run([str(self.bin / "pg_basebackup"), *copied])
            follower.start()
            try:
                with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
                    connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
                    connection.execute("SELECT pg_reload_conf()")
                yield follower
            finally:
                follower.stop()
        finally:
            shutil.rmtree(folder)

    def _control(self, *arguments: str) -> None:
        _run([str(self.bin / "pg_ctl"), "-D", str(self.folder / "data"), *arguments])


@contextmanager
def postgresql() -> Iterator[PostgreSql]:
    """Start one. Where it is not installed the test is skipped, visibly; in CI it fails."""
    found = Path(program("initdb", "postgresql", *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True))).resolve()
    folder = _folder("postgresql-")
    try:
        (folder / "password").write_text(PASSWORD)
        secured = ("--auth=scram-sha-256", f"--pwfile={folder / 'password'}", "--no-sync", "--encoding=UTF8", "--locale=C")
        _run([str(found), "-D", str(folder / "data"), "-U", USER, *secured])
        server = PostgreSql(folder, found.parent, _free_port())
        server.start()
        try:
            yield server
        finally:
            with suppress(AssertionError):  # a test has killed it
                server.stop()
    finally:
        shutil.rmtree(folder)


def _folder(prefix: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    if os.getuid() == 0:
        shutil.chown(folder, NOBODY)
    return folder


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _run(command: list[str]) -> None:
    """As a user without rights: PostgreSQL refuses to run as root."""
    user = pwd.getpwnam(NOBODY).pw_uid if os.getuid() == 0 else None
    done = subprocess.run(command, user=user, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout.decode()
