"""A reader who knows a room finds its tests: they stand in the folder of its name."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHOLE = frozenset(
    ["attacks", "bench", "browser", "calls", "deploy", "docs", "fuzz", "packaging", "people", "real", "sdks", "vllm"]
)
"""Folders of tests of more than a room: whole calls, other programs, recordings of people, the repository itself."""


def folders(parent: str) -> set[str]:
    return {path.parent.name for path in (ROOT / parent).glob("*/__init__.py")}


def test_every_room_has_a_folder_of_tests_of_its_name() -> None:
    assert folders("tests") - WHOLE == folders("voiceagent")
