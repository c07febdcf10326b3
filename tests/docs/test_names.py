"""A name stands for one thing: no public class name twice, and no file name twice within a room."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "voiceagent"
ON_BOTH_SIDES = {"SpeechStarted", "NotUnderstood"}
"""Events of the turn engine that clients get under the same name."""


def twice(found: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: places for name, places in found.items() if len(places) > 1}


def test_no_public_class_name_is_used_twice() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and node.name not in ON_BOTH_SIDES:
                found[node.name].append(str(path.relative_to(PACKAGE)))
    assert not twice(found)


def test_no_file_name_is_used_twice_in_a_room() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.glob("*/**/*.py")):
        if path.name != "__init__.py":
            room = path.relative_to(PACKAGE).parts[0]
            found[f"{room}: {path.name}"].append(str(path.relative_to(PACKAGE)))
    assert not twice(found)
