"""Writes docs/figures.md from `bench/results/*.json`: the figures that `bench/figures.yaml` names, with the date, the machine,
the versions and the targets of each result. `--check` changes nothing and fails if the page is older than a result."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec
import yaml

from bench.harness import RESULTS_DIR, Figure, Result, number

PAGE = Path(__file__).resolve().parents[1] / "docs" / "figures.md"
CHOICE = Path(__file__).with_suffix("").with_name("figures.yaml")
HEAD = """# Figures

<!-- made by `python -m bench.figures_page` from bench/results and bench/figures.yaml -->

Each table shows a part of one result, as it was measured. A result that is older than a change keeps its date, and a note says
what changed. *Target* is what we want. **missed** marks the {missed} of {targets} targets that were not reached. The link of a
table leads to all figures of the result, and to how they are measured. `make bench ARGS="calls floor"` measures again.
`make figures` writes this page.

Versions, where a table names no others: {versions}.
"""


class Shown(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The figures of one result on the page."""

    name: str
    what: str
    run: str
    show: tuple[str, ...]
    """Shell patterns of figures' names."""
    note: str = ""


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Results under one heading."""

    group: str
    results: tuple[Shown, ...]


def page(groups: Sequence[Group], results: Mapping[str, Result]) -> str:
    """The page as Markdown. A chosen result that was not measured yet is left out. Raises ValueError for a result of no group."""
    chosen = {shown.name for group in groups for shown in group.results}
    if missing := sorted(results.keys() - chosen):
        raise ValueError(f"{CHOICE.name} has no entry for {', '.join(missing)} of bench/results; add one")
    usual = dict(Counter(tuple(result.versions.items()) for result in results.values()).most_common(1)[0][0])
    aims = [row for result in results.values() for row in result.rows if row.target]
    missed = sum(not row.ok for row in aims)
    lines = [HEAD.format(missed=missed, targets=len(aims), versions=_versions(usual))]
    for group in groups:
        lines.append(f"## {group.group}\n")
        for shown in group.results:
            if shown.name in results:
                lines += _section(shown, results[shown.name], usual)
    return "\n".join(lines)


def _section(shown: Shown, result: Result, usual: Mapping[str, str]) -> Iterator[str]:
    place, others = result.machine, dict(result.versions.items() - usual.items())
    yield f"### {shown.what}\n"
    yield (
        f"{result.date[:10]}, {place['processor']}, {place['cores']} cores, load {place['load_1min']}"
        + (f"; {_versions(others)}" if others else "")
        + f". `{shown.run}`, [all {len(result.rows)} figures](../bench/results/{result.name}.md).\n"
    )
    if shown.note:
        yield f"{shown.note.strip()}\n"
    yield "| figure | measured | target |"
    yield "|---|---:|---|"
    yield from (_row(row) for row in result.rows if not row.ok or any(fnmatchcase(row.name, each) for each in shown.show))
    yield ""


def _row(row: Figure) -> str:
    missed = "" if row.ok else ", **missed**"
    return f"| {row.name} | {number(row.value)} {row.unit}".rstrip() + f" | {row.target}{missed} |"


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{package} {version}" for package, version in sorted(versions.items()))


def choice() -> tuple[Group, ...]:
    """The groups of `bench/figures.yaml`."""
    return msgspec.convert(yaml.safe_load(CHOICE.read_text(encoding="utf-8")), tuple[Group, ...])


def committed(folder: Path = RESULTS_DIR) -> dict[str, Result]:
    """The results of a folder, by name."""
    files = [path for path in sorted(folder.glob("*.json")) if not path.stem.endswith("_turns")]
    results = [msgspec.convert(json.loads(path.read_text(encoding="utf-8")), Result) for path in files]
    return {result.name: result for result in results}


def main() -> int:
    """Write the page, or say that it is old."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    made = page(choice(), committed())
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") != made:
            print("docs/figures.md is older than bench/results or bench/figures.yaml; run: make figures")
            return 1
        return 0
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
