"""Writes docs/hardware.md, and the figures that `voiceagent doctor --recommend` tells (voiceagent/doctor/measured_profiles.yaml).
Both are made from `bench/results/*.json`, so neither says what was not measured. The text around them is bench/hardware.md.
`--check` changes nothing and fails if one is older than a result."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import yaml

from bench.figures_page import choice, committed
from bench.harness import Result, number
from voiceagent.doctor.recommendation import FILE, MeasuredProfile, ProfileNeeds, calls_text, fetched_bytes, known_profiles
from voiceagent.models.registry import registry, size_text

PAGE = Path(__file__).resolve().parents[1] / "docs" / "hardware.md"
TEXT = Path(__file__).with_name("hardware.md")
RESULTS = {"starter": "real_starter", "embedded": "real_embedded"}
"""The whole calls that a profile was measured by."""
RECOGNISERS = {"Whisper tiny.en, as `starter` runs it": "tiny.en", "Whisper base, by the defaults": "base"}
"""Recognisers, and their names in the result `people_recogniser`."""


def measured(profile: str, result: Result) -> MeasuredProfile:
    """A profile's figures in a result of `python -m bench real`."""
    rows = {row.name: row.value for row in result.rows}
    tried = [
        int(name.split(", ")[1].split()[0]) for name in rows if name.startswith(f"{profile}, ") and name.endswith("turns timed")
    ]
    return MeasuredProfile(
        result=result.name,
        date=result.date[:10],
        processor=str(result.machine["processor"]),
        cores=int(result.machine["cores"]),
        architecture=str(result.machine["system"]).split()[-1],
        calls=int(rows[f"{profile}: calls at once within budget"]),
        most_tried=max(tried),
        one_p50_ms=round(rows[f"{profile}, 1 at once: voice to voice p50"]),
        one_p95_ms=round(rows[f"{profile}, 1 at once: voice to voice p95"]),
        cores_a_call=round(rows[f"{profile}, 1 at once: cores a call"], 3),
        memory_mb=round(rows[f"{profile}: memory at the end"]),
    )


def with_figures(needs: Mapping[str, ProfileNeeds], results: Mapping[str, Result]) -> dict[str, ProfileNeeds]:
    """The profiles with the figures of the newest results."""
    found = {}
    for name, need in needs.items():
        result = results.get(RESULTS.get(name, ""))
        found[name] = msgspec.structs.replace(need, measured=None if result is None else measured(name, result))
    return found


def needs_file(needs: Mapping[str, ProfileNeeds], before: str) -> str:
    """The data as YAML, behind the comment that stands at its head."""
    head = "".join(line for line in before.splitlines(keepends=True) if line.startswith("#"))
    return head + yaml.safe_dump(msgspec.to_builtins(needs), sort_keys=False, allow_unicode=True)


def page(text: str, needs: Mapping[str, ProfileNeeds], results: Mapping[str, Result]) -> str:
    """The page as Markdown."""
    parts = {
        "calls": _calls(needs),
        "notes": _notes(needs),
        "recognisers": _recognisers(results["people_recogniser"]),
        "untried": _untried(needs),
    }
    for name, lines in parts.items():
        text = text.replace(f"<!-- {name} -->", "\n".join(lines))
    return text


def _calls(needs: Mapping[str, ProfileNeeds]) -> Iterator[str]:
    yield "| profile | on | within the budget | one call: voice to voice p50, p95 | cores a call | memory | measured |"
    yield "|---|---|---|---:|---:|---:|---|"
    for name, need in needs.items():
        if need.measured is not None:
            had = need.measured
            yield (
                f"| `{name}` | {had.cores} cores, {had.processor} | {calls_text(had).replace(' within the budget', '')} "
                f"| {had.one_p50_ms} ms, {had.one_p95_ms} ms | {had.cores_a_call:g} | {had.memory_mb} MB "
                f"| [{had.date}](../bench/results/{had.result}.md) |"
            )


def _notes(needs: Mapping[str, ProfileNeeds]) -> Iterator[str]:
    """What a reader must know of each result, as docs/figures.md says it."""
    notes = {shown.name: shown.note for group in choice() for shown in group.results}
    for name, need in needs.items():
        if need.measured is not None and notes[need.measured.result]:
            yield f"- `{name}`: {notes[need.measured.result].strip()}"


def _recognisers(result: Result) -> Iterator[str]:
    yield f"| recogniser | words wrong | CPU a decode ([{result.date[:10]}](../bench/results/{result.name}.md)) |"
    yield "|---|---:|---:|"
    for told, name in RECOGNISERS.items():
        now = {
            row.name.split(": ")[-1]: row for row in result.rows if row.name.startswith(f"{name}, all") and ": now: " in row.name
        }
        wrong, cost = now["words wrong"], now["CPU a decode, mean"]
        yield f"| {told} | {number(wrong.value)} {wrong.unit} | {number(cost.value)} {cost.unit} |"


def _untried(needs: Mapping[str, ProfileNeeds]) -> Iterator[str]:
    yield "| profile | meant for | to fetch | known |"
    yield "|---|---|---:|---|"
    for name, need in needs.items():
        if need.measured is None:
            gpu = f", and more than {need.gpu_memory_gb:g} GB on a GPU" if need.gpu_memory_gb else ""
            size = size_text(fetched_bytes(registry().models_of(name)))
            yield f"| `{name}` | {need.cores} cores{gpu} | {size} | the size of its models |"


def main() -> int:
    """Write both, or say that one is old."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    results = committed()
    needs = with_figures(known_profiles(), results)
    made = {
        FILE: needs_file(needs, FILE.read_text(encoding="utf-8")),
        PAGE: page(TEXT.read_text(encoding="utf-8"), needs, results),
    }
    if parser.parse_args().check:
        old = [file.name for file, text in made.items() if not file.exists() or file.read_text(encoding="utf-8") != text]
        if old:
            print(f"older than bench/results: {', '.join(old)}; run: make figures")
        return 1 if old else 0
    for file, text in made.items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
