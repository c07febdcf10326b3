"""`voiceagent agent`: looks at an agent's file."""

from __future__ import annotations

from pathlib import Path

import click

from voiceagent.cli.output import json_option, print_json


@click.group(
    epilog="""\b
Examples:
  voiceagent agent graph agent.yaml > steps.mmd"""
)
def agent() -> None:
    """Look at an agent's file."""


@agent.command(
    epilog="""\b
Examples:
  voiceagent agent graph agent.yaml > steps.mmd
  voiceagent agent graph agent.yaml --json           for programs: steps, ways and their conditions

Exit codes: 0 it was drawn, 1 the file has a mistake, 2 the agent has no steps."""
)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
def graph(file: Path, as_json: bool) -> int:
    """Draw the steps of an agent's FILE as a Mermaid flowchart, with the agents that it hands calls off to."""
    from voiceagent.settings.agent import load_agent
    from voiceagent.settings.steps import as_data, as_mermaid

    loaded = load_agent(file)
    if not loaded.steps:
        click.echo(f"{file}: the agent has no `steps`; docs/steps.md shows how to write them", err=True)
        return 2
    agents = {name: other.steps for name, other in loaded.agents.items()}
    if as_json:
        print_json({"steps": as_data(loaded.steps), "agents": {name: as_data(steps) for name, steps in agents.items()}})
        return 0
    click.echo(as_mermaid(loaded.steps, loaded.file, agents))
    return 0
