"""Pipecat's own virtual environment: made once from the pinned requirements, kept outside the checkout, made anew when they
change."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from voiceagent.errors import VoiceAgentError

REQUIREMENTS = Path(__file__).resolve().parent / "requirements.txt"
INSTALL_TIMEOUT_S = 1800


class EnvironmentFailure(VoiceAgentError):
    """The peer's environment could not be made."""


def pipecat_version() -> str:
    """The pinned version."""
    found = re.search(r"^pipecat-ai\S*==(\S+)", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise EnvironmentFailure(f"{REQUIREMENTS}: names no version of pipecat-ai; expected pipecat-ai[…]==VERSION")
    return found[1]


def pipecat_python() -> Path:
    """The environment's interpreter; takes a minute, 950 MB and a package index the first time. Raises EnvironmentFailure with
    pip's last lines."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "voiceagent-bench"
    folder = cache / f"pipecat-{pipecat_version()}"
    python, stamp = folder / "bin" / "python", folder / ".requirements"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"making {folder} (about a minute and 950 MB)", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(folder))
    _run(str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check", "-r", str(REQUIREMENTS))
    stamp.write_text(wanted, encoding="utf-8")
    return python


def _run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailure(f"{command[-1]}: not installed after {INSTALL_TIMEOUT_S} s; try again") from error
    if done.returncode:
        raise EnvironmentFailure(f"{' '.join(command[1:5])} … failed; its output ends: {(done.stdout + done.stderr)[-800:]}")
