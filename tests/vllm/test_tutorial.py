"""The tutorial about vLLM, followed to the letter, on the build for CPUs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT
from tests.tutorials import reader


def test_who_follows_the_page_about_vllm_sees_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / ".cache").mkdir(parents=True)
    (home / ".cache" / "voiceagent-vllm").symlink_to(Path(sys.executable).parents[1])
    monkeypatch.setenv("HOME", str(home))
    with reader(tmp_path / "home") as follows:
        follows.follow(ROOT / "docs" / "tutorials" / "vllm.md")
