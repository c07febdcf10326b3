"""The facts of an agent that was written by hand, with other figures, days and names in them: an agent that is met often is then
read, not known by heart."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from models.train.tools.scenarios import Scenario, Turn, scenarios
from models.train.tools.values import ONES

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "June", "July", "August", "September", "October", "November", "December")
SMALL = tuple(ONES[2:13])
"""Numbers as words."""
FIGURE = re.compile(r"(?<![\w:.,])\d+(?![\w:]|[.,]\d)")
NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{3,}(?:'s)?(?![\w'])")
COUNTED = re.compile(rf"\d|\b(?:{'|'.join([*ONES[1:], *DAYS, *MONTHS, 'half', 'quarter', 'noon', 'midnight'])})s?\b", re.I)
"""In a question: its answer was reasoned, and may be another with other figures."""


def with_other_facts(one: Scenario, rng: random.Random) -> Scenario:
    """The agent with other facts, and with those dialogues whose answers are still true."""
    others = _others(one.instructions, rng)
    if not others:
        return one
    told = re.compile(rf"(?<![\w:.,])(?:{'|'.join(map(re.escape, sorted(others, key=len, reverse=True)))})(?![\w:]|[.,]\d)")

    def exchanged(text: str) -> str:
        return told.sub(lambda match: others[match[0]], text)

    def still_true(dialogue: tuple[Turn, ...]) -> bool:
        if not any(told.search(turn.answer) for turn in dialogue):
            return True
        return len(dialogue) == 1 and not COUNTED.search(dialogue[0].said) and not told.search(dialogue[0].said)

    kept = [dialogue for dialogue in one.dialogues if still_true(dialogue)]
    dialogues = tuple(tuple(replace(turn, answer=exchanged(turn.answer)) for turn in dialogue) for dialogue in kept)
    return replace(one, instructions=exchanged(one.instructions), dialogues=dialogues)


def _others(text: str, rng: random.Random) -> Mapping[str, str]:
    """For each word that states a fact another; no two become the same."""
    found: dict[str, str] = {}
    for words in (DAYS, MONTHS, SMALL):
        present = [word for word in words if re.search(rf"\b{word}\b", text)]
        in_a_row = re.search(rf"\b(?:{'|'.join(words)})\b (?:to|through|till|until|and) (?:{'|'.join(words)})\b", text)
        if present and not in_a_row:
            found |= dict(zip(present, rng.sample(words, len(present)), strict=True))
    figures = sorted(set(FIGURE.findall(text)) - {"0", "1"})
    taken = set(figures)
    for figure in figures:
        new = _figure(figure, rng)
        if new not in taken:
            taken.add(new)
            found[figure] = new
    names = sorted(set(NAME.findall(text)) & set(_names()) - {*DAYS, *MONTHS})
    return found | dict(zip(names, rng.sample(_names(), len(names)), strict=True))


def _figure(figure: str, rng: random.Random) -> str:
    """A figure of about the same size, as round as it was."""
    number = int(figure)
    if number <= 12:
        return str(rng.randint(2, 12))
    step = 10 ** (len(figure) - len(figure.rstrip("0")))
    least, most = (13, 99) if number < 100 else (10 ** (len(figure) - 1), 10 ** len(figure) - 1)
    return str(max(step, rng.randint(least, most) // step * step))


@cache
def _names() -> list[str]:
    """Capitalised words of all agents' instructions that some answer repeats."""
    found = set[str]()
    for one in scenarios():
        answers = " ".join(turn.answer for dialogue in one.dialogues for turn in dialogue)
        found |= {name for name in NAME.findall(one.instructions) if name in answers}
    return sorted(found - {*DAYS, *MONTHS, *(day + "s" for day in DAYS)})
