"""A module of tools, found by its dotted name."""

from voiceagent.tools import tool


@tool(effect="none", filler="One moment.")
def ping() -> str:
    """Answer."""
    return "pong"
