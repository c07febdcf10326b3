"""`voiceagent doctor`: checks of this machine, and advice for what does not work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from voiceagent.cli.output import json_option, print_json
from voiceagent.doctor import examine
from voiceagent.doctor.finding import Finding, Settings
from voiceagent.doctor.machine_facts import MachineFacts, facts_of_this_machine
from voiceagent.doctor.recommendation import Recommendation, recommend
from voiceagent.models.registry import registry, size_text
from voiceagent.settings.agent import models_cache_dir

_MARKS = {"ok": "[green]ok  [/]", "warn": "[yellow]warn[/]", "fail": "[red]fail[/]"}


@click.command(
    epilog="""\b
Examples:
  voiceagent doctor                          with serve's defaults
  voiceagent doctor --port 9000 --config agent.yaml
  voiceagent doctor --profile cpu            are the profile's models here?
  voiceagent doctor --json                   for programs: a list of name, status, detail and advice
  voiceagent doctor --recommend              which models this machine carries, by what was measured

Exit codes: 0 nothing failed (there may be warnings), 1 something failed, 2 wrong usage.
With --recommend: 1 when this machine is too small for any profile."""
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address that `serve` would bind.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="The port that `serve` would bind.")
@click.option("--profile", default="", help="The profile that `serve` would run; else the agent's.")
@click.option("--stt", metavar="PATH", default="", help="As for `serve`: a recogniser of your own.")
@click.option("--llm", metavar="PATH", default="", help="As for `serve`: a language model of your own.")
@click.option("--llm-url", metavar="URL", default="", help="As for `serve`: a language model server. It is tried out.")
@click.option("--llm-model", metavar="NAME", default="", help="As for `serve`: its model.")
@click.option("--tts", metavar="PATH", default="", help="As for `serve`: a voice of your own.")
@click.option("--config", type=click.Path(path_type=Path), help="The agent's agent.yaml; else the demo's.")
@click.option("--budgets", type=click.Path(path_type=Path), help="The latency budgets; else the shipped ones.")
@click.option("--recommend", "recommends", is_flag=True, help="Only say which profile this machine carries, and why.")
@json_option
def doctor(
    host: str,
    port: int,
    profile: str,
    stt: str,
    llm: str,
    llm_url: str,
    llm_model: str,
    tts: str,
    config: Path | None,
    budgets: Path | None,
    recommends: bool,
    as_json: bool,
) -> int:
    """Say what works on this machine, and what to do about what does not. The agent is started as `serve` would, and stopped."""
    if recommends:
        return _recommend(as_json)
    console = Console(soft_wrap=True, highlight=False)
    findings: list[Finding] = []
    for finding in examine(Settings(host, port, config, budgets, profile, stt, llm, tts, llm_url, llm_model)):
        findings.append(finding)
        if as_json:
            continue
        console.print(f"{_MARKS[finding.status]} {finding.name}: ", end="")
        console.print(finding.detail, markup=False)
        if finding.advice:
            console.print(f"     → {finding.advice}", markup=False)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    return 1 if any(finding.status == "fail" for finding in findings) else 0


def _recommend(as_json: bool) -> int:
    facts = facts_of_this_machine(models_cache_dir())
    found = recommend(facts, registry(), models_cache_dir())
    if as_json:
        print_json({"machine": asdict(facts), **asdict(found)})
    else:
        for line in recommendation_lines(facts, found):
            click.echo(line)
    return 0 if found.profile else 1


def recommendation_lines(facts: MachineFacts, found: Recommendation) -> Iterator[str]:
    """Yields the lines of a recommendation for people."""
    gpus = ", ".join(f"{gpu.name} with {gpu.memory_bytes / 1e9:.0f} GB" for gpu in facts.gpus) or "no NVIDIA GPU"
    yield (
        f"This machine: {facts.cores:g} {'core' if facts.cores == 1 else 'cores'} ({facts.architecture}), "
        f"{facts.memory_bytes / 1e9:.1f} GB of memory, {gpus}, {size_text(facts.free_disk_bytes)} free for models."
    )
    if found.profile:
        yield f"Serve the profile {found.profile}:"
        yield from (f"  {step}" for step in found.next_steps)
    else:
        yield "No profile was measured on such a machine."
    yield ""
    for advice in found.profiles:
        fetched = f", {size_text(advice.to_fetch_bytes)} to fetch" if advice.to_fetch_bytes else ", models are here"
        yield f"{advice.profile}: {advice.verdict}{fetched}"
        yield from (f"  - {line}" for line in advice.why)
    if any(advice.verdict == "untried" for advice in found.profiles):
        yield ""
        yield "An untried profile may be better, or too slow; to find out: voiceagent bench load --calls 4 --ramp --profile NAME"
