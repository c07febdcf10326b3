"""The one grammar of the bundled models' domain, shared by speech, voice and language training.

A sentence is a row of units, each known both as it is written in a transcript and as it is spoken, together with
what it means: an intent and its slots. Transcripts are cased and punctuated English: numbers below ten in words,
larger ones in digits, clock times "7:30 PM", order numbers as glued digits that are spoken one by one. A stable
hash of the slot values decides what is held out from all training, so every model is judged on combinations that
none has seen.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from models.train import phrases
from models.train import vocabulary as words

HELD_OUT_MODULUS = 17
MINUTES = [*range(1, 61), 75, 90]
SlotValue: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class Unit:
    """One written piece of a sentence; `glue` joins it to the piece before it without a space."""

    written: str
    spoken: str
    glue: bool = False


@dataclass(frozen=True, slots=True)
class Utterance:
    """A caller's sentence: units, intent (a key of `phrases`) and slot values as tool arguments take them."""

    units: tuple[Unit, ...]
    intent: str
    slots: Mapping[str, SlotValue]

    @property
    def written(self) -> str:
        """The transcript a perfect speech recogniser writes."""
        return "".join(u.written if u.glue or i == 0 else f" {u.written}" for i, u in enumerate(self.units))

    @property
    def spoken(self) -> str:
        """The same sentence in words only, with the punctuation that phrases it."""
        return " ".join(u.spoken + _punctuation(u.written) for u in self.units)


Slot: TypeAlias = Callable[[random.Random], tuple[list[Unit], SlotValue]]


def _punctuation(written: str) -> str:
    return written[len(written.rstrip(".,?!")) :]


def _plain(text: str) -> list[Unit]:
    return [Unit(w, w.strip(".,?!") if w == "I" else w.strip(".,?!").lower()) for w in text.split()]


def _number(value: int) -> list[Unit]:
    return [Unit(words.written_number(value), words.spoken_number(value))]


def _word_slot(values: list[str]) -> Slot:
    def draw(rng: random.Random) -> tuple[list[Unit], SlotValue]:
        value = rng.choice(values)
        return _plain(value), value

    return draw


def _people(rng: random.Random) -> tuple[list[Unit], SlotValue]:
    value = rng.randint(1, 12) if rng.random() < 0.9 else rng.randint(13, 20)
    return _number(value), value


def _minutes(rng: random.Random) -> tuple[list[Unit], SlotValue]:
    value = rng.choice(MINUTES)
    return _number(value), value


def _addend(rng: random.Random) -> tuple[list[Unit], SlotValue]:
    value = rng.randint(1, 12) if rng.random() < 0.25 else rng.randint(1, 99)
    value = rng.randint(100, 999) if rng.random() < 0.2 else value
    return _number(value), value


def _digits(rng: random.Random) -> tuple[list[Unit], SlotValue]:
    value = "".join(rng.choice("0123456789") for _ in range(rng.choice([4, 5, 5, 6])))
    return [Unit(d, words.ONES[int(d)], i > 0) for i, d in enumerate(value)], value


def _time(rng: random.Random) -> tuple[list[Unit], SlotValue]:
    if rng.random() < 0.07:
        return _plain("noon"), "noon"
    hour = rng.randint(1, 12)
    units = [Unit(str(hour), words.ONES[hour])]
    form = rng.random()
    if form < 0.12:
        return [*units, Unit("o'clock", "o'clock")], f"{hour} o'clock"
    value = str(hour)
    if form < 0.62:
        minute = rng.choice([15, 30, 30, 30, 45, 10, 20, 40, 50, rng.randint(11, 59)])
        units.append(Unit(f":{minute:02d}", words.spoken_number(minute), glue=True))
        value += f":{minute:02d}"
        if form > 0.57:
            return units, value
    half = rng.choice(["AM", "PM", "PM"])
    return [*units, Unit(half, " ".join(half))], f"{value} {half}"


def _day_value(rng: random.Random) -> str:
    form = rng.random()
    if form < 0.38:
        return rng.choice(words.NEAR_DAYS)
    if form < 0.8:
        return rng.choice(words.WEEKDAYS)
    return f"{rng.choice(words.MONTHS)} {rng.choice(words.ORDINALS)}"


def _day(rng: random.Random) -> tuple[list[Unit], SlotValue]:
    value = _day_value(rng)
    return _plain(value), value


def _on_day(rng: random.Random) -> tuple[list[Unit], SlotValue]:
    value = _day_value(rng)
    return _plain(value if value in words.NEAR_DAYS else f"on {value}"), value


SLOTS: dict[str, Slot] = {
    "city": _word_slot(words.CITIES),
    "name": _word_slot(words.NAMES),
    "service": _word_slot(words.SERVICES),
    "item": _word_slot(words.ITEMS),
    "room": _word_slot(words.ROOMS),
    "device": _word_slot(words.DEVICES),
    "topic": _word_slot(words.TOPICS),
    "people": _people,
    "minutes": _minutes,
    "number": _addend,
    "a": _addend,
    "b": _addend,
    "order_number": _digits,
    "time": _time,
    "day": _day,
    "on_day": _on_day,
}
_SLOT_OR_WORD = re.compile(r"\{(\w+)(?:=(\w+))?\}([.,?!']*)|([^\s{]+)")
_OPERATORS = {"plus": "+", "minus": "-", "times": "*", "divided": "/"}


def fill(rng: random.Random, pattern: str, intent: str) -> Utterance:
    """Draw a value for every slot of `pattern` ("A table for {people}.") and say what the sentence means."""
    units: list[Unit] = []
    slots: dict[str, SlotValue] = {}
    for name, fixed, punctuation, word in _SLOT_OR_WORD.findall(pattern):
        if word:
            units += _plain(word)
            continue
        if fixed:
            slots[name] = fixed
            continue
        drawn, value = SLOTS[name](rng)
        units += drawn[:-1]
        units.append(Unit(drawn[-1].written + punctuation, drawn[-1].spoken, drawn[-1].glue))
        slots["day" if name == "on_day" else name] = value
    if intent == "calculate":
        operator = next(sign for word, sign in _OPERATORS.items() if word in pattern)
        slots = {"expression": f"{slots['a']} {operator} {slots['b']}"}
    return Utterance(_capitalised(units), intent, slots)


def _capitalised(units: list[Unit]) -> tuple[Unit, ...]:
    first = units[0]
    return (Unit(first.written[0].upper() + first.written[1:], first.spoken, first.glue), *units[1:])


def lowered(unit: Unit) -> Unit:
    """`unit` as it is written inside a sentence."""
    word = unit.written
    keeps_case = re.match(r"I\b|[A-Z]{2}", word) or word.strip(".,?!") in _PROPER
    return unit if keeps_case else Unit(word[0].lower() + word[1:], unit.spoken, unit.glue)


_PROPER = {w for value in [*words.CITIES, *words.NAMES, *words.WEEKDAYS, *words.MONTHS] for w in value.split()}


def with_manners(rng: random.Random, utterance: Utterance, share: float = 0.3) -> Utterance:
    """Sometimes put "Um," or "Okay," before a sentence, ", please" behind it, or a greeting in front."""
    draw = rng.random() / share
    units = list(utterance.units)
    if draw < 0.5:
        prefix = rng.choice(phrases.PREFIXES)
        units = [*_plain(prefix), lowered(units[0]), *units[1:]]
    elif draw < 0.75:
        last = units[-1]
        end = last.written[-1]
        units[-1] = Unit(f"{last.written[:-1]},", last.spoken, last.glue)
        units += _plain(rng.choice(phrases.SUFFIXES) + end)
    elif draw < 1:
        opening = rng.choice(phrases.TALK[rng.choice(["greeting", "thanks", "how_are_you", "okay"])])
        units = [*_plain(opening), *units]
    return Utterance(tuple(units), utterance.intent, utterance.slots)


_FLAT: list[tuple[str, str]] = [
    *((intent, p) for intent, patterns in phrases.REQUESTS.items() for p in patterns),
    *((intent, p) for intent, patterns in phrases.TALK.items() for p in patterns),
    *(("out_of_domain", p) for p in phrases.OUT_OF_DOMAIN),
    *(("answer", p) for patterns in phrases.ANSWERS.values() for p in patterns),
    *(("follow_up", p) for patterns in phrases.FOLLOW_UPS.values() for p in patterns),
    *(("correction", p) for patterns in phrases.CORRECTIONS.values() for p in patterns),
]
_WEIGHTS = [0.35 if "{" not in p else 0.7 + 0.4 * len(re.findall(r"\{\w+\}", p)) for _, p in _FLAT]
_WITHOUT_SLOTS = " ".join(re.sub(r"\{[^}]*\}\S*", " ", pattern) for _, pattern in _FLAT)
_COMMON_WORDS = sorted({w.strip(".,?!") for w in _WITHOUT_SLOTS.split()} - {""})
_SALAD = {"word": 50, "city": 12, "name": 12, "item": 6, "day": 8, "number": 7, "topic": 3, "time": 2}


def any_utterance(rng: random.Random) -> Utterance:
    """One sentence of any intent, of the training or of the held-out part alike."""
    intent, pattern = rng.choices(_FLAT, _WEIGHTS)[0]
    return with_manners(rng, fill(rng, pattern, intent))


def word_salad(rng: random.Random) -> Utterance:
    """One to six unrelated words: a recogniser must listen, a language model admit it did not understand."""
    units: list[Unit] = []
    for _ in range(rng.randint(1, 6)):
        (kind,) = rng.choices(list(_SALAD), list(_SALAD.values()))
        units += _plain(rng.choice(_COMMON_WORDS)) if kind == "word" else SLOTS[kind](rng)[0]
    return Utterance(tuple(lowered(u) for u in units), "out_of_domain", {})


def _speech_utterance(rng: random.Random) -> Utterance:
    draw = rng.random()
    if draw < 0.12:
        return word_salad(rng)
    first = any_utterance(rng)
    if draw < 0.2:
        second = any_utterance(rng)
        return Utterance((*first.units, *second.units), "mixed", {**first.slots, **second.slots})
    return first


def train_utterance(rng: random.Random) -> Utterance:
    """A sentence to train speech models on: 12 % word salad, 8 % two sentences; never a held-out one."""
    while is_held_out((utterance := _speech_utterance(rng)).written):
        pass
    return utterance


def held_out_utterance(rng: random.Random) -> Utterance:
    """A meaningful sentence whose slot values no training has seen together."""
    while not is_held_out((utterance := any_utterance(rng)).written):
        pass
    return utterance


SLOT_WORDS = {
    w.lower()
    for value in [
        *words.CITIES, *words.NAMES, *words.WEEKDAYS, *words.NEAR_DAYS, *words.MONTHS, *words.ORDINALS,
        *words.SERVICES, *words.ONES[:10], "noon", "am", "pm", "o'clock",
    ]
    for w in value.split()
}  # fmt: skip


def _bare(text: str) -> list[str]:
    return [bare for w in text.lower().split() if (bare := w.strip('.,?!"'))]


_FIXED = {tuple(_bare(pattern)) for _, pattern in _FLAT if "{" not in pattern}


def is_held_out(text: str) -> bool:
    """Whether `text` must stay out of all training, whatever its case and punctuation.

    Texts with two slot words or more, or a number of three digits, are keyed by those words alone (any phrasing
    of a held-out combination is held out), texts with one slot word by the whole text. Texts with none, and the
    fixed sentences, are never held out.
    """
    heard = _bare(text)
    if tuple(heard) in _FIXED:
        return False
    slot_words = sorted(w for w in heard if w in SLOT_WORDS or w[:1].isdigit())
    if not slot_words:
        return False
    combined = len(slot_words) > 1 or (len(slot_words[0]) >= 3 and slot_words[0].isdigit())
    key = " ".join(slot_words if combined else heard)
    digest = hashlib.md5(key.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT_MODULUS == 0


def without_slots(text: str) -> bool:
    """Whether no word of `text` can stand in a slot."""
    return not any(word in SLOT_WORDS or word[:1].isdigit() for word in _bare(text))


_CONFUSIONS = {
    "a": "the", "the": "a", "is": "was", "what's": "what is", "what": "that", "in": "and", "and": "in",
    "for": "four", "at": "that", "i'd": "I", "can": "could", "could": "can", "will": "would", "my": "the",
    "number": "numbers", "please": "peas", "it": "that", "it's": "is", "i": "a", "to": "the", "like": "a",
    "meant": "mean", "make": "may", "want": "won't", "under": "on the", "order": "other",
    "weather": "whether", "how": "who", "be": "me", "book": "look", "there": "their", "with": "which",
    "on": "in", "table": "tables", "need": "meet", "people": "peoples",
}  # fmt: skip
_DROPPED = {"a", "the", "is", "to", "for", "at", "please", "and", "um", "i", "in", "on", "it"}


def as_heard(rng: random.Random, text: str) -> str:
    """`text` as a small recogniser may write it: bare or lower-case, short words lost or confused, slots intact."""
    draw = rng.random()
    if draw < 0.1:
        text = text.lower()
    if draw < 0.2:
        text = text.replace(",", "").rstrip(".?!")
    elif draw < 0.3:
        text = text[0].lower() + text[1:]
    elif draw < 0.4:
        text = text.rstrip(".?!")
    elif draw < 0.45:
        text = text.rstrip(".?!") + rng.choice(".?!")
    heard = text.split()
    for _ in range(rng.choice([0, 0, 1, 1, 2])):
        at = rng.randrange(len(heard))
        word = heard[at].lower()
        if word in _DROPPED and rng.random() < 0.5 and len(heard) > 1:
            del heard[at]
        elif word in _CONFUSIONS:
            heard[at] = _CONFUSIONS[word]
    return " ".join(heard)
