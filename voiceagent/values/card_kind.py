"""The number of a payment card. It never reaches this kind: whoever takes the caller's words keeps it (`hide_card`), and puts a
mark in its place, which says no more than the last four digits. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from voiceagent.turn_taking.language import Language, bare_words
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue
from voiceagent.values.spoken_digits import digit_runs, spaced

SHORTEST, LONGEST = 13, 19
"""ISO/IEC 7812 allows 19 digits."""
_LENGTHS = (("34", 15), ("37", 15), ("30", 14), ("36", 14), ("38", 14))
USUAL_LENGTH = 16
_WRITTEN = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.]?\d)")
_MARK = re.compile(r"\[(card ending \d{4}|part \d+ of a card|no card)\]")
NO_CARD = "[no card]"
HIDDEN_DIGIT = "•"


class CardKind:
    """A card's number, as a mark."""

    name = "card"

    def hear(self, said: str, so_far: str, frame: Frame) -> HeardValue:
        """See `Kind`."""
        mark = _MARK.search(said)
        if mark is None or mark.group() == NO_CARD:
            return UNCLEAR if mark is not None else ELSEWHERE
        if mark[1].startswith("part"):
            return HeardValue(partial=mark[1], about_it=True)
        return HeardValue(mark[1], about_it=True)

    def confirm(self, value: str, frame: Frame) -> str:
        """See `Kind`."""
        return frame.words.values.card.replace("{digits}", spaced(value[-4:], 4))

    def hint(self, frame: Frame) -> str:
        """See `Kind`."""
        return "4000 0012 3456."

    def schema(self) -> dict[str, object]:
        """See `Kind`."""
        return {"type": "string"}


@dataclass(frozen=True, slots=True)
class HiddenCard:
    """Words without the digits of a card."""

    text: str
    """The words, with a mark in place of the digits."""
    mark: str = ""
    """The mark without its brackets, if there are digits to keep."""
    digits: str = ""
    """The digits that it stands for."""


def hide_card(said: str, language: Language, part: int, so_far: str | None) -> HiddenCard:
    """Take the digits of a card out of final words. `so_far` are the digits that are known if the caller was asked for a card:
    then all digits are a card's. None: only a whole number is one. `part` is the number of the next part's mark."""
    run = max(digit_runs(said, language), key=len, default="").lstrip("+")
    if so_far is None:
        written = _WRITTEN.search(said)
        digits = re.sub(r"\D", "", written.group()) if written is not None else run
        if not is_card(digits):
            return HiddenCard(said)
        mark = f"card ending {digits[-4:]}"
        return HiddenCard(said.replace(written.group(), f"[{mark}]") if written is not None else f"[{mark}]", mark, digits)
    if not run:
        return HiddenCard(said)
    digits = run if len(run) >= SHORTEST or len(so_far) >= SHORTEST else so_far + run
    if is_card(digits):
        mark = f"card ending {digits[-4:]}"
    elif len(digits) < _length(digits) and len(so_far) < SHORTEST:
        mark = f"part {part} of a card"
    else:
        return HiddenCard(NO_CARD)
    return HiddenCard(f"[{mark}]", mark, digits)


def hide_digits(words: str, language: Language, *, asked: bool) -> str:
    """Words that may still change without the digits of a card. `asked`: all digits are a card's."""
    if not asked:
        return _WRITTEN.sub(HIDDEN_DIGIT, words)
    return " ".join(HIDDEN_DIGIT if _is_number(word, language) else word for word in words.split())


def _is_number(word: str, language: Language) -> bool:
    return any(character.isdigit() for character in word) or bool(digit_runs(" ".join(bare_words(word)), language))


def _length(digits: str) -> int:
    return next((length for start, length in _LENGTHS if digits.startswith(start)), USUAL_LENGTH)


def is_card(digits: str) -> bool:
    """Returns whether the digits are a whole card's, by their count and their check digit (ISO/IEC 7812-1, Luhn)."""
    if not _length(digits) <= len(digits) <= LONGEST:
        return False
    doubled = (int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0
