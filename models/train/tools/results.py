"""What a tool answers, and what the agent says of it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from typing import Any

from models.train.tools.families import Made
from models.train.tools.requests import Request, fill
from models.train.tools.values import Drawn
from models.train.tools.yaml_data import cap, read, words

FAILURE_SHARE, RECORD_SHARE = 0.09, 0.13
"""Of the calls: those that fail, and those that give a record of any fields."""
COUNTED = ("free", "available", "count", "stock")
"""Fields that are said as "no" or "There is 1"."""
FIXED = {"yes": True, "no": False, "none": []}


def outcome(made: Made, asked: Request, rng: random.Random) -> tuple[str, str]:
    """The tool's JSON, and the answer that tells it."""
    roll = rng.random()
    if roll < FAILURE_SHARE:
        return _failure(made, rng)
    if roll < FAILURE_SHARE + RECORD_SHARE:
        return _record(asked, rng)
    said, fields = rng.choice(made.family.done)
    result: dict[str, Any] = {}
    shown: dict[str, str] = {}
    for key, kind in (one.split("=") for one in fields.split(",") if one):
        result[key] = _same(key, asked) if kind == "same" else _drawn(kind, rng)
        if kind != "same":
            shown[key] = " and ".join(result[key]) if isinstance(result[key], list) else str(result[key])
    if not fields:
        result = _plain_result(made, asked, rng)
    elif rng.random() < 0.35:
        result = {**{key: value for key, value in asked.arguments.items() if key not in result}, **result}
    return json.dumps(result, ensure_ascii=False), _told(said, shown, made, asked, rng)


def _same(key: str, asked: Request) -> Any:
    """What the caller named comes back in the result."""
    named = ("thing", "city", "day", "code", "mixed", "expression")
    return next((value for slot, (_, value) in asked.values.items() if slot == key or slot in named), key)


def _plain_result(made: Made, asked: Request, rng: random.Random) -> dict[str, Any]:
    given = asked.arguments
    return rng.choice(
        [
            {"status": rng.choice(["ok", "done", "confirmed", "success", "booked", "scheduled"])},
            {"ok": True},
            {"result": "done"},
            {**given, "done": True},
            {made.family.ability.split()[0] + "ed": made.object or made.name, **given},
            {"confirmed": given or True},
        ]
    )


def _told(said: str, shown: dict[str, str], made: Made, asked: Request, rng: random.Random) -> str:
    def spoken(key: str, value: Drawn) -> str:
        leads = key in ("day", "time", "people") and "{" + key + "} tickets" not in said
        return made.slot(key).fragment(value[0], rng) if leads else value[0]

    text = fill(said, made, {key: spoken(key, value) for key, value in asked.values.items()})
    text = re.sub(r" ?{\w+}", "", text)
    for key, value in shown.items():
        if key in COUNTED:
            text = text.replace(f"There are [{key}]", "There is 1") if value == "1" else text
            text = text.replace(f"[{key}]", "no" if value == "0" else value)
        text = text.replace(f"[{key}]", value)
    text = re.sub(r"\s+([.,])", r"\1", re.sub(r"\s+", " ", text))
    return cap(re.sub(r"\.{2,}", ".", text).strip())


def _failure(made: Made, rng: random.Random) -> tuple[str, str]:
    what = made.object.removeprefix("a ").removeprefix("the ").removeprefix("my ") or "entry"
    text = rng.choice(read("talk")["failures"]).format(x=what, n=rng.randint(2, 20))
    key = rng.choice(["error", "error", "error", "message", "reason"])
    result = {key: cap(text)} if key == "error" else {"ok": False, key: cap(text)}
    low = text if text.split()[0] in ("I", "Please") else text[0].lower() + text[1:]
    return json.dumps(result, ensure_ascii=False), f"Sorry, {low}"


def _record(asked: Request, rng: random.Random) -> tuple[str, str]:
    """Any fields, told one by one."""
    result: dict[str, Any] = asked.arguments if rng.random() < 0.3 else {}
    parts = []
    for key, kind, text in rng.sample(read("talk")["record"], rng.choice([1, 1, 2, 2, 3])):
        result[key] = _drawn(kind, rng)
        parts.append(text.format(result[key]))
    said = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
    return json.dumps(result, ensure_ascii=False), cap(said) + "."


def _drawn(kind: str, rng: random.Random) -> Any:
    """A value for a field of a result."""
    statuses = read("talk")["statuses"]
    if kind in FIXED:
        return FIXED[kind]
    return rng.choice(statuses[kind]) if kind in statuses else _DRAWS[kind](rng)


def _money(rng: random.Random) -> float:
    return rng.choice([rng.randint(2, 99), rng.randint(100, 2500), round(rng.uniform(1, 300), 2), rng.randint(1, 60) * 5])


def _clock(rng: random.Random) -> str:
    exact = (
        f"{rng.randint(1, 12)}:{rng.choice(['00', '15', '30', '45', '05', '20', '50'])}{rng.choice([' AM', ' PM', '', ' PM'])}"
    )
    whole = f"{rng.randint(1, 12)} {rng.choice(['PM', 'AM', 'p.m.'])}"
    return rng.choice([exact, whole, f"{rng.randint(8, 23)}:{rng.choice(['00', '30', '10'])}"])


def _day(rng: random.Random) -> str:
    soon = ["tomorrow", "today", "next week", "on Monday", "in two days"]
    return rng.choice(words("weekdays")) if rng.random() < 0.6 else rng.choice(soon)


_DRAWS: dict[str, Callable[[random.Random], str | float | list[str]]] = {
    "money": _money,
    "clock": _clock,
    "day": _day,
    "number": lambda rng: rng.choice([rng.randint(0, 12), rng.randint(2, 12), rng.randint(13, 99), rng.randint(100, 5000)]),
    "code": lambda rng: rng.choice([str(rng.randint(100, 99999)), f"{rng.choice('ABCDEFGH')}{rng.randint(10, 9999)}"]),
    "weekday": lambda rng: rng.choice(words("weekdays")),
    "date": lambda rng: f"{rng.choice(words('months'))} {rng.randint(1, 30)}",
    "degrees": lambda rng: rng.randint(-12, 38),
    "year": lambda rng: rng.randint(1998, 2026),
    "person": lambda rng: f"{rng.choice(words('first'))} {rng.choice(words('last'))}",
    "place": lambda rng: rng.choice(words("places")),
    "event": lambda rng: rng.choice(words("events")),
    "things": lambda rng: rng.sample(words("things"), 2),
}
