"""`voiceagent plan --measured … --machines …`: all calls simulated on fleets of machines, placed as the gateway places them and
scaled as the cluster is scaled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import msgspec

from voiceagent.capacity.fleet import LOOP_SHARE, Carried, carried
from voiceagent.capacity.fleet_calls import Fleet, Scale, SeenWorker
from voiceagent.capacity.fleet_plan import FleetAnswer, FleetSimulation, FleetTask, beyond_measured
from voiceagent.capacity.load_result import LoadResult
from voiceagent.capacity.queueing import workload
from voiceagent.capacity.traffic import Lengths, Traffic, burst, day, day_peak, day_total, given, lengths_of, steady
from voiceagent.cli.fleet import ARRIVAL, on_workers, read_seconds
from voiceagent.cli.output import print_json
from voiceagent.cli.tables import plain_table, show
from voiceagent.cluster.autoscale import ScaleMemory, ScaleSettings, WorkerLoad, decide
from voiceagent.errors import ConfigError
from voiceagent.gateway.members import Member
from voiceagent.gateway.messages import WorkerStatus
from voiceagent.gateway.placement import load as load_of

CALLS = (1000,)
TOTAL = 100_000
MOST_TOTAL = 1_000_000
MOST_MACHINES = 20_000
UNDER_PRESSURE = 10.0
GROWTH = 2.0
"""A scaled fleet may have as many machines as this many times the peak's calls need."""


@dataclass(frozen=True, slots=True)
class Machines:
    """The fleets to simulate."""

    numbers: tuple[int, ...] = ()
    search: str = ""
    """`fewest` or `auto`."""


class MachinesType(click.ParamType[Machines]):
    """Numbers of machines with commas between them, `fewest` or `auto`."""

    name = "N[,N…]|fewest|auto"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Machines:
        """Fails for anything else."""
        told = str(value).strip()
        if told in ("fewest", "auto"):
            return Machines(search=told)
        parts = told.split(",")
        if not all(part.strip().isdecimal() and 1 <= int(part[:9]) <= MOST_MACHINES for part in parts):
            self.fail(f"{told[:40]!r}; expected `fewest`, `auto` or numbers from 1 to {MOST_MACHINES}, such as 4,6,8", param, ctx)
        return Machines(tuple(int(part) for part in parts))


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """The command's options that concern fleets."""

    machines: Machines
    workers: int
    places: int | None
    traffic: str
    total: int | None
    burst_times: float
    burst_s: float
    lengths: Path | None
    refused: float
    gateways: int
    status_s: float
    worker_start_s: float
    machine_start_s: float
    idle_places: tuple[int, ...]
    deaths: int
    resume_s: float


def simulate_fleets(
    result: LoadResult,
    calls: tuple[int, ...] | None,
    arrivals: Path | None,
    options: FleetOptions,
    *,
    cores: int | None,
    call_s: float,
    price: float | None,
    with_callers: bool,
    seed: int,
    as_json: bool,
) -> int:
    """Simulate, and print a row for each fleet. Returns the exit code: 1 where none holds the budget. Raises ConfigError."""
    load = workload(result, with_callers=with_callers)
    machine_cores = cores or load.cores
    one = carried(load, result.limits, machine_cores, seed, options.workers)
    places = min(options.places or one.places, math.floor(LOOP_SHARE / load.loop) if load.loop > 0 else one.places)
    if not places:
        click.echo("Not even one call fits within the budget.", err=True)
        return 1
    fleet = Fleet(
        machines=1,
        workers=options.workers,
        places=places,
        loop=load.loop,
        loop_most=LOOP_SHARE,
        started=1,
        gateways=options.gateways,
        status_s=options.status_s,
        machine_start_s=options.machine_start_s,
        worker_start_s=options.worker_start_s,
        deaths=options.deaths,
        resume_s=options.resume_s,
    )
    answers = []
    for traffic in _traffic(calls, arrivals, call_s, options, seed):
        task = FleetTask(load, result.limits, machine_cores, fleet, traffic, gateway_rank, price, options.refused, seed)
        answers += _answers(FleetSimulation(task), task, options)
    beyond = beyond_measured(result, cores=machine_cores, workers=options.workers, places=places)
    if as_json:
        print_json(_as_data(result, one, places, machine_cores, options, answers, beyond))
    else:
        _print(result, one, places, machine_cores, options, answers, beyond)
    return 0 if any(answer.within for _, answer in answers) else 1


def _traffic(
    calls: tuple[int, ...] | None, arrivals: Path | None, call_s: float, options: FleetOptions, seed: int
) -> list[Traffic]:
    lengths = Lengths(call_s)
    if options.lengths is not None:
        lengths = lengths_of([max(1.0, length_s) for length_s in read_seconds(options.lengths, "length of a call", 1)])
    if arrivals is not None:
        return [given(read_seconds(arrivals, ARRIVAL), lengths, seed)]
    if options.traffic == "day":
        peaks = calls if calls is not None else (day_peak(options.total or TOTAL, lengths),)
        if (most := day_total(max(peaks), lengths)) > MOST_TOTAL:
            raise ConfigError(
                f"a day with {max(peaks):,.0f} calls at a time at its peak has {most:,.0f} calls, more than the {MOST_TOTAL:,} "
                "that are simulated; simulate a part of the calls on a part of the machines"
            )
        made = [day(peak, lengths, seed) for peak in peaks]
    elif options.traffic == "burst":
        asked = options.total or TOTAL
        made = [
            burst(number, asked, lengths, seed, times=options.burst_times, lasts_s=options.burst_s) for number in calls or CALLS
        ]
    else:
        made = [steady(number, options.total or TOTAL, lengths, seed) for number in calls or CALLS]
    return made


def gateway_rank(worker: SeenWorker) -> float:
    """As the gateway places calls: by the load that it reads off a worker's status, one under pressure behind all others."""
    status = WorkerStatus("ready", "", worker.calls, worker.places, pressure=worker.level)
    return load_of(Member(worker.number, "", status)) + (UNDER_PRESSURE if worker.level >= 1.0 else 0.0)


def cluster_scale(settings: ScaleSettings) -> Scale:
    """As the cluster decides on workers."""
    memory = ScaleMemory()

    def scale(workers: Sequence[SeenWorker], now_s: float) -> tuple[int, Sequence[int]]:
        nonlocal memory
        loads = [
            WorkerLoad(one.number, one.calls, one.places, one.level, one.is_ready, one.is_draining, one.unready_s)
            for one in workers
        ]
        decision = decide(loads, settings, memory, now_s)
        memory = decision.memory
        return decision.start, () if decision.drain is None else (decision.drain,)

    return scale


def _answers(simulation: FleetSimulation, task: FleetTask, options: FleetOptions) -> list[tuple[str, FleetAnswer]]:
    chosen = options.machines
    if chosen.search == "fewest":
        return [("fewest", simulation.fewest())]
    if not chosen.search:
        return [(str(number), simulation.fixed(number)) for number in chosen.numbers]
    each = task.fleet.workers * task.fleet.places
    up = len(task.traffic.left_s)
    most = max(2, math.ceil(GROWTH * task.traffic.peak_calls / each))
    found = []
    for idle in options.idle_places:
        started = min(most, math.ceil((up + idle) / each) or 1)
        scale = cluster_scale(ScaleSettings(min_workers=1, max_workers=most * task.fleet.workers, idle_places=idle))
        found.append((f"{idle} idle", simulation.scaled(scale, started, most)))
    return found


def _print(
    result: LoadResult,
    one: Carried,
    places: int,
    cores: int,
    options: FleetOptions,
    answers: list[tuple[str, FleetAnswer]],
    beyond: list[str],
) -> None:
    limits = result.limits
    click.echo(
        f"{result.profile}: one machine of {cores} cores{on_workers(one.workers)} carries {one.calls} calls within "
        f"{limits.p50_ms:.0f} ms p50 and {limits.p95_ms:.0f} ms p95; {one.binds} binds. A worker takes {places}."
    )
    right = ("machines", "calls", "peak", "came", "refused", "p50", "p95", "p99", "an hour", "a call")
    table = plain_table("", "fleet", *right, "budget", right=right)
    for name, answer in answers:
        most = "" if answer.most_machines == answer.machines else f", at most {answer.most_machines:,}"
        table.add_row(
            name,
            f"{answer.machines:,.4g}{most}",
            f"{answer.calls:,.0f}",
            f"{answer.peak_calls:,.0f}",
            f"{answer.offered:,}",
            f"{answer.refused_share:.2%}",
            *("-" if value is None else f"{value:.0f} ms" for value in (answer.p50_ms, answer.p95_ms, answer.p99_ms)),
            "" if answer.price_an_hour is None else f"{answer.price_an_hour:,.2f}",
            "" if answer.price_a_call is None else f"{answer.price_a_call:.4f}",
            "within" if answer.within else "missed",
        )
    show(table)
    for name, answer in answers:
        if answer.interrupted:
            back = "" if answer.resumed_p95_s is None else f" within {answer.resumed_p95_s:g} s (p95)"
            click.echo(
                f"{name}: {options.deaths} machines died under {answer.interrupted} calls; "
                f"{answer.interrupted - answer.lost} went on elsewhere{back}, {answer.lost} were lost."
            )
        if answer.sent_back:
            click.echo(f"{name}: {answer.sent_back:,} times a worker was full or gone although the gateway took it for free.")
    click.echo(f"Simulated. Beyond the load test: {'; '.join(beyond)}. Times to start and to resume are as given, not measured.")


def _as_data(
    result: LoadResult,
    one: Carried,
    places: int,
    cores: int,
    options: FleetOptions,
    answers: list[tuple[str, FleetAnswer]],
    beyond: list[str],
) -> dict[str, object]:
    return {
        "profile": result.profile,
        "limits_ms": result.limits_ms,
        "cores": cores,
        "workers": one.workers,
        "calls_a_machine": one.calls,
        "places_a_worker": places,
        "binds": one.binds,
        "traffic": options.traffic,
        "fleets": [{"fleet": name, **msgspec.to_builtins(answer)} for name, answer in answers],
        "beyond_measured": beyond,
    }
