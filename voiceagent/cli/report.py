"""`voiceagent report`: the last turns' percentiles, stage by stage, against their budgets."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from voiceagent.cli.calls import Moment
from voiceagent.cli.output import format_json_option, write_output
from voiceagent.cli.tables import plain_table, show
from voiceagent.latency.budgets import load_budgets
from voiceagent.latency.spans import RESPONSIBLE, LegKind, TurnReport, WaitCause
from voiceagent.reports.comparison import Change, Comparison, compare_sets
from voiceagent.reports.formats import as_data, as_junit, as_openmetrics, compared_as_data
from voiceagent.reports.turn_groups import TurnGroup, grouped
from voiceagent.reports.turn_table import TurnRow, as_csv, read_csv, row
from voiceagent.resources import default_budgets_file
from voiceagent.settings.agent import store_address
from voiceagent.settings_file import did_you_mean
from voiceagent.store.database import StoreError
from voiceagent.store.turns import MAX_TURNS, read_turns

NO_DATA = 2
FORMATS = ("text", "html", "json", "csv", "junit", "openmetrics")


@click.command(
    epilog="""\b
Examples:
  voiceagent report                                the last 100 turns
  voiceagent report --call 8f2c                    one call, by its id or the beginning of it
  voiceagent report --since 7d --leg telephone     the telephone calls of a week
  voiceagent report --last 500 --gate              exit 1 when a percentile is over budget
  voiceagent report --since 7d --format html --out report.html
  voiceagent report --format junit --out report.xml
  voiceagent report --format csv --out before.csv  then change something, make calls, and:
  voiceagent report --since 1h --compare before.csv
  voiceagent report --since 14d --compare 7d       the last seven days against those before

Exit codes: 0 all is well, 1 with --gate when a percentile is over its limit or callers wait longer than before, 2 when no turn
was measured."""
)
@click.option("--last", type=click.IntRange(1, MAX_TURNS), help="How many turns at most; without --since or --compare 100.")
@click.option("--call", "call_id", default="", help="Only the turns of this call: its id, or the beginning of it.")
@click.option("--since", type=Moment(), help="Only turns that ended then or later: 2026-11-26, 2026-11-26T14:30, 2h, 7d.")
@click.option("--until", type=Moment(), help="Only turns that ended before.")
@click.option("--profile", default="", help="Only the turns of this profile.")
@click.option("--leg", type=click.Choice([leg.value for leg in LegKind]), help="Only the turns of calls that came by this.")
@click.option("--budgets", "budgets_path", type=click.Path(path_type=Path), help="Judge by this file instead of the shipped one.")
@click.option(
    "--compare", "against", default="", help="Compare with a CSV file of an earlier report, or with the turns before a time."
)
@click.option("--gate", is_flag=True, help="Exit 1 when a percentile is over its limit, or callers wait longer than before.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What to write.")
@click.option("--words", is_flag=True, help="With --format html: also what is kept of the longest waits, words and sound.")
@format_json_option
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file.")
def report(
    last: int | None,
    call_id: str,
    since: float | None,
    until: float | None,
    profile: str,
    leg: str | None,
    budgets_path: Path | None,
    against: str,
    gate: bool,
    form: str,
    words: bool,
    as_json: bool,
    out: Path | None,
) -> int:
    """Show where the time of the last turns went, stage by stage, against latency_budgets.yaml."""
    form = "json" if as_json else form
    if against and form not in ("text", "json"):
        raise click.UsageError(f"--compare writes text or json, not {form}")
    if words and form != "html":
        raise click.UsageError("--words needs --format html")
    if out is not None and form == "text":
        raise click.UsageError("--out needs a --format other than text")
    budgets = load_budgets(budgets_path or default_budgets_file())
    most = last or (MAX_TURNS if since is not None or against else 100)
    try:
        turns = read_turns(store_address(), last=most, call_id=call_id, profile=profile, leg=leg or "", since=since, until=until)
    except StoreError as error:
        click.echo(f"error: {error}", err=True)
        return NO_DATA
    if not turns:
        measured = {turn.profile for turn in read_turns(store_address(), last=MAX_TURNS)}
        near = did_you_mean(profile, measured) if profile not in measured else ""
        click.echo(
            f"error: no measured turn fits; leave --call, --since, --until, --profile and --leg out to see all{near}", err=True
        )
        return NO_DATA
    if against:
        return _compare(turns, against, gate=gate, as_json=form == "json", out=out)
    groups = grouped(turns, budgets)
    if form == "text":
        for group in groups:
            _tell(group)
    else:
        write_output(_html(groups, words=words) if form == "html" else _formatted(form, groups, turns), out)
    return 1 if gate and any(group.over for group in groups) else 0


def _formatted(form: str, groups: Sequence[TurnGroup], turns: Sequence[TurnReport]) -> str:
    match form:
        case "csv":
            return as_csv(turns)
        case "junit":
            return as_junit(groups)
        case "openmetrics":
            return as_openmetrics(groups)
    return json.dumps(as_data(groups), indent=2) + "\n"


def _html(groups: Sequence[TurnGroup], *, words: bool) -> str:
    from voiceagent.reports.html_page import as_html  # which takes its time to import: pygal, jinja2
    from voiceagent.reports.kept_words import kept_turns

    return as_html(groups, functools.partial(kept_turns, store_address()) if words else None)


# --- text ---------------------------------------------------------------------------------------------------------------


def _tell(group: TurnGroup) -> None:
    show(_stage_table(group))
    if group.waits:
        show(_wait_table(group))
    counts = group.counts()
    told = [f"{number} {status}" for status, number in counts.statuses.items()]
    told.append(f"{counts.cut_offs} caller{'' if counts.cut_offs == 1 else 's'} probably cut off")
    if counts.tools:
        told.append(f"{counts.tools} tool run{'' if counts.tools == 1 else 's'}, {counts.tools_failed} failed")
    if speculative := counts.speculative_kept + counts.speculative_discarded:
        told.append(f"{counts.speculative_kept} of {speculative} speculative replies kept, {counts.wasted_tokens} tokens wasted")
    if jitter := group.jitter():
        told_of = (f"{name} p50 {found.p50_ms:.1f}, p95 {found.p95_ms:.1f} ms" for name, found in jitter.items())
        click.echo(f"Jitter of packets: {'; '.join(told_of)}.")
    if counts.steps:
        click.echo(f"Steps: {', '.join(f'{step} {number}' for step, number in counts.steps.items())}.")
    if counts.degraded:
        without = ", ".join(f"{one} {number}" for one, number in counts.degradations.items())
        click.echo(f"Degraded: {counts.degraded} of {len(group.turns)} turns ({without}).")
    if counts.statuses:
        click.echo(f"Replies: {', '.join(told)}. Tokens: {counts.prompt_tokens} read, {counts.tokens} written.\n")


def _stage_table(group: TurnGroup) -> Table:
    numbers = ("n", "p50", "p95", "p99")
    turns = len(group.turns)
    title = f"{group.name}: {turns} turn{'s' if turns > 1 else ''}, measured / limit in ms"
    table = plain_table(title, "stage", *numbers, "ok", right=numbers)
    for stage in group.stages:
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


def _wait_table(group: TurnGroup) -> Table:
    parts = group.parts()
    title = f"voice to voice: the waits of {len(group.waits)} turns by what they were for, in ms"
    right = ("mean", "share", "p50", "p95")
    table = plain_table(title, "part", *right, "owner", "what changes it", right=right)
    whole_ms = sum(part.mean_ms for part in parts)
    for part in parts:
        whose = RESPONSIBLE[part.part]
        figures = (f"{part.mean_ms:.0f}", f"{part.mean_ms / whole_ms:.0%}", f"{part.p50_ms:.0f}", f"{part.p95_ms:.0f}")
        table.add_row(part.part, *figures, whose.owner, whose.setting, end_section=part is parts[-1])
    table.add_row("voice_to_voice", f"{whole_ms:.0f}", *[""] * 5)
    return table


# --- two sets -----------------------------------------------------------------------------------------------------------


def _compare(turns: Sequence[TurnReport], against: str, *, gate: bool, as_json: bool, out: Path | None) -> int:
    before, after = _two_sets(turns, against)
    compared = compare_sets(before, after)
    if as_json:
        write_output(json.dumps(compared_as_data(compared), indent=2) + "\n", out)
    else:
        _tell_compared(compared)
    return 1 if gate and compared.whole.is_slower else 0


def _two_sets(turns: Sequence[TurnReport], against: str) -> tuple[list[TurnRow], list[TurnRow]]:
    if (file := Path(against)).exists() or file.suffix == ".csv":
        return read_csv(file), [row(turn) for turn in turns]
    moment = Moment().convert(against, None, None)
    return [row(turn) for turn in turns if turn.at < moment], [row(turn) for turn in turns if turn.at >= moment]


def _tell_compared(compared: Comparison) -> None:
    right = ("before", "after", "difference", "interval")
    title = f"{compared.turns[0]} turns before, {compared.turns[1]} after: mean times in ms"
    table = plain_table(title, "", *right, "", right=right)
    _add(table, compared.whole, "", last=True)
    for part in compared.parts:
        _add(table, part, RESPONSIBLE[WaitCause(part.name)].owner, last=part is compared.parts[-1])
    for stage in compared.slower_unnoticed:
        _add(table, stage, "nobody waited longer for it")
    show(table)
    whole, blamed = compared.whole, compared.to_blame
    if not (whole.is_slower or whole.is_faster):
        click.echo("Callers wait as long as before, as far as these turns can tell.")
    else:
        click.echo(f"Callers wait {abs(whole.difference_ms):.0f} ms {'longer' if whole.is_slower else 'less'} in the mean.")
    click.echo(
        f"p50 {compared.p50_ms[0]:.0f} → {compared.p50_ms[1]:.0f} ms, p95 {compared.p95_ms[0]:.0f} → {compared.p95_ms[1]:.0f} ms."
    )
    if blamed is not None:
        setting = RESPONSIBLE[WaitCause(blamed.name)].setting
        click.echo(f"To blame: {blamed.name}, {blamed.difference_ms:+.0f} ms{f' ({setting})' if setting else ''}.")
    if not compared.by_calls:
        click.echo("Few calls: the intervals are too narrow where the turns of a call are alike.")


def _add(table: Table, change: Change, remark: str, *, last: bool = False) -> None:
    interval = f"[{change.low_ms:+.0f}, {change.high_ms:+.0f}]".replace("[", r"\[")
    colour = "red" if change.is_slower else "green" if change.is_faster else "default"
    figures = (f"{change.before_ms:.0f}", f"{change.after_ms:.0f}", f"[{colour}]{change.difference_ms:+.0f}[/]", interval)
    table.add_row(change.name, *figures, remark, end_section=last)
