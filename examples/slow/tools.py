"""Slow tools, and what each leaves behind: `effect` says whether a tool may run before it is certain that it is wanted."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

from voiceagent.tools import tool

Day = Annotated[str, "as the caller said it: tomorrow, Friday, May third"]
Time = Annotated[str, "as the caller said it: 7:30 PM, noon"]

bookings: list[dict[str, Any]] = []


@tool(effect="none")
async def get_time() -> dict[str, Any]:
    """Tell the time of day."""
    await asyncio.sleep(0.1)
    now = datetime.now()
    return {"time": f"{now.hour % 12 or 12}:{now.minute:02d} {'AM' if now.hour < 12 else 'PM'}"}


@tool(effect="none", filler=("I am asking the weather service.", "Let me look at the weather."))
async def get_weather(city: str = "", day: Day = "") -> dict[str, Any]:
    """Tell the weather here or in a city, today or on another day. (Made up.)"""
    await asyncio.sleep(1.5)
    return {**({"city": city} if city else {}), "day": day or "today", "weather": "sunny", "temperature": 21}


@tool(effect="external", confirm="Shall I book a table for {people} on {day} at {time}?", filler="I am booking it.")
async def book_table(people: int, day: Day, time: Time) -> dict[str, Any]:
    """Book a table."""
    await asyncio.sleep(2.0)
    bookings.append({"people": people, "day": day, "time": time})
    return {"booked": "table", **bookings[-1]}
