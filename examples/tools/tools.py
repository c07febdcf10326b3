"""Python functions as tools: one that only looks, and one that changes the world and is confirmed first."""

from __future__ import annotations

from datetime import datetime
from time import sleep
from typing import Annotated, Any

from voiceagent.tools import ToolError, tool


@tool(effect="none")
async def get_time() -> dict[str, Any]:
    """Tell the time of day."""
    now = datetime.now()
    return {"time": f"{now.hour % 12 or 12}:{now.minute:02d} {'AM' if now.hour < 12 else 'PM'}"}


@tool(
    effect="external",
    confirm="Shall I book a table for {people} people on {day} at {time}?",
    filler=("I am booking it.", "One moment, I am booking that."),
    timeout_s=10,
)
def book_table(
    people: int,
    day: Annotated[str, "as the caller said it: tomorrow, Friday, May third"],
    time: Annotated[str, "as the caller said it: 7:30 PM, noon"],
) -> dict[str, Any]:
    """Book a table."""
    if not 1 <= people <= 20:
        raise ToolError("Tables are for 1 to 20 people.")
    sleep(1.5)  # a slow booking system: a plain function may block, it runs off the event loop
    return {"booked": "table", "people": people, "day": day, "time": time}
