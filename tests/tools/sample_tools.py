"""A module of tools, found by its dotted name."""

from voiceagent.tools import tool


@tool(effect="none")
def ping() -> str:
    """Answer."""
    return "pong"
