"""The form of every benchmark's result: figures against targets, with the machine and the versions they were measured on. Written
as `bench/results/<name>.json` for programs and `<name>.md` for people."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from voiceagent import __version__

RESULTS_DIR = Path(__file__).resolve().parent / "results"
PACKAGES = ("aiortc", "faster-whisper", "ctranslate2", "onnxruntime", "onnxruntime-genai", "piper-tts", "numpy")


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure."""

    name: str
    """The name of the measurement, for people, such as "word error rate, held-out voices"."""
    value: float
    unit: str
    """`%`, `ms`, `clips` …; empty for a bare number."""
    target: str
    """The target for people: "≤ 15"; empty when there is none."""
    ok: bool
    """True if the target is met, or if there is none."""


def at_most(name: str, value: float, limit: float, unit: str) -> Figure:
    """A figure that must not exceed `limit`."""
    return Figure(name, value, unit, f"≤ {limit:g}", value <= limit)


def at_least(name: str, value: float, limit: float, unit: str) -> Figure:
    """A figure that must reach `limit`."""
    return Figure(name, value, unit, f"≥ {limit:g}", value >= limit)


def plain(name: str, value: float, unit: str, digits: int = 1) -> Figure:
    """A figure without a target, rounded to so many digits."""
    return Figure(name, round(value, digits), unit, "", True)


@dataclass(frozen=True, slots=True)
class Result:
    """One benchmark's figures."""

    name: str
    date: str
    """ISO 8601, UTC."""
    machine: dict[str, str | int | float]
    versions: dict[str, str]
    rows: tuple[Figure, ...]

    @property
    def ok(self) -> bool:
        """True if every target is met."""
        return all(row.ok for row in self.rows)


def result(name: str, rows: Iterable[Figure]) -> Result:
    """The figures, measured here and now."""
    date = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    return Result(name, date, machine(), versions(), tuple(rows))


def machine() -> dict[str, str | int | float]:
    """Returns the facts about the machine that measures. The load is of the minute before, whatever else ran."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gb": round(psutil.virtual_memory().total / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "load_1min": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def versions() -> dict[str, str]:
    """Returns the versions of voiceagent, Python and the packages that do the work."""
    found = {"voiceagent": __version__, "python": platform.python_version()}
    return found | {package: importlib.metadata.version(package) for package in PACKAGES}


def markdown(measured: Result) -> str:
    """The result as a table for people."""
    place = measured.machine
    lines = [
        f"# {measured.name}",
        "",
        f"{measured.date}; {place['processor']}, {place['cores']} cores, {place['memory_gb']} GB, load {place['load_1min']}; "
        + ", ".join(f"{package} {version}" for package, version in measured.versions.items())
        + ".",
        "",
        "| figure | value | target | |",
        "|---|---:|---:|---|",
    ]
    for row in measured.rows:
        verdict = ("ok" if row.ok else "**missed**") if row.target else ""
        lines.append(f"| {row.name} | {number(row.value)} {row.unit} | {row.target} | {verdict} |")
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """The value with three digits that count."""
    return f"{value:.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.3g}"


def write(measured: Result, folder: Path = RESULTS_DIR, notes: str = "") -> Path:
    """Write both files, `notes` (Markdown) below the table; the JSON's path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{measured.name}.json"
    path.write_text(json.dumps(asdict(measured), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    path.with_suffix(".md").write_text(markdown(measured) + (f"\n{notes.strip()}\n" if notes else ""), encoding="utf-8")
    return path
