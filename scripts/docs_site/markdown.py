"""The project's Markdown is written as GitHub reads it. Zensical reads it by Python-Markdown, which wants a list's content
indented by four spaces and an empty line before a list. Text goes in as it stands in the repository and comes out as it is
built."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby

FENCE = re.compile(r"^( *)(`{3,}|~{3,})")
ITEM = re.compile(r"^(?:[-*+]|\d+\.) +")
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^()\s]+)\)")
CODE = re.compile(r"(`+)(?:.+?)\1", re.DOTALL)
INDENT = 4


def outside_fences(text: str) -> Iterator[tuple[bool, str]]:
    """Each line, and whether it is text: neither a fence nor inside one."""
    fence = ""
    for line in text.split("\n"):
        found = FENCE.match(line)
        if fence:
            yield False, line
            if found and found[2].startswith(fence) and line.strip() == found[2]:
                fence = ""
        elif found:
            fence = found[2]
            yield False, line
        else:
            yield True, line


def with_links(text: str, moved: Callable[[str], str]) -> str:
    """The text with each link's target, outside of code, replaced by what `moved` says of it."""

    def of_paragraph(lines: str) -> str:
        kept: list[str] = []

        def hide(found: re.Match[str]) -> str:
            kept.append(found[0])
            return f"\0{len(kept) - 1}\0"

        lines = LINK.sub(lambda found: f"{found[1]}({moved(found[2])})", CODE.sub(hide, lines))
        return re.sub("\0(\\d+)\0", lambda found: kept[int(found[1])], lines)

    out: list[str] = []
    for is_text, group in groupby(outside_fences(text), key=lambda line: (line[0], not line[1].strip())):
        lines = "\n".join(line for _, line in group)
        out.append(of_paragraph(lines) if is_text[0] else lines)
    return "\n".join(out)


def with_wide_lists(text: str) -> str:
    """The text with the content of lists indented by four spaces a level, and an empty line before each list."""
    out: list[str] = []
    levels: list[int] = []
    """Columns at which the content of the open lists stands."""
    loose = False
    """Whether an empty line stood since the last item: the next item needs one before it."""
    for is_text, line in outside_fences(text):
        if not line.strip():
            out.append("")
            loose = True
            continue
        indent = len(line) - len(line.lstrip(" "))
        while levels and indent < levels[-1]:
            levels.pop()
        rest = line[levels[-1] if levels else 0 :]
        item = ITEM.match(rest.lstrip(" ")) if is_text and len(rest) - len(rest.lstrip(" ")) < INDENT else None
        if item and out and out[-1] and (loose if _in_list(out[-1]) else not levels):
            out.append("")
        out.append(" " * INDENT * len(levels) + rest)
        if item:
            levels.append(indent + len(item[0]))
            loose = False
    return "\n".join(out)


def _in_list(line: str) -> bool:
    return line.startswith((" " * INDENT, "<")) or ITEM.match(line) is not None


def code_page(title: str, files: list[tuple[str, str, str]], before: str = "") -> str:
    """A page that shows files: the path, the language and the text of each."""
    parts = [before or f"# {title}\n"]
    for path, language, text in files:
        fence = "~" * max(3, *(len(run) + 1 for run in re.findall("~+", text)), 3)
        heading = f"## {path}\n\n" if len(files) > 1 or before else ""
        parts.append(f"{heading}{fence}{language}\n{text.rstrip()}\n{fence}\n")
    return "\n".join(parts)


def first_sentence(text: str) -> str:
    """The first sentence below the title, without marks."""
    paragraph: list[str] = []
    for is_text, line in outside_fences(text):
        if not is_text or line.startswith(("#", "|", "<", "!")) or not line.strip():
            if paragraph:
                break
            continue
        paragraph.append(line.removeprefix("- ").strip())
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph))
    return re.split(r"(?<=[.:!?]) (?=[A-Z`])", plain)[0].rstrip(":")


def title_of(text: str) -> str:
    """The first heading."""
    return next((line[2:].strip() for is_text, line in outside_fences(text) if is_text and line.startswith("# ")), "")
