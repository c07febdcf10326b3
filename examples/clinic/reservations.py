"""Tools that book with a telephone number, which the engine collects before they run."""

from __future__ import annotations

from voiceagent.tools import tool


@tool(confirm="Shall I book {time} for {surname}?")
def reserve(day: str, time: str, surname: str, phone: str) -> dict[str, object]:
    """Book an appointment at a free time."""
    return {"booked": True, "day": day, "time": time, "surname": surname, "we_call": phone}


@tool(confirm="Soll ich {time} für {surname} buchen?")
def buchen(day: str, time: str, surname: str, phone: str) -> dict[str, object]:
    """Buche einen Termin zu einer freien Zeit."""
    return {"booked": True, "day": day, "time": time, "surname": surname, "we_call": phone}
