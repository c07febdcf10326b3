"""Runs a page of docs/tutorials as its reader would: writes its files, runs its commands in order, compares what they print.

A block whose first line is a comment with a path, or whose title is a path, is a file. A block of `sh` is run in a shell; where
its last command is a server, it runs until the page is over or another `voiceagent serve` begins. A block of `text` behind it is
what must be seen: its lines in order, `…` for anything. `voiceagent` listens and calls at a free port in place of 8080."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.vllm_server import free_port
from tests.docs.blocks import ROOT, Block, blocks_of

SKIPPED = "needs a GPU"
"""The title of a block that is not run here."""
READY = "answers at http"
PATIENCE_S = 180
SHIM = """#!/bin/sh
case "$1" in
  serve) shift; exec "$PYTHON" -m voiceagent serve --port "$PORT" "$@" ;;
  call) shift; exec "$PYTHON" -m voiceagent call --url "http://127.0.0.1:$PORT" "$@" ;;
  *) exec "$PYTHON" -m voiceagent "$@" ;;
esac
"""


@dataclass
class Reader:
    """Follows a page in a folder of its own."""

    folder: Path
    ports: dict[int, int]
    """What stands on the page, and what is used for it."""
    seen: str = ""
    servers: list[tuple[str, subprocess.Popen[str]]] = field(default_factory=list)
    """Their commands, and their processes."""
    environment: dict[str, str] = field(default_factory=dict)

    def text(self, block: Block) -> str:
        text = block.text
        for written, used in self.ports.items():
            text = text.replace(f"127.0.0.1:{written}", f"127.0.0.1:{used}").replace(f"--port {written}", f"--port {used}")
        return text

    def follow(self, page: Path) -> None:
        for block in blocks_of(page):
            if block.title == SKIPPED:
                continue
            if block.language == "text":
                assert matches(self.text(block), self.seen), f"{block}: expected\n{self.text(block)}\nand saw\n{self.seen}"
            elif block.language == "sh":
                self.run(block)
            elif block.file:
                file = self.folder / block.file
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(self.text(block) + "\n", encoding="utf-8")
            else:
                raise AssertionError(f"{block}: neither a file nor commands nor what is seen")

    def run(self, block: Block) -> None:
        text = self.text(block)
        # What is exported stays for the commands that follow, as in the reader's terminal.
        for name, value in re.findall(r"(\w+)=(\S+)", " ".join(re.findall(r"^export (.*)$", text, re.MULTILINE))):
            self.environment[name] = value.replace("$PWD", str(self.folder))
        ready = block.title.removeprefix("server: ") if block.title.startswith("server: ") else ""
        if re.search(r"^voiceagent serve", text, re.MULTILINE):
            ready = READY
            self.stop("voiceagent serve")
        if not ready:
            ended = subprocess.run(
                ["bash", "-ec", text],
                cwd=self.folder,
                env=self._env(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
            self.seen = ended.stdout
            assert ended.returncode == 0, f"{block}: exit code {ended.returncode}\n{self.seen}\n{self.log()}"
            return
        log = self.folder / f"server-{len(self.servers)}.log"
        with log.open("w") as out:
            server = subprocess.Popen(
                ["bash", "-ec", re.sub(r"^(\S*(?:voiceagent|vllm) serve)", r"exec \1", text, flags=re.MULTILINE)],
                cwd=self.folder,
                env=self._env(),
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
            )
        self.servers.append((text, server))
        until = time.monotonic() + PATIENCE_S
        while ready not in log.read_text():
            assert server.poll() is None, f"{block}: the server ended\n{log.read_text()}"
            assert time.monotonic() < until, f"{block}: the server is not ready\n{log.read_text()}"
            time.sleep(0.1)
        self.seen = log.read_text()

    def _env(self) -> dict[str, str]:
        ours = {
            "PATH": f"{self.folder / '.bin'}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHON": sys.executable,
            "PYTHONPATH": str(ROOT),
            "PYTHONUNBUFFERED": "1",
            "PORT": str(self.ports[8080]),
            "VOICEAGENT_DATA": str(self.folder / "data"),
            "OMP_NUM_THREADS": "1",
        }
        return {**os.environ, **ours, **self.environment}

    def stop(self, which: str = "") -> None:
        """Ends the servers, or those whose command has these words."""
        for command, server in list(self.servers):
            if which in command:
                server.terminate()
                server.wait(30)
                self.servers.remove((command, server))

    def log(self) -> str:
        return "\n".join(file.read_text()[-3000:] for file in self.folder.glob("server-*.log"))


def matches(expected: str, seen: str) -> bool:
    """Whether the lines of `expected` stand in `seen`, in this order; `…` stands for anything."""
    pattern = r"[\s\S]*?".join(
        ("" if line.startswith("…") else "^") + re.escape(line).replace("…", ".*") for line in expected.strip().splitlines()
    )
    return re.search(pattern, seen, re.MULTILINE) is not None


@contextmanager
def reader(folder: Path) -> Iterator[Reader]:
    """Somebody who follows a tutorial in this folder, which has what the checkout has that tutorials name."""
    (folder / ".bin").mkdir()
    shim = folder / ".bin" / "voiceagent"
    shim.write_text(SHIM)
    shim.chmod(0o755)
    for name in ("examples", "models"):
        (folder / name).symlink_to(ROOT / name)
    follows = Reader(folder, {8080: free_port(), 8000: free_port()})
    try:
        yield follows
    finally:
        follows.stop()
