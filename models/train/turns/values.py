"""Values for the patterns' slots: names, places and dates from `values.yaml`, and numbers as people dictate them, in groups of
many forms ("oh seven seven, double four …")."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from models.train.turns.patterns import Part


def _listed_in(text: str) -> tuple[str, ...]:
    return tuple(text.split())


DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TEENS = ("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ORDINALS = _listed_in(
    """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
    seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth twenty-fifth twenty-sixth
    twenty-seventh twenty-eighth twenty-ninth thirtieth"""
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DICTATED = _listed_in(
    "digits4 digits6 digits8 phone card sort_code reference plate postcode email spelled_first spelled_last three_digits"
)
"""Slots whose parts people stop between."""
_GROUPS: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "three_digits": ((3,),),
    "digits4": ((4,), (2, 2), (4,)),
    "digits6": ((6,), (3, 3), (2, 2, 2)),
    "digits8": ((4, 4), (2, 3, 3), (3, 3, 2), (8,)),
    "phone": ((3, 3, 4), (5, 6), (4, 3, 3), (5, 3, 3), (2, 2, 2, 2, 2), (3, 4, 4)),
    "card": ((4, 4, 4, 4),),
}


@functools.cache
def _listed() -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = yaml.safe_load((Path(__file__).parent / "values.yaml").read_text(encoding="utf-8"))
    return found


class Values:
    """The values of one turn: a spelled name is the one that was said."""

    def __init__(self, rng: random.Random, part: Part) -> None:
        self._rng = rng
        self._listed = _listed()["held_out" if part == "held_out" else "fit"]
        self._names: dict[str, str] = {}
        self._drawn: dict[str, set[str]] = {}
        self._zero = rng.choice(("oh", "zero"))
        self._doubles = rng.random() < 0.4

    def of(self, slot: str) -> str:
        """A value as it is said, with commas between the groups of one that is dictated. Raises KeyError for an unknown slot."""
        if slot in self._listed:
            return self._name(slot)
        if slot in _GROUPS:
            return self._groups(self._rng.choice(_GROUPS[slot]))
        return _MADE[slot](self)

    def _name(self, slot: str) -> str:
        used = self._drawn.setdefault(slot, set())
        value = self._rng.choice([value for value in self._listed[slot] if value not in used] or self._listed[slot])
        used.add(value)
        return self._names.setdefault(slot, value) if slot in ("first", "last") and slot not in self._names else value

    def spelled(self, slot: str) -> str:
        """A name of the turn, letter by letter."""
        name = self._names.get(slot) or self._name(slot)
        letters = [letter for letter in name.upper() if letter.isalpha()]
        mark = self._rng.choice((",", ",", ""))
        return f"{mark} ".join(letters)

    def _groups(self, sizes: tuple[int, ...]) -> str:
        mark = self._rng.choice((", ", ", ", " "))
        return mark.join(" ".join(self._digits(size)) for size in sizes)

    def _digits(self, size: int) -> list[str]:
        said: list[str] = []
        while size > 0:
            digit = self._rng.randrange(10)
            name = self._zero if digit == 0 else DIGITS[digit]
            double = self._doubles and size >= 2 and self._rng.random() < 0.12
            said += ["double", name] if double else [name]
            size -= 2 if double else 1
        return said

    def pairs(self, count: int) -> str:
        """Groups of two, each said as a number or as two digits."""
        as_number = self._rng.random() < 0.5
        pairs = [self._below_100(self._rng.randrange(20, 100)) if as_number else " ".join(self._digits(2)) for _ in range(count)]
        return ", ".join(pairs)

    def mixed(self, form: str) -> str:
        """Letters (L) and digits (9) of a reference, a plate or a postcode."""
        said = [self._rng.choice(LETTERS) if mark == "L" else " ".join(self._digits(1)) for mark in form if mark != " "]
        mark = self._rng.choice((",", ""))
        return f"{mark} ".join(said)

    def drawn(self, *forms: str) -> str:
        """One of several."""
        return self._rng.choice(forms)

    def number(self, low: int, high: int) -> str:
        """A number in words."""
        return self._below_100(self._rng.randint(low, high))

    @staticmethod
    def _below_100(value: int) -> str:
        if value < 10:
            return DIGITS[value]
        if value < 20:
            return TEENS[value - 10]
        tens, ones = TENS[value // 10 - 2], value % 10
        return f"{tens}-{DIGITS[ones]}" if ones else tens

    def email(self) -> str:
        """An address as it is said, some of them letter by letter."""
        first, last = self._name("first").lower(), self._name("last").lower()
        spelled = ", ".join(first.upper())
        name = self.drawn(
            f"{first} dot {last}", f"{first} {last}", f"{last} {self.number(1, 99)}", f"{spelled},", f"{first[0].upper()} {last}"
        )
        return f"{name} at {self._name('domain')}"

    def amount(self) -> str:
        """Of money."""
        coin = self.drawn("pounds", "dollars", "euros")
        return self.drawn(
            f"{self.number(11, 95)} {coin}",
            f"{self.number(2, 9)} hundred {coin}",
            f"{self.number(2, 9)} hundred and {self.number(11, 95)} {coin}",
            f"{self.number(11, 95)} {self.number(20, 99)}",
        )

    def clock(self) -> str:
        """A time of day."""
        hour = self.number(1, 12)
        return self.drawn(
            f"half past {hour}",
            f"quarter to {hour}",
            f"{hour} {self.number(20, 55)}",
            f"{hour} o'clock",
            f"{hour} in the morning",
        )


_MADE: Mapping[str, Callable[[Values], str]] = {
    "spelled_first": lambda values: values.spelled("first"),
    "spelled_last": lambda values: values.spelled("last"),
    "email": Values.email,
    "amount": Values.amount,
    "clock": Values.clock,
    "number": lambda values: values.number(2, 99),
    "two_digits": lambda values: values.number(41, 99),
    "ordinal": lambda values: values.drawn(*ORDINALS),
    "sort_code": lambda values: values.pairs(3),
    "reference": lambda values: values.mixed(values.drawn("LL 9999", "L 99999", "99 LL 99", "LLL 999")),
    "plate": lambda values: values.mixed(values.drawn("LL 99 LLL", "LLL 999", "9 LLL 999")),
    "flight": lambda values: values.mixed("LL 999"),
    "postcode": lambda values: values.mixed(values.drawn("LL 9 9LL", "L 99 9LL", "99999")),
}
