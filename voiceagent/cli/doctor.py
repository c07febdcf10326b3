"""`voiceagent doctor`: checks of this machine, and advice for what does not work."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from voiceagent.doctor import examine
from voiceagent.doctor.finding import Finding, Settings

_MARKS = {"ok": "[green]ok  [/]", "warn": "[yellow]warn[/]", "fail": "[red]fail[/]"}


@click.command(
    epilog="""\b
Examples:
  voiceagent doctor                          with serve's defaults
  voiceagent doctor --port 9000 --config agent.yaml
  voiceagent doctor --profile cpu            are the profile's models here?
  voiceagent doctor --json                   for programs: a list of name, status, detail and advice

Exit codes: 0 nothing failed (there may be warnings), 1 something failed, 2 wrong usage."""
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address that `serve` would bind.")
@click.option("--port", default=8080, show_default=True, type=click.IntRange(0, 65535), help="The port that `serve` would bind.")
@click.option("--profile", default="", help="The profile that `serve` would run; else the agent's.")
@click.option("--stt", metavar="PATH", default="", help="As for `serve`: a recogniser of your own.")
@click.option("--llm", metavar="PATH", default="", help="As for `serve`: a language model of your own.")
@click.option("--tts", metavar="PATH", default="", help="As for `serve`: a voice of your own.")
@click.option("--config", type=click.Path(path_type=Path), help="The agent's agent.yaml; else the demo's.")
@click.option("--budgets", type=click.Path(path_type=Path), help="The latency budgets; else the shipped ones.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(
    host: str,
    port: int,
    profile: str,
    stt: str,
    llm: str,
    tts: str,
    config: Path | None,
    budgets: Path | None,
    as_json: bool,
) -> int:
    """Say what works on this machine, and what to do about what does not. The agent is started as `serve` would, and stopped."""
    console = Console(soft_wrap=True, highlight=False)
    findings: list[Finding] = []
    for finding in examine(Settings(host, port, config, budgets, profile, stt, llm, tts)):
        findings.append(finding)
        if as_json:
            continue
        console.print(f"{_MARKS[finding.status]} {finding.name}: ", end="")
        console.print(finding.detail, markup=False)
        if finding.advice:
            console.print(f"     → {finding.advice}", markup=False)
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2, ensure_ascii=False))
    return 1 if any(finding.status == "fail" for finding in findings) else 0
