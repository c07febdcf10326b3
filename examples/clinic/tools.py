"""The tools of a doctor's reception. Appointments are kept for as long as the server runs."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.tools import CallContext, ToolError, tool

TIMES = ("9 AM", "11 AM", "3 PM")
booked: dict[tuple[str, str], str] = {}
"""The surname, by day and time."""


@dataclass
class Booking:
    """What the tools keep of a call."""

    day: str = ""
    time: str = ""


def _plain(time: str) -> str:
    """The time as "9am", however a recogniser writes it: "9 AM", "nine a.m."."""
    plain = "".join(filter(str.isalnum, time.casefold()))
    for word, number in {"nine": "9", "eleven": "11", "three": "3"}.items():
        plain = plain.replace(word, number)
    return plain


@tool(effect="none")
def free_times(day: str) -> dict[str, object]:
    """The free times on a day of the week."""
    return {"day": day, "free": [time for time in TIMES if (day.casefold(), time) not in booked]}


@tool(confirm="Shall I book {time} on {day} for {surname}?")
def book(day: str, time: str, surname: str, call: CallContext[Booking]) -> dict[str, object]:
    """Book an appointment at a free time."""
    time = next((each for each in TIMES if _plain(each) == _plain(time)), time)
    if time not in TIMES:
        raise ToolError(f"There is no appointment at {time}; there is {', '.join(TIMES)}.")
    if booked.setdefault((day.casefold(), time), surname) != surname:
        raise ToolError(f"{time} on {day} is taken.")
    call.state.day, call.state.time = day, time
    return {"booked": True, "day": day, "time": time}
