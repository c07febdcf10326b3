"""Spells out what must be understood to the letter: codes, addresses, telephone numbers, letter by letter and digit by digit.
Pure."""

from __future__ import annotations

import re

from voiceagent.text_normalization.numerals import by_digits

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
_PARTS = re.compile(r"[A-Za-z]+|\d+|[^\w\s]|_")
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)


def letters(text: str) -> str:
    """Letter by letter. "A" would be read as the article."""
    return " ".join("eigh" if letter in "aA" else letter.upper() for letter in text)


def spelt(text: str) -> str:
    """Letter by letter and digit by digit; a hyphen, a dot or a space of a code is a breath."""
    groups: list[str] = []
    for part in re.split(r"[\s.\-–/]+", text):
        said = [_sound(piece) for piece in _PARTS.findall(part)]
        if said:
            groups.append(" ".join(said))
    return ", ".join(groups)


def _sound(piece: str) -> str:
    if piece.isdigit():
        return by_digits(piece)
    return letters(piece) if piece.isalpha() else SIGNS.get(piece, "")


def is_word(text: str) -> bool:
    """True if letters are read as a word rather than one by one."""
    return bool(_VOWEL.search(text)) and not (text.isupper() and len(text) <= 4)


def address(text: str) -> str:
    """An e-mail or web address: words as words, the rest spelt, every sign said: "jo dot smith at example dot com"."""
    text = re.sub(r"^https?://", "", text).rstrip("/")
    name, at, domain = text.rpartition("@")
    country = re.search(r"\.[A-Za-z]{2}(?=$|[/:])", domain)
    spelt_at = len(name + at) + country.start() + 1 if country else -1
    said = [_address_part(match.group(), spell=match.start() == spelt_at) for match in _PARTS.finditer(text)]
    return " ".join(part for part in said if part)


def _address_part(piece: str, *, spell: bool) -> str:
    if piece.isdigit():
        return by_digits(piece)
    if piece.isalpha():
        return piece if not spell and len(piece) > 1 and _VOWEL.search(piece) else letters(piece)
    return SIGNS.get(piece, "")


def telephone(text: str) -> str:
    """A telephone number in the groups in which it is written."""
    groups = [by_digits(group) for group in re.findall(r"\d+", text)]
    return ("plus " if text.lstrip("( ").startswith("+") else "") + ", ".join(groups)


def exactly(text: str) -> str:
    """Text that is marked to be said exactly: an address is read as one, everything else is spelt."""
    if re.fullmatch(r"[^\s@]+@[^\s@]+\.[^\s@]+|(?:https?://|www\.)\S+", text):
        return address(text)
    if re.fullmatch(r"\+?[\d\s()-]{7,}", text):
        return telephone(text)
    return spelt(text)
