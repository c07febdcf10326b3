"""`voiceagent plan --measured`: what a load test says of the machines for any number of calls."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec

from voiceagent.capacity.fleet import Carried, FleetRow, carried, machines_for, places_for, places_of
from voiceagent.capacity.load_result import LoadResult
from voiceagent.capacity.queueing import workload
from voiceagent.cli.tables import plain_table, show
from voiceagent.errors import ConfigError

DEFAULT_CALLS = (10, 100, 1000, 10_000, 100_000)
MOST_CALLS = 1_000_000
MAX_LINES = 1_000_000
ARRIVAL = "second at which a call comes"


def plan_fleet(
    result: LoadResult,
    calls: tuple[int, ...],
    arrivals: Path | None,
    *,
    cores: int | None,
    workers: int,
    call_s: float,
    price: float | None,
    with_callers: bool,
    seed: int,
    as_json: bool,
) -> int:
    """Simulate, and print the machines. Returns the exit code. Raises ConfigError."""
    load = workload(result, with_callers=with_callers)
    machine_cores = cores or load.cores
    one = carried(load, result.limits, machine_cores, seed, workers)
    if arrivals is None:
        wanted = [(float(number), places_for(number)) for number in calls]
    else:
        wanted = [places_of(read_seconds(arrivals, ARRIVAL), call_s, seed)]
    rows = [
        machines_for(load, one, number, places, cores=machine_cores, call_s=call_s, price=price, seed=seed)
        for number, places in wanted
        if one.calls
    ]
    if as_json:
        click.echo(json.dumps(_as_data(result, one, rows, machine_cores), indent=2))
    else:
        _print(result, one, rows, machine_cores)
    return 0 if one.calls else 1


def read_seconds(path: Path, told: str, least: int = 2) -> list[float]:
    """The seconds in a file, one a line; `told` is what they are, for its mistakes. Raises ConfigError."""
    try:
        with path.open(encoding="utf-8") as file:
            lines = [(number, line.strip()) for number, line in enumerate(file, start=1)]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read ({error}); expected seconds, one a line") from error
    found = []
    for number, line in lines:
        try:
            value_s = float(line or "nan")
        except ValueError:
            value_s = float("nan")
        if line and not 0 <= value_s <= 1e9:
            raise ConfigError(f"{path}:{number}: {line[:40]!r} is no {told}; expected a number from 0 on")
        if line:
            found.append(value_s)
    if not least <= len(found) <= MAX_LINES:
        raise ConfigError(f"{path}: has {len(found)} calls; expected {least} to {MAX_LINES}, a second a line")
    return found


def on_workers(workers: int) -> str:
    """Told only where there are several."""
    return f" and {workers} workers" if workers > 1 else ""


def _print(result: LoadResult, one: Carried, rows: list[FleetRow], cores: int) -> None:
    limits = result.limits
    machine = f"one machine of {cores} cores{on_workers(one.workers)}"
    simulated = f"simulated {one.at_most.percentile_ms(50):.0f}, {one.at_most.percentile_ms(95):.0f}"
    click.echo(
        f"{result.profile}: {machine} carries {one.calls} calls within {limits.p50_ms:.0f} ms p50 and {limits.p95_ms:.0f} ms p95 "
        f"({simulated}); {one.binds} binds"
    )
    right = ("calls", "places", "machines", "p50", "p95", "p99", "an hour")
    table = plain_table("", *right, right=right)
    for row in rows:
        table.add_row(
            f"{row.calls:,.0f}" if row.calls >= 10 else f"{row.calls:.1f}",
            f"{row.places:,}",
            f"{row.machines:,}",
            *(f"{value:.0f} ms" for value in (row.p50_ms, row.p95_ms, row.p99_ms)),
            "" if row.price is None else f"{row.price:,.2f}",
        )
    if rows:
        show(table)
        click.echo("Places: room for calls that come at random, so that one in a hundred finds none. Simulated from a load test.")


def _as_data(result: LoadResult, one: Carried, rows: list[FleetRow], cores: int) -> dict[str, object]:
    return {
        "profile": result.profile,
        "limits_ms": result.limits_ms,
        "cores": cores,
        "workers": one.workers,
        "calls_a_machine": one.calls,
        "binds": one.binds,
        "voice_to_voice_ms": {f"p{percent}": one.at_most.percentile_ms(percent) for percent in (50, 95, 99)},
        "rows": [msgspec.to_builtins(row) for row in rows],
    }
