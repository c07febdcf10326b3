"""Draws which room imports which into docs/architecture.md, from the imports themselves: arrows that follow from others are left
out. `--check` changes nothing and fails where the page shows another picture."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: made by scripts/draw-rooms.py -->\n", "<!-- end of rooms -->\n"
PACKAGE = "voiceagent"
EVERYWHERE = {
    *("errors", "logs", "redaction", "resources", "addresses", "plugins", "data_files", "token_bucket"),
    *("config", "doctor", "json_types", "untrusted_json"),
}
"""Single files that many rooms read: they would only hide the rooms."""
KEYWORDS = {"call", "class", "click", "default", "end", "graph", "style", "subgraph"}
"""Words of Mermaid's flowcharts."""


def imports() -> dict[str, set[str]]:
    """The rooms that each room imports."""
    sys.path.insert(0, str(ROOT))  # this checkout's package, whichever is installed
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    found: dict[str, set[str]] = defaultdict(set)
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            one, other = _room(importer), _room(imported)
            if one and other and one != other:
                found[one].add(other)
    return dict(found)


def _room(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] not in EVERYWHERE | {"__main__"} else ""


def reduced(found: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the arrows that longer ways stand for. There are no circles."""

    def reached(room: str) -> set[str]:
        return {further for next_ in found.get(room, ()) for further in {next_} | reached(next_)}

    def needed(others: set[str]) -> set[str]:
        return {other for other in others if not any(other in reached(via) for via in others)}

    return {room: needed(others) for room, others in found.items()}


def node(room: str) -> str:
    """A node of Mermaid, in whose language a room's name may be a word with a meaning (`call`)."""
    return f'{room}_["{room}"]' if room in KEYWORDS else room


def picture() -> str:
    """A Mermaid flowchart: whoever imports stands above."""
    arrows = [
        f"  {node(room)} --> {node(other)}" for room, others in sorted(reduced(imports()).items()) for other in sorted(others)
    ]
    return "```mermaid\nflowchart TD\n" + "\n".join(arrows) + "\n```\n"


def main() -> int:
    """Write the picture, or check it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = f"{before}{BEGIN}{picture()}{END}{after}"
    if check and new != page:
        print(f"{PAGE}: the picture of the rooms is not that of the imports; run python scripts/draw-rooms.py", file=sys.stderr)
        return 1
    if not check:
        PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
