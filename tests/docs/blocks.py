"""The fenced blocks of the project's Markdown: what stands in them, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r'( *)(`{3,}|~{3,})([\w-]*)(?: title="([^"]*)")? *$')


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block."""

    page: str
    """The file, as seen from the root of the repository."""
    line: int
    language: str
    title: str
    """What stands behind the language as `title="…"`: a file's path, or a remark."""
    text: str
    """Its lines, without the indentation of the fence."""

    @property
    def file(self) -> str:
        """The name of a file that the block holds whole: its first line is a comment
        with a path, and nothing or a remark behind it."""
        if re.fullmatch(r"[\w./-]+\.\w+", self.title):
            return self.title
        found = re.match(r"# ([\w./-]+\.\w+)(?:$|: |\n)", self.text)
        return found[1] if found else ""

    @property
    def first_line(self) -> str:
        return self.text.split("\n", 1)[0]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    """The blocks of a page, in order."""
    lines = page.read_text(encoding="utf-8").split("\n")
    number = 0
    while number < len(lines):
        opening = FENCE.match(lines[number])
        number += 1
        if not opening:
            continue
        indent, fence, language, title = opening.groups()
        first = number
        while lines[number].strip() != fence:
            number += 1
        text = "\n".join(line.removeprefix(indent) for line in lines[first:number])
        yield Block(page.relative_to(ROOT).as_posix(), first, language, title or "", text)
        number += 1


def all_blocks() -> list[Block]:
    """The blocks of all pages that users read."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    pages += sorted((ROOT / "examples").glob("*/README.md"))
    return [block for page in pages for block in blocks_of(page)]
