"""`voiceagent report`: the last turns' percentiles, stage by stage, against their budgets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
from rich.table import Table

from voiceagent.cli.tables import plain_table, show
from voiceagent.latency.budgets import StageComparison, compare, load_budgets
from voiceagent.latency.spans import LegKind, TurnReport, Wait, WaitCause
from voiceagent.resources import default_budgets_file
from voiceagent.settings.agent import store_address
from voiceagent.settings_file import did_you_mean
from voiceagent.store.database import StoreError
from voiceagent.store.turns import MAX_TURNS, read_turns

NO_DATA = 2


@click.command(
    epilog="""\b
Examples:
  voiceagent report                      the last 100 turns
  voiceagent report --call 8f2c          one call, by its id or the beginning of it
  voiceagent report --leg telephone      only calls from telephones
  voiceagent report --last 500 --gate    exit 1 when a percentile is over budget
  voiceagent report --json | jq .        for programs

Exit codes: 0 all is well, 1 with --gate when a percentile is over its limit, 2 when no turn was measured."""
)
@click.option("--last", default=100, show_default=True, type=click.IntRange(1, MAX_TURNS), help="How many turns.")
@click.option("--call", "call_id", default="", help="Only the turns of this call: its id, or the beginning of it.")
@click.option("--profile", default="", help="Only the turns of this profile.")
@click.option("--leg", type=click.Choice([leg.value for leg in LegKind]), help="Only the turns of calls that came by this.")
@click.option("--budgets", "budgets_path", type=click.Path(path_type=Path), help="Judge by this file instead of the shipped one.")
@click.option("--gate", is_flag=True, help="Exit 1 when a percentile is over its limit.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def report(last: int, call_id: str, profile: str, leg: str | None, budgets_path: Path | None, gate: bool, as_json: bool) -> int:
    """Show where the time of the last turns went, stage by stage, against latency_budgets.yaml."""
    budgets = load_budgets(budgets_path or default_budgets_file())
    try:
        turns = read_turns(store_address(), last=last, call_id=call_id, profile=profile, leg=leg or "")
    except StoreError as error:
        click.echo(f"error: {error}", err=True)
        return NO_DATA
    if not turns:
        measured = {turn.profile for turn in read_turns(store_address(), last=MAX_TURNS)}
        near = did_you_mean(profile, measured) if profile not in measured else ""
        click.echo(f"error: no measured turn fits; leave --call, --profile and --leg out to see all{near}", err=True)
        return NO_DATA
    groups: dict[str, list[TurnReport]] = {}
    for turn in turns:
        groups.setdefault(_name(turn), []).append(turn)
    compared = {name: compare(group, budgets.of(group[0].profile, group[0].leg)) for name, group in groups.items()}
    if as_json:
        click.echo(json.dumps(_as_data(groups, compared), indent=2))
    else:
        for name, stages in compared.items():
            show(_table(name, len(groups[name]), stages))
            if waits := _waits(groups[name]):
                show(_wait_table(waits))
    over = any(stage.over for stages in compared.values() for stage in stages)
    return 1 if gate and over else 0


def _name(turn: TurnReport) -> str:
    """The name of the turns that are judged together: the profile's; that of another leg than the page's stands behind it."""
    return turn.profile if turn.leg is LegKind.WEBRTC else f"{turn.profile}/{turn.leg}"


def _table(profile: str, turns: int, stages: Sequence[StageComparison]) -> Table:
    numbers = ("n", "p50", "p95", "p99")
    title = f"{profile}: {turns} turn{'s' if turns > 1 else ''}, measured / limit in ms"
    table = plain_table(title, "stage", *numbers, "ok", right=numbers)
    for stage in stages:
        limits = (stage.limits.p50_ms, stage.limits.p95_ms, stage.limits.p99_ms)
        if stage.measured is None:
            table.add_row(stage.stage, "0", *(f"– / {limit:g}" for limit in limits), "–")
            continue
        measured = (stage.measured.p50_ms, stage.measured.p95_ms, stage.measured.p99_ms)
        cells = [
            f"[red]{ms:.0f}[/] / {limit:g}" if ms > limit else f"{ms:.0f} / {limit:g}"
            for ms, limit in zip(measured, limits, strict=True)
        ]
        verdict = f"[red]{' '.join(stage.over)} over[/]" if stage.over else "ok"
        table.add_row(stage.stage, str(stage.measured.count), *cells, verdict)
    return table


def _waits(turns: Sequence[TurnReport]) -> list[Wait]:
    """The callers' waits from voice to voice."""
    return [turn.wait for turn in turns if turn.wait is not None and not turn.wait.typed]


def _means_ms(waits: Sequence[Wait]) -> dict[str, float]:
    """The mean wait by part. Other than percentiles, means add up to the mean of the whole."""
    totals = [wait.totals_ms() for wait in waits]
    sums = {part.value: sum(total.get(part, 0.0) for total in totals) for part in WaitCause}
    return {part: ms / len(waits) for part, ms in sums.items() if ms > 0}


def _wait_table(waits: Sequence[Wait]) -> Table:
    means = _means_ms(waits)
    title = f"voice to voice: the mean wait of {len(waits)} by what it was for"
    table = plain_table(title, "part", "ms", "share", right=("ms", "share"))
    whole_ms = sum(means.values())
    for part, ms in means.items():
        table.add_row(part, f"{ms:.0f}", f"{ms / whole_ms:.0%}", end_section=part == list(means)[-1])
    table.add_row("voice_to_voice", f"{whole_ms:.0f}", "")
    return table


def _as_data(groups: Mapping[str, Sequence[TurnReport]], compared: Mapping[str, Sequence[StageComparison]]) -> dict[str, object]:
    return {
        name: {
            "turns": len(groups[name]),
            "stages": {stage.stage.value: _stage_data(stage) for stage in stages},
            "mean_wait_ms": _means_ms(waits) if (waits := _waits(groups[name])) else {},
        }
        for name, stages in compared.items()
    }


def _stage_data(stage: StageComparison) -> dict[str, object]:
    measured, limits = stage.measured, stage.limits
    found = None if measured is None else {"p50": measured.p50_ms, "p95": measured.p95_ms, "p99": measured.p99_ms}
    return {
        "count": measured.count if measured else 0,
        "measured_ms": found,
        "limit_ms": {"p50": limits.p50_ms, "p95": limits.p95_ms, "p99": limits.p99_ms},
        "over": list(stage.over),
    }
