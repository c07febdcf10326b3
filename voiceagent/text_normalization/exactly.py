"""Spells out what must be understood to the letter: codes, addresses, telephone numbers, letter by letter and digit by digit.
Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from voiceagent.text_normalization.numerals import DIGITS, by_digits

LONGEST = 80
"""The most characters that are spelt out; nobody could follow more."""
SIGNS = {
    "@": "at",
    ".": "dot",
    "-": "dash",
    "_": "underscore",
    "+": "plus",
    "/": "slash",
    "#": "hash",
    "&": "and",
    "=": "equals",
    "%": "percent",
    ":": "colon",
    "*": "star",
}
_PARTS = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|_")
_VOWEL = re.compile(r"[aeiouyà-öø-ÿ]", re.IGNORECASE)


def is_word(text: str) -> bool:
    """True if letters are read as a word rather than one by one."""
    return bool(_VOWEL.search(text)) and not (text.isupper() and len(text) <= 4)


class Speller:
    """Spells in one language."""

    def __init__(self, digits: Sequence[str], signs: Mapping[str, str], letters: Mapping[str, str]) -> None:
        """`letters` are those that a voice would read as words, in capitals, and what it is given in their place."""
        self.digits, self._signs, self._letters = digits, signs, letters

    def by_digits(self, digits: str) -> str:
        """Digit by digit: six or more in threes, with a breath between them."""
        return by_digits(digits, self.digits)

    def letters(self, text: str) -> str:
        """Letter by letter."""
        return " ".join(self._letters.get(letter, letter) for letter in text.upper())

    def spelt(self, text: str) -> str:
        """Letter by letter and digit by digit; a hyphen, a dot or a space of a code is a breath."""
        groups: list[str] = []
        for part in re.split(r"[\s.\-–/]+", text):
            said = [self._sound(piece) for piece in _PARTS.findall(part)]
            if said:
                groups.append(" ".join(said))
        return ", ".join(groups)

    def _sound(self, piece: str) -> str:
        if piece.isdecimal():
            return self.by_digits(piece)
        return self.letters(piece) if piece.isalpha() else self._signs.get(piece, "")

    def address(self, text: str) -> str:
        """An e-mail or web address: words as words, the rest spelt, every sign said: "jo dot smith at example dot com"."""
        text = re.sub(r"^https?://", "", text).rstrip("/")
        name, at, domain = text.rpartition("@")
        country = re.search(r"\.[A-Za-z]{2}(?=$|[/:])", domain)
        spelt_at = len(name + at) + country.start() + 1 if country else -1
        said = [self._address_part(match.group(), spell=match.start() == spelt_at) for match in _PARTS.finditer(text)]
        return " ".join(part for part in said if part)

    def _address_part(self, piece: str, *, spell: bool) -> str:
        if piece.isdecimal():
            return self.by_digits(piece)
        if piece.isalpha():
            return piece if not spell and len(piece) > 1 and _VOWEL.search(piece) else self.letters(piece)
        return self._signs.get(piece, "")

    def telephone(self, text: str) -> str:
        """A telephone number in the groups in which it is written."""
        groups = [self.by_digits(group) for group in re.findall(r"\d+", text)]
        return (f"{self._signs['+']} " if text.lstrip("( ").startswith("+") else "") + ", ".join(groups)

    def exactly(self, text: str) -> str:
        """Text that is marked to be said exactly: an address is read as one, everything else is spelt."""
        if re.fullmatch(r"[^\s@]+@[^\s@]+\.[^\s@]+|(?:https?://|www\.)\S+", text):
            return self.address(text)
        if re.fullmatch(r"\+?[\d\s()-]{7,}", text):
            return self.telephone(text)
        return self.spelt(text)


ENGLISH = Speller(DIGITS, SIGNS, {"A": "eigh"})
"""An "A" would be read as the article."""
letters, spelt, address = ENGLISH.letters, ENGLISH.spelt, ENGLISH.address
