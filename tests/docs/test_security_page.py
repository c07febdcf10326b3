"""docs/security.md: what it says stands for a promise is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_test_that_stands_for_a_promise_is_there() -> None:
    named = set(re.findall(r"`(tests/\S+\.py)`", PAGE))
    assert len(named) > 10
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_every_attack_stands_for_a_promise() -> None:
    attacks = {f"tests/attacks/{file.name}" for file in (ROOT / "tests" / "attacks").glob("test_*.py")}
    assert {name for name in attacks if f"`{name}`" not in PAGE} == set()


def test_every_command_of_the_page_is_a_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = re.findall(r"(?:`|^)make ([a-z-]+)", PAGE, re.MULTILINE)
    assert {name for name in named if f"#: make {name} " not in makefile} == set()
