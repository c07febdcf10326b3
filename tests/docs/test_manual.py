"""The manual pages and the table of commands are as the commands are, and readers of manual pages take them."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from voiceagent.cli.command_table import FILE
from voiceagent.cli.manual import PAGES, pages, table

AGAIN = "run: python -m voiceagent.cli.manual"


def test_the_manual_pages_are_up_to_date() -> None:
    made = pages()
    assert {file.name for file in PAGES.glob("*.1")} == set(made), AGAIN
    for name, text in made.items():
        assert (PAGES / name).read_text(encoding="utf-8") == text, f"{name}: {AGAIN}"


def test_the_table_of_commands_is_up_to_date() -> None:
    assert FILE.read_bytes() == table(), AGAIN


def test_groff_renders_each_page_without_a_warning() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    for file in sorted(PAGES.glob("*.1")):
        command = ["groff", "-K", "utf8", "-man", "-T", "utf8", "-ww", str(file)]
        run = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "LC_ALL": "C.UTF-8"})
        assert run.stderr == "", file.name
        assert file.stem.upper() in run.stdout
