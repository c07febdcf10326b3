"""Real Redis servers that Redis Sentinel watches: a primary, a replica, and three Sentinels, which promote the replica when the
primary dies. On loopback, in a folder of their own, with passwords."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.programs import program
from tests.redis_server import PASSWORD, free_port
from voiceagent.store.redis_connection import RedisAddress, RedisConnection

NAME = "calls-events"
SENTINEL_PASSWORD = "planted-sentinel-password"
DOWN_AFTER_MS = 1000


@dataclass
class WatchedRedis:
    """The servers, by their ports."""

    command: str
    folder: Path
    primary: int
    replica: int
    sentinels: tuple[int, int, int]
    processes: dict[int, subprocess.Popen[str]]

    @property
    def address(self) -> RedisAddress:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        options = f"sentinelMasterId={NAME}&sentinelPassword={SENTINEL_PASSWORD}"
        return RedisAddress(f"redis-sentinel://:{PASSWORD}@{hosts}/0?{options}")

    def start(self, port: int, *options: str, says: str) -> None:
        """Start a process, and wait until it says so."""
        process = subprocess.Popen(
            [self.command, *options], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
        )
        self.processes[port] = process
        self.said_by(port, says)

    def said_by(self, port: int, words: str) -> None:
        """Wait until a process says this."""
        lines = self.processes[port].stdout
        assert lines is not None
        said = []
        for line in lines:
            said.append(line)
            if words in line:
                return
        raise AssertionError("".join(said))

    def server(self, port: int, *options: str, says: str) -> None:
        """Start a server that keeps all it acknowledges."""
        folder = self.folder / str(port)
        folder.mkdir(exist_ok=True)
        secrets = ("--requirepass", PASSWORD, "--masterauth", PASSWORD)
        kept = ("--dir", str(folder), "--save", "", "--appendonly", "yes", "--repl-diskless-sync-delay", "0")
        self.start(port, "--bind", "127.0.0.1", "--port", str(port), *secrets, *kept, *options, says=says)

    def sentinel(self, port: int) -> None:
        """Start a Sentinel."""
        file = self.folder / f"sentinel-{port}.conf"
        file.write_text(
            f"bind 127.0.0.1\nport {port}\nrequirepass {SENTINEL_PASSWORD}\nsentinel sentinel-pass {SENTINEL_PASSWORD}\n"
            f"sentinel monitor {NAME} 127.0.0.1 {self.primary} 2\nsentinel auth-pass {NAME} {PASSWORD}\n"
            f"sentinel down-after-milliseconds {NAME} {DOWN_AFTER_MS}\nsentinel failover-timeout {NAME} 3000\n"
        )
        self.start(port, str(file), "--sentinel", says="+monitor")

    def kill_the_primary(self) -> None:
        """Kill it. The Sentinels promote the replica."""
        self.processes[self.primary].kill()

    def replace_the_primary(self) -> None:
        """Have the Sentinels promote the replica, while the primary lives and takes what is written."""
        sentinel = self._sentinel(self.sentinels[0])
        sentinel.run("SENTINEL", "FAILOVER", NAME)
        sentinel.close()

    def until_replaced(self) -> None:
        """Wait until the Sentinels name the replica as the primary."""
        sentinel = self._sentinel(self.sentinels[0])
        while sentinel.run("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME) != [b"127.0.0.1", str(self.replica).encode()]:
            pass
        sentinel.close()

    def kill_the_replica(self) -> None:
        """Kill it, with the Sentinels: nobody takes over."""
        for port in (*self.sentinels, self.replica):
            if port != self.sentinels[0]:
                self.processes[port].kill()

    def until_known(self) -> None:
        """Wait until each Sentinel knows the replica and the others: before, none can be elected."""
        for port in self.sentinels:
            sentinel = self._sentinel(port)
            while not self._is_known(sentinel):
                pass
            sentinel.close()

    def _sentinel(self, port: int) -> RedisConnection:
        return RedisConnection(RedisAddress(f"redis://:{SENTINEL_PASSWORD}@127.0.0.1:{port}/0"))

    def _is_known(self, sentinel: RedisConnection) -> bool:
        replicas, others = (sentinel.run("SENTINEL", asked, NAME) for asked in ("REPLICAS", "SENTINELS"))
        assert isinstance(replicas, list)
        assert isinstance(others, list)
        return len(replicas) == 1 and len(others) == 2 and b"disconnected" not in str([*replicas, *others]).encode()


@contextmanager
def watched_redis() -> Iterator[WatchedRedis]:
    """Start all five. Where Redis is not installed the test is skipped, visibly; in CI it fails."""
    command = program("redis-server", "redis-server")
    with ExitStack() as stack:
        folder = Path(tempfile.mkdtemp(prefix="sentinel-"))
        stack.callback(shutil.rmtree, folder)
        primary, replica, *sentinels = (free_port() for _ in range(5))
        watched = WatchedRedis(command, folder, primary, replica, (sentinels[0], sentinels[1], sentinels[2]), {})
        stack.callback(_end, watched.processes)
        watched.server(primary, says="Ready to accept connections")
        watched.server(replica, "--replicaof", f"127.0.0.1 {primary}", says="MASTER <-> REPLICA sync: Finished with success")
        for port in watched.sentinels:
            watched.sentinel(port)
        watched.until_known()
        yield watched


def _end(processes: dict[int, subprocess.Popen[str]]) -> None:
    for process in processes.values():
        process.kill()
        process.communicate()
