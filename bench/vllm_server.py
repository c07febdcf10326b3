"""A real `vllm serve` in a process of its own, on a free port of loopback, for the tests and the benchmark of what talks to vLLM.
It runs in the environment of this interpreter; `scripts/install-vllm.sh` makes one with vLLM for CPUs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from voiceagent.resources import bundled_models_dir

READY = "Application startup complete"
MODEL = "micro-lm"
CONTEXT_TOKENS = 4096
BLOCK_TOKENS = 32
CPU_ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",  # two threads on a busy machine wait for each other: 90 ms a token instead of 6
}
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1", "VLLM_LOGGING_COLOR": "0"}
CPU_OPTIONS = ("--dtype", "float32", "--enforce-eager", "--block-size", str(BLOCK_TOKENS))
OPTIONS = (
    *("--served-model-name", MODEL),
    *("--max-model-len", str(CONTEXT_TOKENS)),
    *("--max-num-batched-tokens", "512"),
    *("--scheduling-policy", "priority"),
    *("--enable-auto-tool-choice", "--tool-call-parser", "hermes"),
    *("--enable-prefix-caching", "--enable-prompt-tokens-details"),
    "--disable-access-log-for-endpoints=/metrics",
)
"""A prefill that has begun is not interrupted: with few tokens a step, a barge-in does not wait for it."""


def installed() -> bool:
    """True if this interpreter has vLLM."""
    return importlib.util.find_spec("vllm") is not None


@dataclass(frozen=True, slots=True)
class VllmServer:
    """A running server."""

    root: str
    """Such as http://127.0.0.1:8000."""
    process: subprocess.Popen[str]

    @property
    def base_url(self) -> str:
        """The URL of its OpenAI-compatible API."""
        return f"{self.root}/v1"

    def metrics(self) -> Mapping[str, float]:
        """Its metrics by name, summed over labels."""
        with urllib.request.urlopen(f"{self.root}/metrics", timeout=10) as answer:
            return read_metrics(answer.read().decode())


def read_metrics(text: str) -> dict[str, float]:
    """Prometheus' text format as sums by name."""
    sums: dict[str, float] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            name = name.partition("{")[0]
            sums[name] = sums.get(name, 0.0) + float(value)
    return sums


@contextmanager
def serving(log: Path, *options: str, model: Path | None = None, cpu: bool = True, port: int = 0) -> Iterator[VllmServer]:
    """Serve a model's folder (the bundled one) until the block ends, on a free port where none is given, logging to `log`.
    Raises RuntimeError when it ends before it is ready: that takes it 25 to 70 seconds."""
    folder = model or bundled_models_dir() / "lm" / "safetensors"
    port = port or free_port()
    command = [
        sys.executable,
        "-m",
        "vllm.entrypoints.cli.main",
        "serve",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    command = [*_nice(), *command, *OPTIONS, *(CPU_OPTIONS if cpu else ()), *options]
    environment = {**os.environ, **QUIET, **(CPU_ENVIRONMENT if cpu else {}), "PYTHONUNBUFFERED": "1"}
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        _wait_ready(process, log, port)
        yield VllmServer(f"http://127.0.0.1:{port}", process)
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def free_port() -> int:
    """A port of loopback that nobody listens at."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port: int = reserved.getsockname()[1]
        return port


def _nice() -> list[str]:
    return ["nice", "-n", "10"] if shutil.which("nice") else []


def _wait_ready(process: subprocess.Popen[str], log: Path, port: int) -> None:
    """Follow the log until the server is ready, then wait until it listens: it says that it is ready a moment before."""
    with subprocess.Popen(
        ["tail", "-n", "+1", "-f", f"--pid={process.pid}", str(log)], stdout=subprocess.PIPE, text=True
    ) as tail:
        assert tail.stdout is not None
        for line in tail.stdout:
            if READY in line:
                tail.terminate()
                while process.poll() is None:
                    with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                        return
                    time.sleep(0.02)
    raise RuntimeError(f"vLLM did not start: {log.read_text(encoding='utf-8')[-4000:]}")
