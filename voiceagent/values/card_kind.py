"""The number of a payment card. It never reaches this kind: whoever takes the caller's words keeps it (`hide_card`), and puts a
mark in its place, which says no more than the last four digits. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from voiceagent.turn_taking.language import Language
from voiceagent.values.card_numbers import is_card
from voiceagent.values.digits import CardDigits, digits_of
from voiceagent.values.kind import ELSEWHERE, UNCLEAR, Frame, HeardValue

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
        return frame.words.values.card.replace("{digits}", " ".join(value[-4:]))

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
    run = digits_of(said, language.code)
    if so_far is None:
        written = _WRITTEN.search(said)
        digits = re.sub(r"\D", "", written.group()) if written is not None else run
        if not is_card(digits):
            return HiddenCard(said)
        mark = f"card ending {digits[-4:]}"
        return HiddenCard(said.replace(written.group(), f"[{mark}]") if written is not None else f"[{mark}]", mark, digits)
    heard = CardDigits().hear(said, so_far, Frame(language.code))
    if heard.value is not None:
        mark = f"card ending {heard.value[-4:]}"
        return HiddenCard(f"[{mark}]", mark, heard.value)
    if heard.partial and len(heard.partial) < _length(heard.partial):
        mark = f"part {part} of a card"
        return HiddenCard(f"[{mark}]", mark, heard.partial)
    return HiddenCard(NO_CARD if run else said)


def hide_digits(words: str, language: Language, *, asked: bool) -> str:
    """Words that may still change without the digits of a card. `asked`: all digits are a card's."""
    if not asked:
        return _WRITTEN.sub(HIDDEN_DIGIT, words)
    return " ".join(HIDDEN_DIGIT if _is_number(word, language) else word for word in words.split())


def _is_number(word: str, language: Language) -> bool:
    return any(character.isdigit() for character in word) or bool(digits_of(word, language.code))


def _length(digits: str) -> int:
    return next((length for start, length in _LENGTHS if digits.startswith(start)), USUAL_LENGTH)
