"""The metrics of all workers as one text (Prometheus' exposition format 0.0.4). Each series gets the label `worker`, so
Prometheus adds or compares them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

LABEL = "worker"


def merged(texts: Mapping[str, str]) -> str:
    """One text, from those of the workers by their names. Help and type of each metric stand once."""
    heads: dict[str, list[str]] = {}
    series: dict[str, list[str]] = {}
    for worker, text in texts.items():
        metric = ""
        for line in text.splitlines():
            if line.startswith("# "):
                kind, _, rest = line[2:].partition(" ")
                name = rest.partition(" ")[0]
                metric = name
                head = heads.setdefault(metric, [])
                if not any(known.startswith(f"# {kind} ") for known in head):
                    head.append(line)
            elif line:
                series.setdefault(metric, []).append(_labelled(line, worker))
    return "".join(f"{line}\n" for metric in {**heads, **series} for line in (*heads.get(metric, ()), *series.get(metric, ())))


def _labelled(line: str, worker: str) -> str:
    name, brace, rest = line.partition("{")
    if brace and " " not in name:
        return f'{name}{{{LABEL}="{worker}",{rest}'
    name, _, value = line.partition(" ")
    return f'{name}{{{LABEL}="{worker}"}} {value}'
