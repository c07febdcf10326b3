"""The value that was asked for: which one the agent's question is about, and how much of it has been said. After half a number,
half an e-mail address or part of a name that is being spelled, the agent waits for more; after a complete value it does not.
Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from voiceagent.turn_taking.language import Language, bare_words

Kind = Literal["digits", "characters", "email", "phone", "choice", "number"]
Progress = Literal["", "open", "growing", "whole"]
"""The progress of a value: nothing is known, more must come, more may come, nothing more can."""

SHOWING: frozenset[Kind] = frozenset({"digits", "characters", "phone"})
"""Values that an ordinary word cannot end."""
SPELLED = 2
"""This many single letters or digits in a row are spelled or dictated."""
PHONE_DIGITS = 7
"""The fewest digits of a telephone number."""
TEN, TWENTY, HUNDRED = 10, 20, 100
"""Tens and units are said together, as in "forty-two"; numbers from a hundred on are not dictated."""
MAX_CHOICE_WORDS = 6
"""A longer utterance says more than the choice in it."""
_EMAIL = re.compile(r"\S+@\S+\.[a-z]{2,}\W*$", re.IGNORECASE)
_DOMAIN = re.compile(r"[a-z]\.[a-z]{2,}\W*$", re.IGNORECASE)
_PIECES = re.compile(r"[^\W\d_]+|\d+|[@.]")


@dataclass(frozen=True, slots=True)
class ValueShape:
    """The form of a value that a tool takes. A `number` may be of any size, so nothing tells how much of it has been said."""

    kind: Kind
    least: int = 0
    """The fewest digits or characters; 0: any number."""
    most: int = 0
    """The most; 0: any number."""
    hints: frozenset[str] = frozenset()
    """Words of its name and its description."""
    choices: tuple[str, ...] = ()


def pending(shapes: Iterable[ValueShape], asked: str) -> tuple[ValueShape, ...]:
    """The values that the agent's question is about; if it names none of them, those that are recognised by the way they are
    said."""
    known = tuple(shape for shape in shapes if shape.kind != "number")
    words = frozenset(bare_words(asked))
    return tuple(shape for shape in known if shape.hints & words) or tuple(shape for shape in known if shape.kind in SHOWING)


def progress(words: str, shapes: Sequence[ValueShape], language: Language) -> Progress:
    """The progress of a value at the end of the words so far. If it may be one of several values, it is complete only if it is
    for each of them."""
    found = {_of(words, shape, language) for shape in shapes}
    likeliest: tuple[Progress, ...] = ("open", "growing", "whole")
    return next((one for one in likeliest if one in found), "")


def _of(words: str, shape: ValueShape, language: Language) -> Progress:
    if shape.kind == "email":
        return _email(words, language)
    if shape.kind == "choice":
        return _choice(words, shape)
    dictated = _dictated(words, language)
    if shape.kind == "phone":
        return _enough(sum(part.isdigit() for part in dictated), PHONE_DIGITS, 0)
    count = len(dictated) if shape.kind == "characters" else sum(part.isdigit() for part in dictated)
    return _enough(count, shape.least, shape.most)


def _enough(count: int, least: int, most: int) -> Progress:
    """One digit may be any number; from `SPELLED` digits on, a value is being dictated. `most` is 0 if any length is allowed."""
    if count < SPELLED:
        return ""
    if count < least:
        return "open"
    return "whole" if most and count >= most else "growing"


def _email(words: str, language: Language) -> Progress:
    if _EMAIL.search(words):
        return "whole"
    pieces = [piece for piece in _PIECES.findall(words.casefold()) if piece != "."]
    sign = next((at for at in range(len(pieces) - 1, 0, -1) if pieces[at] == "@" or pieces[at] in language.email_signs), 0)
    if not sign:
        return "open" if len(_dictated(words, language)) >= SPELLED else ""
    has_dot = any(piece in language.dots for piece in pieces[sign + 1 : -1]) or _DOMAIN.search(words) is not None
    return "whole" if has_dot and pieces[-1] not in language.dots else "open"


def _choice(words: str, shape: ValueShape) -> Progress:
    said = bare_words(words)
    if not said or len(said) > MAX_CHOICE_WORDS:
        return ""
    ends = (bare_words(choice) for choice in shape.choices)
    return "whole" if any(end and said[-len(end) :] == end for end in ends) else ""


def _dictated(words: str, language: Language) -> list[str]:
    """The single letters and digits, in order, at the end of the words: "B, four 72" gives b, 4, 7, 2."""
    found: list[str] = []
    after = 0
    """The value of the number word behind the piece."""
    for piece in reversed(_PIECES.findall(words.casefold())):
        if piece in ".@":
            continue
        parts = _parts(piece, language)
        if parts is None:
            if piece in language.repeats and found:
                found[-1:] = [found[-1]] * language.repeats[piece]
                continue
            break
        value = language.numbers.get(piece, 0)
        found += parts[:1] if value >= TWENTY and 0 < after < TEN else reversed(parts)  # forty-two
        after = value
    return found[::-1]


def _parts(piece: str, language: Language) -> list[str] | None:
    """A dictated piece as characters; None if it is an ordinary word."""
    if piece.isdigit() or len(piece) == 1:
        return list(piece)
    value = language.numbers.get(piece)
    return None if value is None or value >= HUNDRED else list(str(value))


OF_DIGITS: frozenset[Kind] = frozenset({"digits", "phone", "number"})
"""Values that are said as digits or as number words."""
MOST_CHOICES, MOST_CHOICE_WORDS = 8, 3
"""The most choices, and the most words of each, that are given to a recogniser."""
_WORDS_AND_DIGITS = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True)
class ExpectedValue:
    """The value that the agent's question is about, as far as it tells how the answer will sound: digits, choices, both or
    nothing."""

    digits: bool = False
    choices: tuple[str, ...] = ()
    hint: str = ""
    """Such answers, in the language of the call: they lead the recogniser in place of the digits and the choices."""

    def __bool__(self) -> bool:
        return self.digits or bool(self.choices) or bool(self.hint)

    def holds(self, text: str, language: Language) -> bool:
        """True if the text is such a value and nothing else. Blanks do not distinguish choices: "table cloth" is "tablecloth"."""
        said = "".join(bare_words(text))
        if said and any("".join(bare_words(choice)) == said for choice in self.choices):
            return True
        pieces = _WORDS_AND_DIGITS.findall(text.casefold())
        return self.digits and bool(pieces) and all(piece.isdigit() or piece in language.numbers for piece in pieces)


NOTHING = ExpectedValue()


def expected_value(shapes: Iterable[ValueShape], asked: str, language: Language) -> ExpectedValue:
    """The value that the agent's last words ask for. A shape is meant if they hold one of its hints."""
    if "?" not in asked:
        return NOTHING
    words = frozenset(bare_words(asked)).difference(language.question_words, *language.unfinished.values())
    meant = [shape for shape in shapes if shape.hints & words]
    choices = tuple(choice for shape in meant for choice in shape.choices)
    are_few = len(choices) <= MOST_CHOICES and all(len(choice.split()) <= MOST_CHOICE_WORDS for choice in choices)
    return ExpectedValue(any(shape.kind in OF_DIGITS for shape in meant), choices if are_few else ())
