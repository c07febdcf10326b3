"""A Python program in a process that looks like a user's: libraries report nothing to their makers from CI or from tests."""

from __future__ import annotations

import os
import subprocess
import sys

from voiceagent import REPORTS_OFF


def output(program: str, **variables: str) -> str:
    """What the program prints, with these environment variables besides, and without those that voiceagent sets."""
    left_out = {"CI", "PYTEST_CURRENT_TEST", *REPORTS_OFF}
    environment = {name: value for name, value in os.environ.items() if name not in left_out} | variables
    told = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=120
    )
    return told.stdout.strip()
