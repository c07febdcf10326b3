"""The demo agent's tools. Each `@tool` function is told to the model by its signature and docstring; what it returns is the
JSON that the model answers from. `effect="none"` says that a run changes nothing. Nothing here leaves this process:
the weather and the orders are made up, bookings and the timer live in memory, for all callers together."""

from __future__ import annotations

import ast
import hashlib
import operator
from datetime import datetime
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from voiceagent.tools import ToolError, tool

ZONES = {
    "Amsterdam": "Europe/Amsterdam", "Athens": "Europe/Athens", "Atlanta": "America/New_York", "Austin": "America/Chicago",
    "Bangkok": "Asia/Bangkok", "Barcelona": "Europe/Madrid", "Beijing": "Asia/Shanghai", "Berlin": "Europe/Berlin",
    "Boston": "America/New_York", "Brussels": "Europe/Brussels", "Budapest": "Europe/Budapest", "Cairo": "Africa/Cairo",
    "Cambridge": "Europe/London", "Chicago": "America/Chicago", "Copenhagen": "Europe/Copenhagen", "Dallas": "America/Chicago",
    "Delhi": "Asia/Kolkata", "Denver": "America/Denver", "Dublin": "Europe/Dublin", "Edinburgh": "Europe/London",
    "Geneva": "Europe/Zurich", "Glasgow": "Europe/London", "Hamburg": "Europe/Berlin", "Helsinki": "Europe/Helsinki",
    "Hong Kong": "Asia/Hong_Kong", "Houston": "America/Chicago", "Lisbon": "Europe/Lisbon", "London": "Europe/London",
    "Los Angeles": "America/Los_Angeles", "Madrid": "Europe/Madrid", "Manchester": "Europe/London",
    "Mexico City": "America/Mexico_City", "Miami": "America/New_York", "Milan": "Europe/Rome", "Moscow": "Europe/Moscow",
    "Mumbai": "Asia/Kolkata", "Munich": "Europe/Berlin", "Nairobi": "Africa/Nairobi", "Naples": "Europe/Rome",
    "New York": "America/New_York", "Oslo": "Europe/Oslo", "Oxford": "Europe/London", "Paris": "Europe/Paris",
    "Phoenix": "America/Phoenix", "Portland": "America/Los_Angeles", "Prague": "Europe/Prague", "Rome": "Europe/Rome",
    "San Francisco": "America/Los_Angeles", "Seattle": "America/Los_Angeles", "Seoul": "Asia/Seoul",
    "Singapore": "Asia/Singapore", "Stockholm": "Europe/Stockholm", "Sydney": "Australia/Sydney", "Tokyo": "Asia/Tokyo",
    "Toronto": "America/Toronto", "Vancouver": "America/Vancouver", "Venice": "Europe/Rome", "Vienna": "Europe/Vienna",
    "Warsaw": "Europe/Warsaw", "Zurich": "Europe/Zurich",
}  # fmt: skip
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

bookings: dict[str, dict[str, Any]] = {}
timers: list[int] = []

Kind = Annotated[Literal["table", "appointment"], "what was booked"]
Day = Annotated[str, "as the caller said it: tomorrow, Friday, May third"]
Time = Annotated[str, "as the caller said it: 7:30 PM, noon"]
Name = Annotated[str, "the name to book under, if given"]


@tool(effect="none")
def get_time(city: Annotated[str, "leave out for the local time"] = "") -> dict[str, Any]:
    """Tell the time of day, here or in a city."""
    zone = next((zone for known, zone in ZONES.items() if known.lower() == city.lower()), None)
    if city and zone is None:
        raise ToolError(f"I don't know the time in {city}.")
    now = datetime.now(ZoneInfo(zone) if zone else None)
    time = f"{now.hour % 12 or 12}:{now.minute:02d} {'AM' if now.hour < 12 else 'PM'}"
    return {"time": time, "city": city} if city else {"time": time}


@tool(effect="none")
def get_date() -> dict[str, Any]:
    """Tell today's day of the week and date."""
    now = datetime.now()
    return {"day": WEEKDAYS[now.weekday()], "date": f"{now:%B} {now.day}"}


@tool(effect="none")
def get_weather(city: str = "", day: Day = "") -> dict[str, Any]:
    """Tell the weather here or in a city, today or on another day. (A made-up forecast, the same for the same words.)"""
    day = day or "today"
    number = _number(city, day)
    temperature = number % 33
    cold = ["snowy", "cloudy", "foggy", "clear"]
    mild = ["sunny", "cloudy", "rainy", "windy", "foggy", "stormy", "clear"]
    weather = cold[number // 33 % 4] if temperature < 3 else mild[number // 33 % 7]
    where = {"city": city} if city else {}
    return {**where, "day": day, "weather": weather, "temperature": temperature}


@tool
def book_table(people: int, day: Day, time: Time, name: Name = "") -> dict[str, Any]:
    """Book a table."""
    if not 1 <= people <= 20:
        raise ToolError("Tables are for 1 to 20 people.")
    bookings["table"] = {"people": people, "day": day, "time": time, **({"name": name} if name else {})}
    return {"booked": "table", **bookings["table"]}


@tool
def book_appointment(
    service: Annotated[str, "such as haircut, dentist, repair"], day: Day, time: Time, name: Name = ""
) -> dict[str, Any]:
    """Book an appointment for a service."""
    bookings["appointment"] = {"service": service, "day": day, "time": time, **({"name": name} if name else {})}
    return _spoken("booked", "appointment")


@tool
def change_booking(kind: Kind, people: int | None = None, day: Day = "", time: Time = "") -> dict[str, Any]:
    """Change the number of people, the day or the time of the latest booking."""
    booking = _existing(kind)
    changes = {"people": people if kind == "table" else None, "day": day, "time": time}
    changes = {key: value for key, value in changes.items() if value}
    if not changes:
        raise ToolError("Please say what to change.")
    booking.update(changes)
    return _spoken("changed", kind)


@tool(confirm=False)  # the demo's bookings are made up; ask before you cancel real ones: confirm="Shall I cancel the {kind}?"
def cancel_booking(kind: Kind) -> dict[str, Any]:
    """Cancel the latest booking."""
    _existing(kind)
    told = _spoken("cancelled", kind)
    del bookings[kind]
    return {key: told[key] for key in ("cancelled", "day", "time")}


@tool(effect="none")
def order_status(order_number: Annotated[str, "4 to 6 digits"]) -> dict[str, Any]:
    """Tell where an order is and when it arrives. (Made up, the same for the same number.)"""
    digits = "".join(character for character in order_number if character.isdigit())
    if not 4 <= len(digits) <= 6:
        raise ToolError("An order number has 4 to 6 digits.")
    number = _number(digits)
    weekday = WEEKDAYS[number // 6 % 7]
    status, arrives = [
        ("shipped", weekday),
        ("delayed", weekday),
        ("out for delivery", "today"),
        ("delivered", ""),
        ("being packed", ""),
        ("ready for pickup", ""),
    ][number % 6]
    return {"order_number": " ".join(digits), "status": status, **({"arrives": arrives} if arrives else {})}


@tool(effect="none")
def calculate(expression: Annotated[str, "such as 12 + 30"]) -> dict[str, Any]:
    """Add, subtract, multiply or divide numbers."""
    try:
        result = _value(ast.parse(expression.strip(), mode="eval").body)
    except ZeroDivisionError:
        raise ToolError("I can't divide by zero.") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ToolError("I can't calculate that.") from None
    whole = float(result).is_integer()
    words = expression
    for sign, word in {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}.items():
        words = words.replace(sign, f" {word} ")
    return {"expression": " ".join(words.split()), "result": int(result) if whole else round(result, 2)}


@tool
def set_timer(minutes: int) -> dict[str, Any]:
    """Set a timer. (The demo only remembers it: nothing rings.)"""
    if not 1 <= minutes <= 1440:
        raise ToolError("A timer runs for 1 to 1440 minutes.")
    timers[:] = [minutes]
    return {"timer": "set", "minutes": minutes}


@tool(confirm=False)
def cancel_timer() -> dict[str, Any]:
    """Cancel the timer."""
    if not timers:
        raise ToolError("No timer is running.")
    return {"timer": "cancelled", "minutes": timers.pop()}


def _number(*words: str) -> int:
    """The same large number for the same words, in any process."""
    return int.from_bytes(hashlib.sha256("|".join(words).lower().encode()).digest()[:6], "big")


def _existing(kind: str) -> dict[str, Any]:
    if kind not in bookings:
        raise ToolError("There is no table booking." if kind == "table" else "There is no appointment.")
    return bookings[kind]


def _spoken(done: str, kind: str) -> dict[str, Any]:
    booking = dict(bookings[kind])
    return {done: booking.pop("service", kind), **booking}


OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
LARGEST = 10**12


def _value(node: ast.expr) -> float:
    """The value of a sum of numbers; anything else in it (names, calls, powers) is refused."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        value: float = node.value
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        value = OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = -_value(node.operand)
    else:
        raise ValueError("not a sum")
    if abs(value) > LARGEST:
        raise ValueError("too large")
    return value
