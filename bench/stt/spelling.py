"""One spelling for what was said and what a recogniser wrote, so that a word error is an error of hearing: "seven forty five" and
"7:45" are the same digits, "M A R T E N" and "M-A-R-T-E-N" the same letters, "Mister" and "Mr." the same word. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

import jiwer

UNITS = {
    word: value
    for value, word in enumerate(
        (
            *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
            *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
        )
    )
}
TENS_WORDS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
TENS = {word: 10 * value for value, word in enumerate(TENS_WORDS, 2)}
SAME = {
    "oh": "0", "mr": "mister", "mrs": "missis", "dr": "doctor", "st": "street", "neighbour": "neighbor", "colours": "colors",
    "harbour": "harbor", "licence": "license", "okay": "ok", "lbs": "pounds", "grey": "gray",
}  # fmt: skip
"""Written forms of one word, each to the one that is compared."""


def compared(text: str, language: str = "en") -> list[str]:
    """The words as they are compared; every number is its digits, one by one, and every spelled letter a word."""
    text = unicodedata.normalize("NFC", text).casefold().replace("’", "'").replace("œ", "oe")
    if language != "en":
        return re.sub(r"[^\w' ]", " ", text).split()
    text = re.sub(r"\b([ap])\.\s?m\b\.?", r"\1m", text)
    text = re.sub(r"\$\s?([\d,]+)", r"\1 dollars", text)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"\b(?=[a-z]*\d)([a-z\d]+)\b", lambda code: " ".join(re.findall(r"\d+|[a-z]", code[0])), text)
    return list(_digits(re.sub(r"[^a-z0-9' ]", " ", text).split()))


def word_errors(pairs: Sequence[tuple[str, str]], language: str = "en") -> float:
    """Errors in per cent of the reference's words, over all (said, heard) pairs."""
    said = [" ".join(compared(text, language)) for text, _ in pairs]
    heard = [" ".join(compared(text, language)) for _, text in pairs]
    return float(100 * jiwer.wer(said, heard))


def _digits(words: Sequence[str]) -> Iterator[str]:
    """Number words as digits, one by one: "two hundred and thirty" and "230" are both 2, 3, 0."""
    at = 0
    while at < len(words):
        word = words[at]
        if word.isdigit():
            yield from word
        elif word in UNITS or word in TENS:
            value, used = _number(words, at)
            yield from str(value)
            at += used - 1
        else:
            yield SAME.get(word, word)
        at += 1


def _number(words: Sequence[str], at: int) -> tuple[int, int]:
    """The number below a thousand that begins at a word, and how many words it takes."""
    value, used = _pair(words, at)
    if value < 10 and words[at + used : at + used + 1] == ["hundred"]:
        value, used = value * 100, used + 1
        joined = words[at + used : at + used + 1] == ["and"]
        rest, more = _pair(words, at + used + joined)
        if more:
            return value + rest, used + joined + more
    return value, used


def _pair(words: Sequence[str], at: int) -> tuple[int, int]:
    """The number below a hundred that begins at a word; none: 0 and 0 words."""
    word = words[at] if at < len(words) else ""
    if word in TENS:
        unit = UNITS.get(words[at + 1], 0) if at + 1 < len(words) else 0
        return (TENS[word] + unit, 2) if 0 < unit < 10 else (TENS[word], 1)
    return (UNITS[word], 1) if word in UNITS else (0, 0)
