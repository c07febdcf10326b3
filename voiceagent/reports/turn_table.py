"""Turns as a table of numbers, a row each: what `--format csv` writes, and what two sets of turns are compared by."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from voiceagent.errors import ConfigError
from voiceagent.latency.spans import WHOLES, Stage, TurnReport, WaitCause

FACTS = ("prompt_tokens", "tokens", "tools", "tools_failed", "kept", "discarded", "wasted_tokens")
JITTER = ("jitter_in_ms", "jitter_out_ms")
NAMES = ("call", "turn", "at", "profile", "leg", "version", "step", "status", "cut_off", "typed")
PARTS = tuple(stage for stage in Stage if stage not in WHOLES)
COLUMNS = (
    *NAMES,
    *(f"{stage}_ms" for stage in WHOLES),
    *FACTS,
    *JITTER,
    *(f"wait_{part}_ms" for part in WaitCause),
    *(f"{stage}_ms" for stage in PARTS),
)


@dataclass(frozen=True, slots=True)
class TurnRow:
    """The numbers of a turn that sets are compared by."""

    call: str
    whole_ms: float | None
    """From voice to voice."""
    wait_ms: dict[str, float]
    """The wait by part; empty where the turn has no whole."""
    stages_ms: dict[str, float]
    """The longest of each stage, wholes apart."""


def row(turn: TurnReport) -> TurnRow:
    """A measured turn."""
    waited = turn.wait is not None and not turn.wait.typed
    wait = {part.value: ms for part, ms in turn.wait.totals_ms().items()} if turn.wait is not None and waited else {}
    stages = {stage.value: max(values) for stage, values in turn.durations_ms().items() if stage not in WHOLES}
    return TurnRow(turn.call_id, turn.voice_to_voice_ms, wait, stages)


def as_csv(turns: Iterable[TurnReport]) -> str:
    """A line a turn, oldest first. A time is in milliseconds; empty: there was none. A wait is over all its pieces, a stage that
    occurs several times has its longest."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for turn in turns:
        durations = turn.durations_ms()
        wait = turn.wait.totals_ms() if turn.wait is not None else {}
        facts = turn.facts
        typed = int(turn.wait is not None and turn.wait.typed)
        whose = (turn.call_id, turn.turn, turn.at, turn.profile, turn.leg)
        names = (*whose, facts.version, facts.step, facts.status, int(facts.cut_off), typed)
        times = (
            *(durations.get(stage) for stage in WHOLES),
            *([getattr(facts, name)] for name in FACTS),
            *(None if getattr(facts, name) is None else [getattr(facts, name)] for name in JITTER),
            *(None if part not in wait else [wait[part]] for part in WaitCause),
            *(durations.get(stage) for stage in PARTS),
        )
        writer.writerow((*names, *("" if values is None else round(max(values), 2) for values in times)))
    return out.getvalue()


def read_csv(file: Path) -> list[TurnRow]:
    """The rows of a file that `--format csv` wrote. Raises ConfigError."""
    try:
        with file.open(encoding="utf-8", newline="") as opened:
            reader = csv.DictReader(opened)
            missing = sorted(set(COLUMNS) - set(JITTER) - set(reader.fieldnames or ()))
            if missing:
                raise ConfigError(f"{file}: lacks the column {missing[0]!r}; expected a file of `voiceagent report --format csv`")
            return [_read(line) for line in reader]
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "no UTF-8 text"
        raise ConfigError(f"{file}: cannot be read ({why}); name a file of `voiceagent report --format csv`") from error
    except (ValueError, TypeError, csv.Error) as error:
        raise ConfigError(
            f"{file}: holds what is no number ({error}); write it anew with `voiceagent report --format csv`"
        ) from error


def _read(line: dict[str, str]) -> TurnRow:
    def times(names: Iterable[str], prefix: str) -> dict[str, float]:
        return {name: float(line[f"{prefix}{name}_ms"]) for name in names if line[f"{prefix}{name}_ms"]}

    whole = line[f"{Stage.VOICE_TO_VOICE}_ms"]
    wait = times(WaitCause, "wait_") if line["typed"] == "0" else {}
    return TurnRow(line["call"], float(whole) if whole else None, wait, times(PARTS, ""))
