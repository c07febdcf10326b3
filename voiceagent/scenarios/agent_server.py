"""The agent under test, served by a process of its own on a free port of loopback, with an empty data folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from voiceagent.errors import ConfigError
from voiceagent.redaction import redacted

START_S, STOP_S = 300.0, 15.0
"""The longest time that a server takes to load its models, and to stop."""
OURS = ("VOICEAGENT_KEYS", "VOICEAGENT_OPERATOR_KEYS", "VOICEAGENT_MONITOR_KEYS", "VOICEAGENT_STORE", "VOICEAGENT_EVENTS")
"""Variables of a server at work, which a test has no business with."""


@contextmanager
def served(agent: Path | None, profile: str, *more: str) -> Iterator[str]:
    """The server's URL, while it runs; of the demo agent where none is named. `more` are further options of `serve`. Raises
    ConfigError if it does not start."""
    options = [*more, *(["--config", str(agent)] if agent else []), *(["--profile", profile] if profile else [])]
    with tempfile.TemporaryDirectory(prefix="voiceagent-eval-") as data:
        environment = {name: value for name, value in os.environ.items() if name not in OURS}
        environment |= {"VOICEAGENT_DATA": data, "PYTHONUNBUFFERED": "1"}
        log = Path(data) / "server.log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "voiceagent", "serve", "--port", "0", *options],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
            )
            patience = threading.Timer(START_S, process.kill)
            try:
                patience.start()
                url = _url(process, log)
                patience.cancel()
                yield url
            finally:
                patience.cancel()
                process.terminate()
                try:
                    process.wait(STOP_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                if process.stdout is not None:
                    process.stdout.close()


def _url(process: subprocess.Popen[str], log: Path) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"answers at (https?://\S+)", line):
            return found[1]
    process.wait(STOP_S)
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise ConfigError(redacted(f"the agent did not start: {said[-1].removeprefix('error: ') if said else 'it said nothing'}"))
