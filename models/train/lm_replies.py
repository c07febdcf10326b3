"""What the assistant says and what its tools return, as data: the answering half of the bundled language model.

Tools are named here with their parameters in the order the model writes them. Replies are one or two short sentences
that can be spoken as they stand.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

from models.train import vocabulary as words

Arguments = Mapping[str, str | int]
Result = Mapping[str, str | int | float | bool]

INTEGERS = {"people", "minutes"}
TOOLS: dict[str, tuple[str, dict[str, bool]]] = {
    "get_time": ("The time now, here or in a city.", {"city": False}),
    "get_date": ("Today's date.", {}),
    "get_weather": ("The weather, here or in a city, now or on a day.", {"city": False, "day": False}),
    "book_table": ("Book a table.", {"people": True, "day": True, "time": True, "name": False}),
    "book_appointment": ("Book an appointment.", {"service": True, "day": True, "time": True, "name": False}),
    "change_booking": ("Change a booking.", {"kind": True, "people": False, "day": False, "time": False}),
    "cancel_booking": ("Cancel a booking.", {"kind": True}),
    "order_status": ("Where an order is.", {"order_number": True}),
    "calculate": ("Work out a sum.", {"expression": True}),
    "set_timer": ("Set a timer.", {"minutes": True}),
    "cancel_timer": ("Cancel the timer.", {}),
}

SYSTEM_PROMPTS = [
    "You are a friendly voice assistant. Answer in one or two short sentences.",
    "You are a friendly voice assistant. Answer in one or two short sentences.",
    "You are a helpful voice assistant.",
    "You are a voice agent. Be brief.",
    "You are a helpful assistant.",
    "You are a friendly phone agent. Answer in one sentence.",
    "You are the voice of a small restaurant. Keep your answers short.",
    "Be helpful and polite.",
]

NOT_UNDERSTOOD = "Sorry, I did not understand. You can ask me about the time, the weather, bookings, orders, sums and timers."
NOTHING_SAID = "I have not said anything yet."
ANYTHING_ELSE = "Is there anything else I can do?"
TALK_REPLIES: dict[str, list[str]] = {
    "greeting": ["Hello! How can I help you?"],
    "how_are_you": ["I am fine, thank you. How can I help you?"],
    "thanks": ["You are welcome."],
    "goodbye": ["Goodbye, have a nice day."],
    "yes": ["Good. What can I do for you?"],
    "okay": [ANYTHING_ELSE],
    "no": ["All right. Just ask if you need anything."],
    "stop": ["Okay."],
    "wait": ["Sure, take your time."],
    "never_mind": ["All right, never mind."],
    "what_can_you_do": ["I can tell the time and the weather, book tables, check orders, do sums and set timers."],
    "who_are_you": ["I am a small voice assistant that runs on this machine."],
    "joke": ["Why did the clock go home? Its time was up.", "I told my timer a joke. It took a minute."],
    "compliment": ["Thank you, that is very kind."],
}

_QUESTIONS = {
    ("people",): "For how many people?",
    ("day",): "For which day?",
    ("time",): "At what time?",
    ("people", "day"): "For how many people, and which day?",
    ("people", "time"): "For how many people, and at what time?",
    ("day", "time"): "For which day and time?",
    ("people", "day", "time"): "For how many people, which day and what time?",
    ("service",): "What kind of appointment?",
    ("service", "day"): "What kind of appointment, and for which day?",
    ("service", "time"): "What kind of appointment, and at what time?",
    ("service", "day", "time"): "What kind of appointment, and for which day and time?",
    ("order_number",): "What is your order number?",
    ("minutes",): "For how many minutes?",
    ("change",): "What would you like to change?",
}


def question(missing: tuple[str, ...]) -> str:
    """What the assistant asks when `missing` parameters of a call were not said."""
    return _QUESTIONS[missing]


_WEATHER = ["sunny", "cloudy", "rainy", "windy", "snowy", "foggy", "clear", "stormy", "cold", "warm", "hot", "mild"]
_ERRORS = [
    "Tables are for 1 to 20 people.", "An order number has 4 to 6 digits.", "I can't divide by zero.",
    "I can't calculate that.", "A timer runs for 1 to 1440 minutes.", "No timer is running.",
    "I don't know the time in Atlantis.", "Please say what to change.", "The tool took too long.",
    "The service is not available.", "No table is free at that time.", "We are closed on that day.",
    "The order was not found.", "That day is in the past.", "The calendar is full.", "The connection was lost.",
    "Something went wrong.", "Please try again later.", "The number is too large.", "Permission was denied.",
]  # fmt: skip
_SPOKEN_SIGNS = {"+": "plus", "-": "minus", "*": "times", "/": "divided by"}


def _clock(rng: random.Random) -> str:
    return f"{rng.randint(1, 12)}:{rng.randint(0, 59):02d} {rng.choice(['AM', 'PM'])}"


def _any_day(rng: random.Random) -> str:
    return rng.choice(words.WEEKDAYS + words.NEAR_DAYS)


def _calculated(expression: str) -> Result:
    left, sign, right = expression.split()
    a, b = int(left), int(right)
    value: int | float = round(a / b, 2) if sign == "/" else {"+": a + b, "-": a - b, "*": a * b}[sign]
    result = int(value) if value == int(value) else value
    return {"expression": f"{left} {_SPOKEN_SIGNS[sign]} {right}", "result": result}


def _failure(rng: random.Random) -> Result:
    if rng.random() < 0.6:
        return {"error": rng.choice(_ERRORS)}
    pool = [w.strip(".").lower() for error in _ERRORS for w in error.split()] + words.TOPICS + words.ITEMS
    return {"error": " ".join(rng.sample(pool, rng.randint(1, 7))).capitalize() + "."}


def _order(rng: random.Random) -> Result:
    status = rng.choice(["shipped", "delayed", "delivered", "being packed", "ready for pickup", "out for delivery", "on its way"])
    arrives: Result = {}
    if status in ("shipped", "delayed", "on its way"):
        arrives = {"arrives": rng.choice(words.WEEKDAYS)} if rng.random() < 0.9 else {}
    elif status == "out for delivery":
        arrives = {"arrives": "today"}
    return {"status": status, **arrives}


class Tools:
    """Plays the tools of one conversation; it remembers what was booked, as the demo agent's tools do."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._bookings: dict[str, dict[str, str | int | float | bool]] = {}

    def call(self, tool: str, arguments: Arguments) -> Result:
        """A result the tool could return: mostly success, sometimes `{"error": …}`."""
        rng = self._rng
        if rng.random() < 0.05:
            return _failure(rng)
        match tool:
            case "get_time":
                return {"time": _clock(rng), **arguments}
            case "get_date":
                return {
                    "day": rng.choice(words.WEEKDAYS),
                    "date": f"{rng.choice(words.MONTHS)} {rng.randint(1, 31)}",
                }
            case "get_weather":
                weather: Result = {"weather": rng.choice(_WEATHER), "temperature": rng.randint(-9, 39)}
                return {"day": "today", **arguments, **weather} if "city" not in arguments else {
                    "city": arguments["city"], "day": arguments.get("day", "today"), **weather
                }  # fmt: skip
            case "order_status":
                return {"order_number": " ".join(str(arguments["order_number"])), **_order(rng)}
            case "calculate":
                return _calculated(str(arguments["expression"]))
            case "set_timer":
                return {"timer": "set", **arguments}
            case "cancel_timer":
                minutes = rng.randint(1, 60)
                return {"timer": "cancelled", "minutes": minutes} if rng.random() < 0.7 else {"error": _ERRORS[5]}
        return self._booking(tool, arguments)

    def _booking(self, tool: str, arguments: Arguments) -> Result:
        rest = {name: value for name, value in arguments.items() if name not in ("kind", "service")}
        if tool.startswith("book"):
            kind = "table" if tool == "book_table" else "appointment"
            self._bookings[kind] = {"what": arguments.get("service", "table"), **rest}
            return {"booked": arguments.get("service", "table"), **rest}
        kind = str(arguments["kind"])
        if kind not in self._bookings:
            if self._rng.random() < 0.35:
                return {"error": "There is no table booking." if kind == "table" else "There is no appointment."}
            table: Result = {"what": "table", "people": self._rng.randint(1, 12)}
            earlier = table if kind == "table" else {"what": self._rng.choice(words.SERVICES)}
            self._bookings[kind] = {**earlier, "day": _any_day(self._rng), "time": _clock(self._rng)}
        booking = self._bookings[kind]
        if tool == "cancel_booking":
            del self._bookings[kind]
            return {"cancelled": booking["what"], "day": booking["day"], "time": booking["time"]}
        booking.update(rest)
        return {"changed": booking["what"], **{name: v for name, v in booking.items() if name != "what"}}


def _on(day: object) -> str:
    return f"{day}" if str(day).lower() in words.NEAR_DAYS else f"on {day}"


def _booked(result: Result, what: object) -> str:
    people = f" for {words.written_number(int(result['people']))}" if "people" in result else ""
    name = f" under the name {result['name']}" if "name" in result else ""
    return f"{what}{people} is booked {_on(result['day'])} at {result['time']}{name}."


def reply(tool: str, arguments: Arguments, result: Result) -> str:
    """What the assistant says after `tool` was called with `arguments` and returned `result`."""
    if "error" in result:
        return f"Sorry. {result['error']}"
    where = f" in {result['city']}" if "city" in result else ""
    match tool:
        case "get_time":
            return f"It is {result['time']}{where}."
        case "get_date":
            return f"It is {result['day']}, {result['date']}."
        case "get_weather":
            when = f" {_on(arguments['day'])}" if "day" in arguments else ""
            verb = "will be" if when else "is"
            return f"It {verb} {result['weather']}{where}{when}, {result['temperature']} degrees."
        case "book_table" | "book_appointment":
            return f"Your {_booked(result, result['booked'])}"
        case "change_booking":
            return f"Okay, your {_booked(result, result['changed'])}"
        case "cancel_booking":
            return f"Your {result['cancelled']} {_on(result['day'])} at {result['time']} is cancelled."
        case "order_status":
            arrives = f" and arrives {_on(result['arrives'])}" if "arrives" in result else ""
            return f"Your order is {result['status']}{arrives}."
        case "calculate":
            return f"{str(result['expression']).capitalize()} is {result['result']}."
        case "set_timer":
            minutes = int(arguments["minutes"])
            return f"I set a timer for {words.written_number(minutes)} minute{'s' if minutes > 1 else ''}."
    return "The timer is cancelled."


def tool_schemas() -> list[dict[str, object]]:
    """`TOOLS` as OpenAI function schemas."""
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": description,
                "parameters": {
                    "type": "object",
                    "properties": {p: {"type": "integer" if p in INTEGERS else "string"} for p in parameters},
                    "required": [p for p, required in parameters.items() if required],
                },
            },
        }
        for name, (description, parameters) in TOOLS.items()
    ]
