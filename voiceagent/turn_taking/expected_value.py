"""The value that the agent's question is about, as far as it tells how the answer will sound: digits, or one of a few choices.
Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from voiceagent.turn_taking.language import Language, bare_words
from voiceagent.turn_taking.patience import Kind, ValueShape

OF_DIGITS: frozenset[Kind] = frozenset({"digits", "phone", "number"})
"""Values that are said as digits or as number words."""
MOST_CHOICES, MOST_CHOICE_WORDS = 8, 3
"""The most choices, and the most words of each, that are given to a recogniser."""
_PIECES = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True)
class ExpectedValue:
    """Digits, choices, both or nothing."""

    digits: bool = False
    choices: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.digits or bool(self.choices)

    def holds(self, text: str, language: Language) -> bool:
        """True if the text is such a value and nothing else. Blanks do not distinguish choices: "table cloth" is "tablecloth"."""
        said = "".join(bare_words(text))
        if said and any("".join(bare_words(choice)) == said for choice in self.choices):
            return True
        pieces = _PIECES.findall(text.casefold())
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
