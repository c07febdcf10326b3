"""`voiceagent bench`: measurements. `simulate` shows what the turn engine decides in many generated calls, `load` how many calls
a server carries."""

from __future__ import annotations

import time
from pathlib import Path

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from voiceagent.call.rules import rules_of
from voiceagent.cli.load import load
from voiceagent.cli.output import json_option, print_json
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.simulation.run import simulate as run_simulation
from voiceagent.simulation.run import simulate_one, with_tools
from voiceagent.simulation.tally import PERCENTILES, Tally
from voiceagent.store.event_log import EventLog, LogFile
from voiceagent.tools.toolset import ToolSet


@click.group(
    epilog="""\b
Examples:
  voiceagent bench load --calls 8 --ramp         the most calls that a server carries, and what binds
  voiceagent bench simulate --calls 1000         what the turn engine decides in generated calls"""
)
def bench() -> None:
    """Measure what the turn engine decides, and how many calls a server carries."""


bench.add_command(load)


@bench.command(
    epilog="""\b
Examples:
  voiceagent bench simulate                       100,000 calls of the demo agent
  voiceagent bench simulate --config agent.yaml   with the turn settings of yours
  voiceagent bench simulate --json                for programs
  voiceagent bench simulate --save 17 && voiceagent replay simulated-17.jsonl

A call is named by its number: the same number is the same call. Delays are generated, not measured.
Exit codes: 0 every rule of the turn engine held in every call, 1 one did not."""
)
@click.option("--calls", default=100_000, show_default=True, type=click.IntRange(1, 10_000_000), help="How many.")
@click.option("--first", default=0, show_default=True, type=click.IntRange(0), help="The first call's number.")
@click.option("--jobs", default=0, type=click.IntRange(0, 256), help="Processes. Default: one a core.")
@click.option("--config", type=click.Path(path_type=Path), help="The agent's YAML file. Default: the demo agent.")
@click.option("--save", type=click.IntRange(0), metavar="NUMBER", help="Only run this call, and write its event log here.")
@json_option
def simulate(calls: int, first: int, jobs: int, config: Path | None, save: int | None, as_json: bool) -> int:
    """Run the turn engine over generated calls in virtual time, and show how it decided and how long that took."""
    agent = load_agent(config or demo_agent_file())
    rules = with_tools(rules_of(agent, ToolSet()))
    console = Console()
    began_s = time.perf_counter()
    if save is not None:
        file = LogFile(Path(f"simulated-{save}.jsonl"))
        log = EventLog(file, f"simulated-{save}", rules)
        tally = simulate_one(rules, save, log.record)
        log.close()
        console.print(f"written to {file.path}")
    else:
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("simulating calls", total=calls)
            tally = run_simulation(
                rules, calls, first=first, jobs=jobs, progress=lambda done: progress.update(task, completed=done)
            )
    elapsed_s = time.perf_counter() - began_s
    if as_json:
        print_json(_as_data(tally, elapsed_s))
    else:
        console.print(_decisions(tally))
        console.print(_times(tally))
        console.print(f"{tally.calls:,} calls, {tally.events:,} events in {elapsed_s:.1f} s")
        for line in tally.broken:
            console.print(f"[red]broken rule:[/] {line}; see it with --save {line.split()[1].rstrip(':')}")
    return 1 if tally.broken else 0


def _decisions(tally: Tally) -> Table:
    table = Table(title="Decisions", title_justify="left")
    table.add_column("what")
    table.add_column("decided")
    table.add_column("times", justify="right")
    table.add_column("share", justify="right")
    for question, answers in sorted(tally.decisions.items()):
        for row, (answer, count) in enumerate(answers.most_common()):
            table.add_row("" if row else question, answer, f"{count:,}", f"{100 * tally.share(question, answer):.1f} %")
        table.add_section()
    return table


def _times(tally: Tally) -> Table:
    table = Table(title="Times in ms, from generated delays", title_justify="left")
    table.add_column("of")
    table.add_column("times", justify="right")
    for percent in PERCENTILES:
        table.add_column(f"p{percent}", justify="right")
    for name, bins in sorted(tally.times.items()):
        table.add_row(name, f"{bins.total():,}", *(f"{ms:.0f}" for ms in tally.percentiles_ms(name)))
    return table


def _as_data(tally: Tally, elapsed_s: float) -> dict[str, object]:
    return {
        "calls": tally.calls,
        "events": tally.events,
        "elapsed_s": round(elapsed_s, 2),
        "decisions": {question: dict(answers) for question, answers in sorted(tally.decisions.items())},
        "times_ms": {
            name: {"count": bins.total()} | {f"p{p}": ms for p, ms in zip(PERCENTILES, tally.percentiles_ms(name), strict=True)}
            for name, bins in sorted(tally.times.items())
        },
        "broken": tally.broken,
    }
