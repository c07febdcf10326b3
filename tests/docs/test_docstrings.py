"""A docstring begins with a verb or with a noun of the field."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "voiceagent"
WRONG = {"What", "Whether", "How", "Who", "Whom", "Whose", "Why", "Of", "Where", "When", "Which", "So", "By", "For"}


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """All strings that stand alone, with their lines: also those behind an assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value


def test_a_docstring_begins_with_a_verb_or_a_noun() -> None:
    wrong = [
        f"{path.relative_to(PACKAGE)}:{line}: {text[:60]}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in docstrings(ast.parse(path.read_text(encoding="utf-8")))
        if text.split() and text.split()[0].rstrip(",:;") in WRONG
    ]
    assert not wrong
