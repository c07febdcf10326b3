"""Draws turns from the patterns, with hesitations: at any word's end with a base rate, more often where people plan or read out,
and for longer than a log-normal would have it, so that nothing can be won by assuming one.

    part + seed  →  turns: pattern, units, pauses
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from models.train.domain import Unit, lowered
from models.train.endpoint_turns import Pause, Turn
from models.train.turns.patterns import Part, Pattern, patterns
from models.train.turns.values import DICTATED, Values


def _listed(text: str) -> frozenset[str]:
    return frozenset(text.split())


SEED = 20261122
"""Of the draw, a date: changed with each release, so that nothing is chosen on one draw for long."""
LOG_NORMAL_MS, LOG_SPREAD, PARETO_FROM_MS, PARETO_SHAPE, PARETO_SHARE = 450.0, 0.8, 350.0, 1.2, 0.25
SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS = 120.0, 3000.0
BASE_RATE = 0.055
"""How often people stop after any word; Shriberg 1994 counts six disfluencies in a hundred words of spontaneous speech."""
IN_VALUE, AFTER_GROUP, AFTER_PLAN, AFTER_COMMA, AFTER_SENTENCE, BEFORE_TAIL = 1.3, 4.0, 2.0, 2.0, 3.0, 0.3
"""Times the base rate: inside what is dictated and after a group of it, after a small word, a comma and a sentence; before a
polite last word."""
FILLER_BEFORE, FILLER_AFTER, REPEATED = 0.2, 0.1, 0.08
"""Shares of the pauses with an "um" at their beginning, one at their end, and with words said again after them."""
MOST_PAUSES = 4
FILLERS = ("um", "uh", "er", "hmm", "well", "you know")
SMALL = _listed(
    """a an the my your his her our their this that some for from to of in on at by with about and or but is are was it's i'm i've
    i'd we've that's can could would will do does did have has had if when because so under number"""
)
TAILS = _listed("please thanks then too right yes yeah")
_SLOT = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class DrawnTurn:
    """One turn of a part."""

    pattern: Pattern
    turn: Turn


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a turn."""

    unit: Unit
    dictated: bool
    """Whether it is part of a value that is read out."""


def turns(part: Part, seed: int = SEED) -> Iterator[DrawnTurn]:
    """Turns without end: every pattern once in a new order, again and again."""
    rng = random.Random(f"{part} {seed}")
    mine = list(patterns(part))
    while True:
        rng.shuffle(mine)
        for pattern in mine:
            yield draw(rng, pattern, part)


def draw(rng: random.Random, pattern: Pattern, part: Part) -> DrawnTurn:
    """A turn of this pattern."""
    return DrawnTurn(pattern, _with_pauses(rng, pattern.asked, _words(pattern.text, Values(rng, part))))


def _words(text: str, values: Values) -> list[Word]:
    """The words of a pattern with its slots filled; the first is written with a capital."""
    words: list[Word] = []
    for piece in text.split():
        found = _SLOT.search(piece)
        dictated = found is not None and found[1] in DICTATED
        filled = _SLOT.sub(lambda slot: values.of(slot[1]), piece)
        words += [Word(Unit(word, _spoken(word)), dictated) for word in filled.split()]
    first = words[0].unit
    capital = first.written[:1].upper() + first.written[1:]
    return [Word(Unit(capital, first.spoken), words[0].dictated), *words[1:]]


def _spoken(word: str) -> str:
    """As a synthesiser is given it: without marks, and with a letter's name where it would read a word."""
    bare = word.strip(".,?!")
    return "ay" if bare == "A" else bare


def _with_pauses(rng: random.Random, asked: str, words: list[Word]) -> Turn:
    places = _places(rng, words)
    said: list[Unit] = []
    pauses: list[Pause] = []
    for index, word in enumerate(words):
        said.append(word.unit)
        if index not in places:
            continue
        if rng.random() < FILLER_BEFORE:
            said += _filler(rng)
        pauses.append(Pause(len(said) - 1, pause_ms(rng)))
        if rng.random() < FILLER_AFTER:
            said += _filler(rng)
        if rng.random() < REPEATED and word.unit.written.isalpha() and not word.dictated:
            said.append(lowered(word.unit))
    return Turn(asked, tuple(said), tuple(pauses))


def _filler(rng: random.Random) -> list[Unit]:
    words = rng.choice(FILLERS).split()
    return [*(Unit(word, word) for word in words[:-1]), Unit(f"{words[-1]},", words[-1])]


def _places(rng: random.Random, words: list[Word]) -> list[int]:
    places = [i for i, (word, after) in enumerate(pairwise(words)) if rng.random() < BASE_RATE * hesitation_factor(word, after)]
    return rng.sample(places, min(len(places), MOST_PAUSES))


def hesitation_factor(word: Word, after: Word) -> float:
    """How often people stop between two words, in times the base rate."""
    written, following = word.unit.written, after.unit.written
    if word.dictated and after.dictated:
        return AFTER_GROUP if written.endswith(",") else IN_VALUE
    if following.lower().strip(".,?!") in TAILS:
        return BEFORE_TAIL
    if written[-1] in ".?!":
        return AFTER_SENTENCE
    if written.endswith(","):
        return AFTER_COMMA
    return AFTER_PLAN if written.lower() in SMALL else 1.0


def pause_ms(rng: random.Random) -> float:
    """A hesitation's length: mostly log-normal (Campione & Véronis 2002), every fourth from a Pareto tail."""
    while True:
        if rng.random() < PARETO_SHARE:
            length_ms = PARETO_FROM_MS * rng.paretovariate(PARETO_SHAPE)
        else:
            length_ms = LOG_NORMAL_MS * rng.lognormvariate(0.0, LOG_SPREAD)
        if SHORTEST_PAUSE_MS <= length_ms <= LONGEST_PAUSE_MS:
            return round(length_ms, 1)
