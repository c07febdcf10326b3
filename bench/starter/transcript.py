"""The transcript of a faultless recogniser: numbers in digits, as Whisper spells them."""

from __future__ import annotations

import re

from bench.starter.normal import CARDINALS, ONES, SCALES, TENS, words

_NUMBER = "|".join(sorted({*ONES, *TENS, *SCALES, "oh", "point"}, key=len, reverse=True))
_RUN = re.compile(rf"\b(?:{_NUMBER})(?:(?:[ -]| and )(?:{_NUMBER}))*\b( [ap]\.m\.)?", re.IGNORECASE)
SMALLEST = 10
"""Smaller numbers by themselves stay words, but for times and dates."""
_MONTHS = "January February March April May June July August September October November December"
MONTHS = frozenset(_MONTHS.split())
ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def transcript(said: str) -> str:
    """The sentence with its numbers in digits."""
    return _RUN.sub(_digits, said)


def _digits(found: re.Match[str]) -> str:
    half = found[1] or ""
    before, after = found.string[: found.start()].split(), found.string[found.end() :]
    dated = after.startswith(" of ") or (bool(before) and before[-1] in MONTHS)
    spoken = found[0][: len(found[0]) - len(half)]
    if len(words(spoken)) > 1:  # two numbers
        return " and ".join(_written(part, "", dated) for part in spoken.split(" and ")) + half
    return _written(spoken, half, dated)


def _written(spoken: str, half: str, dated: bool) -> str:
    found, parts = words(spoken), spoken.lower().split()
    if len(found) != 1 or not found[0][0].isdigit() or parts[0] in ("oh", "point", *SCALES):
        return spoken + half
    digits = found[0]
    if half and len(parts) > 1 and len(digits) > 2:
        return f"{digits[:-2]}:{digits[-2:]}{half}"
    if ONES.get(parts[-1]) is not None and parts[-1] not in CARDINALS:
        ending = "th" if digits[-2:] in ("11", "12", "13") else ENDINGS.get(int(digits[-1]), "th")
        return digits + ending if dated or len(parts) > 1 else spoken
    small = len(parts) == 1 and digits.isdigit() and int(digits) < SMALLEST
    return spoken + half if small and not half else digits + half
