"""The endpointer's turns, as texts: what a caller says, what the agent had asked before, and where the caller hesitates and
for how long. Pauses come in every place: after "to" and "and", inside numbers and times, between clauses, after "um".

Three parts that share no sentence pattern and no voice: `fit` for the weights, `tune` for what is done with them,
`held_out` for `bench/endpointing.py` alone, whose slot values (`domain.is_held_out`) are new too.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from models.train import domain, phrases
from models.train import lm_replies as replies
from models.train.domain import Unit, Utterance
from models.train.general_english import plain_sentence

Part: TypeAlias = Literal["fit", "tune", "held_out"]

PAUSE_MEDIAN_MS, PAUSE_SPREAD, SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS = 500.0, 0.6, 120.0, 2000.0
"""Silences inside spontaneous speech are log-normal (Campione & Véronis 2002); those beyond the longest are drawn again."""
_HESITATES = 0.08
"""How often people hesitate between two words: Shriberg 1994 counts about six disfluencies in a hundred words, so half of the
longer turns hesitate, and few of the short ones."""
_MOST_PAUSES = 3
_FILLER_SHARE, _RESTART_SHARE = 0.25, 0.08
_FILLERS = ("um", "uh", "er")
_HESITANT = frozenset(
    word
    for text in (
        "a an the my for from to of in on at by with about and or but is are it's i'd like i'm calling under number order make",
        "book cancel check change move what's where's what plus minus times divided name",
    )
    for word in text.split()
)
"""People stop before the word that carries the meaning: after one of these."""
_TAGS = ("please", "thanks", "thank")
_JOINS = ("and", "and", "and also", "and then", "but first", "or")
_STATEMENTS = (
    "",
    "",
    "",
    "Hello! How can I help you?",
    "Hello! How can I help you?",
    "Is there anything else I can do?",
    "It is 7:30 PM in Paris.",
    "It is sunny in Rome, 24 degrees.",
    "Your order is shipped and arrives on Friday.",
    "I set a timer for ten minutes.",
    "You are welcome.",
    "Your table for four is booked on Friday at 7 PM.",
    replies.NOT_UNDERSTOOD,
)
_YES_OR_NO = ("Shall I book it?", "Is that right?", "Do you want me to cancel it?", "Is there anything else I can do?")
_OTHER_QUESTIONS = {"city": "For which city?", "city day": "For which city and day?", "name": "What is the name for the booking?"}
_KINDS = {"request": 38, "two requests": 6, "answer": 24, "correction": 8, "follow_up": 5, "talk": 10, "out_of_domain": 9}
_ATTEMPTS = 500
"""At values for a pattern's slots: some have none that are held out."""
_GENERAL_SHARE = 0.12
"""Of the turns that the weights are fitted to: English from outside the domain."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A hesitation."""

    after_unit: int
    """Index of the unit that it follows."""
    length_ms: float


@dataclass(frozen=True, slots=True)
class Turn:
    """What one caller says in one turn."""

    asked: str
    """What the agent said last; empty at the beginning of a call."""
    units: tuple[Unit, ...]
    """The words, fillers and restarts among them."""
    pauses: tuple[Pause, ...]


def part_of(pattern: str) -> Part:
    """Which part a sentence pattern belongs to: a fifth each is held out and for tuning."""
    digest = hashlib.md5(pattern.encode(), usedforsecurity=False).digest()[0] % 5
    return "held_out" if digest == 0 else "tune" if digest == 1 else "fit"


def draw_turn(rng: random.Random, part: Part) -> Turn:
    """One turn of a part."""
    if part == "fit" and rng.random() < _GENERAL_SHARE:
        text = plain_sentence(rng)
        if not any(c.isdigit() for c in text):
            units = tuple(Unit(w, w.strip(".,?!") if w == "I" else w.strip(".,?!").lower()) for w in text.split())
            return _with_pauses(rng, rng.choice(_STATEMENTS), units)
    while True:
        (kind,) = rng.choices(list(_KINDS), list(_KINDS.values()))
        asked, utterance = _draw(rng, part, kind)
        if utterance is not None:
            return _with_pauses(rng, asked, utterance.units)


def _belongs(text: str, part: Part) -> bool:
    """Whether the slot values may stand in the part."""
    return domain.is_held_out(text) == (part == "held_out") or domain.without_slots(text)


def _draw(rng: random.Random, part: Part, kind: str) -> tuple[str, Utterance | None]:
    asked = rng.choice(_STATEMENTS)
    if kind == "request":
        return asked, _filled(rng, part, phrases.REQUESTS, 0.35)
    if kind == "two requests":
        return asked, _joined(rng, _filled(rng, part, phrases.REQUESTS, 0), _filled(rng, part, phrases.REQUESTS, 0))
    if kind == "correction":
        return asked, _filled(rng, part, phrases.CORRECTIONS, 0.1)
    if kind == "follow_up":
        return asked, _filled(rng, part, phrases.FOLLOW_UPS, 0.1)
    if kind == "out_of_domain":
        return asked, _filled(rng, part, {"out_of_domain": phrases.OUT_OF_DOMAIN}, 0.2)
    if kind == "talk":
        return asked, _filled(rng, part, phrases.TALK, 0.1)
    if rng.random() < 0.2:
        return rng.choice(_YES_OR_NO), _filled(rng, part, {name: phrases.TALK[name] for name in ("yes", "no")}, 0.15)
    key = rng.choice(sorted(phrases.ANSWERS))
    wanted = [slots for name in phrases.ANSWERS if set(key.split()) <= set(slots := tuple(name.split())) and "city" not in slots]
    asked = _OTHER_QUESTIONS[key] if key in _OTHER_QUESTIONS else replies.question(rng.choice(wanted))
    return asked, _filled(rng, part, {key: phrases.ANSWERS[key]}, 0.15)


def _filled(rng: random.Random, part: Part, patterns: dict[str, list[str]], manners: float) -> Utterance | None:
    """A sentence of one of the patterns that belong to the part; None when there are none of the intent drawn. Who opens with
    a question ("How are you?") waits for its answer."""
    intent = rng.choice(sorted(patterns))
    mine = [pattern for pattern in patterns[intent] if part_of(pattern) == part]
    if not mine:
        return None
    (pattern,) = rng.choices(mine, [0.4 + pattern.count("{") for pattern in mine])
    for _ in range(_ATTEMPTS):
        utterance = domain.fill(rng, pattern, intent)
        utterance = domain.with_manners(rng, utterance, manners) if manners else utterance
        asks_first = "?" in utterance.written[:-1] and "?" not in pattern[:-1]
        if _belongs(utterance.written, part) and not asks_first:
            return utterance
    return None


def _joined(rng: random.Random, first: Utterance | None, second: Utterance | None) -> Utterance | None:
    """Two requests in one sentence: "…, and …"."""
    if first is None or second is None:
        return None
    last = first.units[-1]
    comma = Unit(last.written.rstrip(".,?!") + ",", last.spoken, last.glue)
    join = tuple(Unit(word, word) for word in rng.choice(_JOINS).split())
    units = (*first.units[:-1], comma, *join, domain.lowered(second.units[0]), *second.units[1:])
    return Utterance(units, "mixed", {**first.slots, **second.slots})


def _with_pauses(rng: random.Random, asked: str, units: tuple[Unit, ...]) -> Turn:
    places = _places(rng, units)
    said: list[Unit] = []
    pauses: list[Pause] = []
    for index, unit in enumerate(units):
        said.append(_run_on(unit, units[index + 1 : index + 2]))
        if index not in places:
            continue
        if rng.random() < _FILLER_SHARE:
            filler = rng.choice(_FILLERS)
            said.append(Unit(f"{filler},", filler))
        pauses.append(Pause(len(said) - 1, _pause_ms(rng)))
        if rng.random() < _RESTART_SHARE and unit.written.isalpha():
            said.append(domain.lowered(unit))
    return Turn(asked, tuple(said), tuple(pauses))


def _run_on(unit: Unit, following: Sequence[Unit]) -> Unit:
    """A word without the comma before "please": nobody stops there, and a synthesiser would."""
    tagged = any(after.written.strip(".,?!") in _TAGS for after in following)
    return Unit(unit.written.rstrip(","), unit.spoken, unit.glue) if tagged else unit


def _places(rng: random.Random, units: Sequence[Unit]) -> list[int]:
    """Units after which the caller hesitates."""
    weights = [_hesitation(unit, after) for unit, after in pairwise(units)]
    usual = sum(weights) / max(1, len(weights))
    places = [index for index, weight in enumerate(weights) if rng.random() < _HESITATES * weight / usual]
    return rng.sample(places, min(len(places), _MOST_PAUSES))


def _hesitation(unit: Unit, after: Unit) -> float:
    """How likely people stop between two words: where they plan what comes next (Goldman-Eisler 1968), hardly before "please"."""
    word, following = unit.written.lower(), after.written.lower()
    if following.strip(".,?!") in _TAGS:
        return 0.1
    if after.glue or word in _HESITANT or following in _JOINS:
        return 4.0
    if word[-1] in ",.?!":
        return 3.0
    return 1.0


def _pause_ms(rng: random.Random) -> float:
    while True:
        length_ms = PAUSE_MEDIAN_MS * rng.lognormvariate(0.0, PAUSE_SPREAD)
        if SHORTEST_PAUSE_MS <= length_ms <= LONGEST_PAUSE_MS:
            return round(length_ms, 1)
