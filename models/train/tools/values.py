"""What callers name: values as Whisper writes them, and what a tool is to be given for them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from models.train.tools.yaml_data import words

Drawn = tuple[str, Any]
"""As it is said, and as the tool gets it."""
Draw = Callable[[random.Random], Drawn]
ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
TENS = {20: "twenty", 30: "thirty", 40: "forty", 50: "fifty", 60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety"}
ORDINALS = [f"{n}{'th' if n in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}" for n in range(1, 31)]
COUNTS = (1, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 18, 20, 24, 25, 30, 36, 40, 50, 75, 100)
AMOUNTS = (5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 100, 120, 150, 200, 250, 300, 450, 500, 1000, 2000)
PERCENTS = (0, 5, 10, 15, 20, 25, 30, 40, 45, 50, 60, 65, 70, 75, 80, 90, 100)
MINUTES = (1, 2, 3, 5, 8, 10, 12, 15, 20, 25, 30, 35, 40, 45, 50, 60, 90)
ROUND_MINUTES = (
    ("half an hour", 30),
    ("an hour", 60),
    ("one hour", 60),
    ("an hour and a half", 90),
    ("two hours", 120),
    ("a quarter of an hour", 15),
    ("three hours", 180),
)
LONG_TIMES = ["a week", "two weeks", "a month", "six months", "a year", "three days", "ten weeks", "the whole summer"]
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def in_words(number: int, rng: random.Random) -> str:
    """A number under a hundred in words where it is short; else in digits."""
    if number < len(ONES):
        return ONES[number]
    if number in TENS:
        return TENS[number]
    if 20 < number < 100:
        return f"{TENS[number // 10 * 10]}{rng.choice(' -')}{ONES[number % 10]}"
    return str(number)


HEAD_SHARE = 0.4


def one_of(values: list[str]) -> Draw:
    """A value that is given as it is said."""

    def draw(rng: random.Random) -> Drawn:
        value = rng.choice(values)
        return value, value

    return draw


def named(values: list[str], heads: list[str]) -> Draw:
    """A value that is said with a word that is none of it: "my dog", "brie cheese"."""

    def draw(rng: random.Random) -> Drawn:
        value = rng.choice(values)
        spoken = f"{value} {rng.choice(heads)}" if heads and rng.random() < HEAD_SHARE else value
        return spoken, value.removeprefix("my ")

    return draw


def choice(said_of: dict[str, list[str]]) -> Draw:
    """A value of an enum, and one of the ways to say it."""
    pairs = list(said_of.items())

    def draw(rng: random.Random) -> Drawn:
        value, said = rng.choice(pairs)
        return rng.choice(said), value

    return draw


def switch(yes: list[str], no: list[str]) -> Draw:
    """True or, where that is said at all, False."""

    def draw(rng: random.Random) -> Drawn:
        if no and rng.random() < 0.35:
            return rng.choice(no), False
        return rng.choice(yes), True

    return draw


def measure(unit: str, low: int, high: int, whole: bool) -> Draw:
    """A number of a unit, sometimes with a half where it need not be whole."""

    def draw(rng: random.Random) -> Drawn:
        value: float = rng.randint(low, high)
        if not whole and rng.random() < 0.2:
            return f"{value + 0.5} {unit}", value + 0.5
        return (f"{in_words(int(value), rng)} {unit}" if value < 13 and rng.random() < 0.6 else f"{value} {unit}"), value

    return draw


def thing(rng: random.Random) -> Drawn:
    noun = rng.choice(words("things"))
    if rng.random() < 0.35:
        noun = f"{rng.choice(words('adjectives'))} {noun}"
    return rng.choice([("an " if noun[0] in "aeiou" else "a ") + noun, noun, "the " + noun, "my " + noun]), noun


def name(rng: random.Random) -> Drawn:
    roll, first, last = rng.random(), rng.choice(words("first")), rng.choice(words("last"))
    value = first if roll < 0.2 else last if roll < 0.3 else f"{first} {last}"
    return value, value


def count(rng: random.Random) -> Drawn:
    number = rng.choice([*COUNTS, rng.randint(1, 200)])
    return (in_words(number, rng) if rng.random() < (0.75 if number < 13 else 0.3) else str(number)), number


def amount(rng: random.Random) -> Drawn:
    value = rng.choice([*AMOUNTS, rng.randint(3, 999)])
    if rng.random() < 0.12:
        return rng.choice([f"${value + 0.5:.2f}", f"{value + 0.5:.2f} dollars"]), value + 0.5
    text = f"{value:,}" if rng.random() < 0.7 else str(value)
    worded = in_words(value, rng) if value < 100 else text
    return rng.choice([f"${text}", f"{text} dollars", f"{text} euros", f"{worded} dollars", f"{text} pounds"]), value


def percent(rng: random.Random) -> Drawn:
    value = rng.choice(PERCENTS)
    return rng.choice([f"{value}%", f"{value} percent", f"{in_words(value, rng)} percent", f"{value}"]), value


def degrees(rng: random.Random) -> Drawn:
    value = rng.randint(5, 80)
    return rng.choice([f"{value} degrees", f"{in_words(value, rng)} degrees", f"{value}"]), value


def minutes(rng: random.Random) -> Drawn:
    if rng.random() < 0.3:
        return rng.choice(ROUND_MINUTES)
    value = rng.choice([*MINUTES, rng.randint(1, 99)])
    return f"{in_words(value, rng) if rng.random() < 0.5 else value} minute{'s' * (value > 1)}", value


def hours(rng: random.Random) -> Drawn:
    value = rng.choice([1, 2, 3, 4, 5, 6, 8, 10, 12, 24, 48])
    if value == 1:
        return rng.choice([("an hour", 1), ("one hour", 1)])
    return f"{in_words(value, rng) if rng.random() < 0.6 else value} hours", value


def nights(rng: random.Random) -> Drawn:
    value = rng.randint(1, 14)
    return f"{in_words(value, rng) if rng.random() < 0.7 else value} {rng.choice(['night', 'day'])}{'s' * (value > 1)}", value


def duration(rng: random.Random) -> Drawn:
    spoken, _ = rng.choice([minutes, hours, nights])(rng)
    if rng.random() < 0.3:
        spoken = rng.choice(LONG_TIMES)
    return spoken, spoken


def code(rng: random.Random) -> Drawn:
    length = rng.choice([3, 4, 4, 5, 5, 5, 6, 6, 7, 8])
    digits = rng.choice("123456789") + "".join(rng.choice("0123456789") for _ in range(length - 1))
    return _read_out(digits, rng), digits


def _read_out(digits: str, rng: random.Random) -> str:
    """A number as Whisper writes it when it is read digit by digit, or as a whole."""
    roll = rng.random()
    if roll < 0.55:
        return digits
    for below, between in ((0.7, "-"), (0.8, " "), (0.88, ", ")):
        if roll < below:
            return between.join(digits)
    if roll < 0.94 and len(digits) > 3:
        cut = rng.randint(2, len(digits) - 2) if len(digits) > 4 else 2
        return digits[:cut] + rng.choice(" -") + digits[cut:]
    return " ".join(ONES[int(digit)] for digit in digits)


def short_number(rng: random.Random) -> Drawn:
    number = rng.choice([rng.randint(1, 99), rng.randint(100, 999), rng.randint(100, 1500)])
    return (str(number) if rng.random() < 0.8 else in_words(number, rng)), str(number)


def mixed_code(rng: random.Random) -> Drawn:
    letters = "".join(rng.choice(LETTERS) for _ in range(rng.choice([1, 1, 2, 2, 3])))
    digits = str(rng.randint(10, 9999))
    return rng.choice(
        [f"{letters}{digits}", f"{letters} {digits}", f"{letters}-{digits}", " ".join(letters + digits)]
    ), letters + digits


def day(rng: random.Random) -> Drawn:
    roll, weekday, month, ordinal = rng.random(), rng.choice(words("weekdays")), rng.choice(words("months")), rng.choice(ORDINALS)
    if roll < 0.4:
        value = weekday
    elif roll < 0.6:
        value = rng.choice(["today", "tomorrow", "tonight", "tomorrow", "the day after tomorrow"])
    elif roll < 0.72:
        value = rng.choice(["next ", "this "]) + rng.choice([*words("weekdays"), "weekend", "week"])
    elif roll < 0.9:
        value = f"{month} {rng.choice([ordinal, str(rng.randint(1, 30))])}"
    else:
        value = rng.choice([f"the {ordinal}", f"the {ordinal} of {month}"])
    return value, value


def time(rng: random.Random) -> Drawn:
    roll, hour = rng.random(), rng.randint(1, 12)
    worded = ONES[hour]
    if roll < 0.35:
        value = f"{hour} {rng.choice(['p.m.', 'a.m.', 'PM', 'AM', 'p.m.', 'a.m.'])}"
    elif roll < 0.6:
        part = rng.choice(["15", "30", "30", "45", "00", "10", "20", "40", "50"])
        value = f"{hour}:{part}" + rng.choice(["", "", " p.m.", " a.m.", " PM", " AM"])
    elif roll < 0.75:
        value = rng.choice([worded, str(hour), f"{worded} o'clock", f"{hour} o'clock"])
    elif roll < 0.88:
        past = [
            f"half past {worded}",
            f"quarter past {worded}",
            f"quarter to {worded}",
            f"half past {hour}",
            f"a quarter to {hour}",
        ]
        value = rng.choice(["noon", "midnight", *past])
    else:
        parts = [f"{worded} in the evening", f"{hour} in the morning", f"{worded} in the afternoon", str(hour)]
        value = rng.choice([*parts, f"{worded} {rng.choice(['thirty', 'fifteen', 'forty five'])}"])
    return value, value


def address(rng: random.Random) -> Drawn:
    value = f"{rng.randint(1, 250)} {rng.choice(words('streets'))} {rng.choice(['Street', 'Road', 'Avenue', 'Lane', 'Street'])}"
    return value, value


def phone(rng: random.Random) -> Drawn:
    digits = rng.choice("23456789") + "".join(rng.choice("0123456789") for _ in range(rng.choice([6, 9])))
    said = f"{digits[:3]}-{digits[3:]}" if len(digits) == 7 else f"{digits[:3]}-{digits[3:6]}-{digits[6:]}"
    return rng.choice([said, said.replace("-", " "), said.replace("-", ", "), digits]), digits


def email(rng: random.Random) -> Drawn:
    first, last = rng.choice(words("first")).lower(), rng.choice(words("last")).lower()
    at = f"{rng.choice(['example', 'mail', 'post', 'acme', 'work', 'home'])}.{rng.choice(['com', 'org', 'net'])}"
    value = f"{rng.choice([first, f'{first}.{last}', last])}@{at}"
    return (value if rng.random() < 0.6 else value.replace("@", " at ").replace(".", " dot ")), value


def expression(rng: random.Random) -> Drawn:
    pairs = [
        (rng.randint(1, 12), rng.randint(1, 12)),
        (rng.randint(10, 99), rng.randint(2, 99)),
        (rng.randint(100, 999), rng.randint(2, 50)),
    ]
    a, b = rng.choice(pairs)
    x, y = (in_words(n, rng) if n < 13 and rng.random() < 0.5 else str(n) for n in (a, b))
    forms = {
        "+": ("{x} plus {y}", "the sum of {x} and {y}", "{x} + {y}", "{x} and {y}"),
        "-": ("{x} minus {y}",),
        "*": ("{x} times {y}", "{x} multiplied by {y}"),
        "/": ("{x} divided by {y}", "{x} over {y}"),
    }
    sign, form = rng.choice([(sign, form) for sign, some in forms.items() for form in some])
    return form.format(x=x, y=y), f"{a} {sign} {b}"


DRAWS: dict[str, Draw] = {
    draw.__name__: draw
    for draw in (
        *(thing, name, count, amount, percent, degrees, minutes, hours, nights, duration, code, short_number, mixed_code, day),
        *(time, address, phone, email, expression),
    )
}
"""By the names that slots.yaml calls them."""
