"""`voiceagent agent`: looks at an agent's file."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def agent() -> None:
    """Look at an agent's file."""


@agent.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def graph(file: Path) -> int:
    """Draw the steps of an agent as a Mermaid flowchart, with the agents that it hands calls off to.

    \b
    voiceagent agent graph agent.yaml > steps.mmd
    """
    from voiceagent.settings.agent import load_agent
    from voiceagent.settings.steps import as_mermaid

    loaded = load_agent(file)
    if not loaded.steps:
        click.echo(f"{file}: the agent has no `steps`; docs/steps.md shows how to write them", err=True)
        return 2
    agents = {name: other.steps for name, other in loaded.agents.items()}
    click.echo(as_mermaid(loaded.steps, loaded.file, agents))
    return 0
