"""Programs that tests need and that are no Python packages."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest


def program(name: str, package: str, *folders: Path) -> str:
    """The path of a program, which may lie in folders beside those that the shell searches. Where it is missing the test is
    skipped, visibly; in CI it fails."""
    found = shutil.which(name, path=os.pathsep.join((os.environ.get("PATH", os.defpath), *map(str, folders))))
    if found is None:
        reason = f"not installed: {name} (Debian: apt-get install {package})"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found
