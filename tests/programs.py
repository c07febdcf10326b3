"""Programs that tests need and that are no Python packages."""

from __future__ import annotations

import os
import shutil

import pytest


def program(name: str, package: str) -> str:
    """The path of a program. Where it is missing the test is skipped, visibly; in CI it fails."""
    found = shutil.which(name)
    if found is None:
        reason = f"not installed: {name} (Debian: apt-get install {package})"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found
