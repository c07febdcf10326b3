"""WhisperLiveKit's own virtual environment, in the cache folder: made when it is first asked for (some minutes and 2 GB), from
pinned versions. `bench.stt.peer` runs in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.stt.shapes import CACHE_DIR
from voiceagent.errors import VoiceAgentError

WHISPERLIVEKIT = "0.2.26"
REQUIREMENTS = Path(__file__).with_name("requirements-peer.txt")
ROOT = Path(__file__).resolve().parents[2]


class PeerError(VoiceAgentError):
    """The peer could not be installed or run."""


def interpreter() -> Path:
    """The environment's Python. Raises PeerError when it cannot be made."""
    folder = CACHE_DIR / f"whisperlivekit-{WHISPERLIVEKIT}"
    python, made = folder / "bin" / "python", folder / ".made"
    if not made.is_file():
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        _run([str(python), "-m", "pip", "install", "-qq", "-r", str(REQUIREMENTS)])
        _run([str(python), "-m", "pip", "install", "-qq", "--no-deps", f"whisperlivekit=={WHISPERLIVEKIT}"])
        made.touch()
    return python


def stream(model: Path, utterances: Sequence[NDArray[np.int16]], coalesce_s: float) -> list[dict[str, Any]]:
    """Returns WhisperLiveKit's results for the utterances, mono 16 kHz: `bench.stt.peer.stream`'s answer for each. Raises
    PeerError."""
    python = interpreter()
    with tempfile.TemporaryDirectory() as folder:
        speech, results = Path(folder, "speech.npz"), Path(folder, "results.json")
        np.savez(speech, *utterances)
        _run([str(python), "-m", "bench.stt.peer", str(model), str(speech), str(coalesce_s), str(results)])
        streamed: list[dict[str, Any]] = json.loads(results.read_text(encoding="utf-8"))
    return streamed


def _run(command: list[str]) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise PeerError(f"{' '.join(command[:4])} …: {lines[-1]}; remove {CACHE_DIR} to make the environment anew")
