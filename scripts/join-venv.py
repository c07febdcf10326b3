"""Lets the virtual environment that runs this see the packages of another one, behind its own:
join-venv.py OTHER/bin/python."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

NAME = "zz-other-environment.pth"


def main(python: str) -> None:
    """Write the file that Python reads at its start."""
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    other = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    ours = Path(sysconfig.get_path("purelib"))
    (ours / NAME).write_text(f"import site; site.addsitedir({other!r})\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
