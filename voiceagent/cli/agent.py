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
    """Draw the steps of an agent as a Mermaid flowchart.

    \b
    voiceagent agent graph agent.yaml > steps.mmd
    """
    from voiceagent.settings.agent import load_agent
    from voiceagent.settings.steps import as_mermaid

    steps = load_agent(file).steps
    if not steps:
        click.echo(f"{file}: the agent has no `steps`; docs/steps.md shows how to write them", err=True)
        return 2
    click.echo(as_mermaid(steps))
    return 0
