"""The tools of this agent. The language model is told of each `@tool` function: its name, its parameters with their types, and
the first paragraph of its docstring. What a tool returns becomes JSON, from which the model answers."""

from __future__ import annotations

from typing import Annotated

from voiceagent.tools import ToolError, tool

# Put your own data here, or ask your database or web service in the tool.
ORDERS = {"48271": "out for delivery", "50318": "being packed"}


@tool(effect="none")  # it only looks, so it may run while the caller still speaks; leave this out where a tool changes something
def order_status(order_number: Annotated[str, "4 to 6 digits"]) -> dict[str, str]:
    """Tell where an order is."""
    digits = "".join(filter(str.isdigit, order_number))
    if digits not in ORDERS:
        raise ToolError(f"There is no order {' '.join(digits)}.")  # the model tells the caller in its own words
    return {"order_number": " ".join(digits), "status": ORDERS[digits]}
