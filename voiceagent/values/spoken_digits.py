"""Digits in what people say: "zero three oh, double five, forty-two" is 0305542. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from voiceagent.turn_taking.language import Language, bare_words

TEN, TWENTY, HUNDRED = 10, 20, 100
_PIECES = re.compile(r"[^\W\d_]+|\d+|\+")
_TOKENS = re.compile(r"\d+[^\W_]*|[^\W\d_]+")
NO_ORDINALS: Mapping[str, int] = {}
MOST_BETWEEN = 2
"""Most words of hesitation between two parts of a number."""


def digit_runs(said: str, language: Language) -> list[str]:
    """The digits that were said in a row, each row as a text. If the caller corrects themselves, only those behind that."""
    runs, between, tens, repeat = [""], 0, 0, 1
    pieces = _PIECES.findall(said.casefold())
    for place, piece in enumerate(pieces):
        if piece == "+":
            runs.append("+")
            continue
        if piece in language.repeats:
            repeat = language.repeats[piece]
            continue
        digits, value = _number(piece, language)
        if not digits:
            if piece in language.no or piece in language.commands:
                runs = [""]
            elif not _hesitates(piece, language) or between == MOST_BETWEEN:
                runs.append("")
                tens = 0
            between += 1
            continue
        if tens and 0 < value < (TWENTY if _adds_teens(tens, language) else TEN) and not piece.isdigit():
            runs[-1] = runs[-1][:-2] + str(tens + value)
            tens = 0
        elif _is_four_times_twenty(pieces, place, language):
            runs[-1] = f"{runs[-1][:-1]}80"
            tens = 80
        else:
            runs[-1] += digits * (repeat if len(digits) == 1 else 1)
            tens = value if TWENTY <= value < HUNDRED and value % TEN == 0 and not piece.isdigit() else 0
        between, repeat = 0, 1
    return [run for run in runs if run.strip("+")]


def _hesitates(piece: str, language: Language) -> bool:
    return any(piece in language.unfinished.get(words, ()) for words in ("filler", "joiner"))


def _adds_teens(tens: int, language: Language) -> bool:
    """Returns whether "sixty-twelve" is a number, because the language has no word for seventy."""
    return 70 not in language.numbers.values() and tens in (60, 80)


def _is_four_times_twenty(pieces: list[str], place: int, language: Language) -> bool:
    if 80 in language.numbers.values() or place == 0:
        return False
    return language.numbers.get(pieces[place].rstrip("s")) == TWENTY and language.numbers.get(pieces[place - 1]) == 4


def _number(piece: str, language: Language) -> tuple[str, int]:
    """A piece's digits and its value; no digits for a word that is no number below a hundred."""
    if piece.isdigit():
        return piece, int(piece[:4])
    value = _value(piece, language)
    return ("", 0) if value is None or value >= HUNDRED else (str(value), value)


def _value(piece: str, language: Language) -> int | None:
    numbers = language.numbers
    found = numbers.get(piece, numbers.get(piece.rstrip("s")))
    if found is not None:
        return found
    plain = _plain(piece)
    tens = {_plain(word): value for word, value in numbers.items() if TWENTY <= value < HUNDRED and value % TEN == 0}
    units = {_plain(word): value for word, value in numbers.items() if 0 < value < TEN}
    for word, value in tens.items():
        joined = plain.removesuffix(word)
        for joiner in ("", *language.unfinished.get("joiner", ())):  # "zweiundvierzig", "tweeënveertig"
            if joined != plain and joined.endswith(joiner) and joined.removesuffix(joiner) in units:
                return value + units[joined.removesuffix(joiner)]
        for stem in (word, word[:-1]):  # "ventidue", "ventuno"
            if plain.startswith(stem) and plain[len(stem) :] in units:
                return value + units[plain[len(stem) :]]
    return None


def _plain(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))


def are_all_digits(said: str, language: Language) -> bool:
    """Returns whether the words are nothing but a number, or a part of one."""
    words = bare_words(said)
    return bool(words) and all(bool(_number(word, language)[0]) or word in language.repeats for word in words)


def spaced(digits: str, size: int = 3) -> str:
    """Digits in groups to be read out one by one; the last group is never a single digit."""
    plus, digits = ("+ ", digits[1:]) if digits.startswith("+") else ("", digits)
    groups = [digits[start : start + size] for start in range(0, len(digits), size)]
    if len(groups) > 1 and len(groups[-1]) == 1:
        groups[-2:] = ["".join(groups[-2:])]
    return plus + ", ".join(" ".join(group) for group in groups)


def number_tokens(
    said: str, language: Language, ordinals: Mapping[str, int] = NO_ORDINALS, endings: Sequence[str] = ()
) -> list[str | int]:
    """The words without case and punctuation, with numbers below a hundred, and ordinals, as integers: "the twenty-first" is
    ["the", 21]. Digits are taken as they are written."""
    found: list[str | int] = []
    tens = 0
    for piece in _TOKENS.findall(said.casefold().replace("'", "").replace("’", "")):
        value = ordinals.get(piece)
        if value is None and piece[0].isdigit():
            digits = re.match(r"\d+", piece)
            found.append(int(digits.group()[:8]) if digits is not None else piece)
            tens = 0
            continue
        if value is None:
            value = _value(piece, language)
        stems = (piece.removesuffix(ending) for ending in endings if piece.endswith(ending))
        if value is None:
            value = next((one for one in (_value(stem, language) for stem in stems) if one), None)
        if value is None or value >= HUNDRED:
            if not (tens and piece in language.unfinished.get("joiner", ())):
                tens = 0
            found.append(piece)
            continue
        if tens and 0 < value < (TWENTY if _adds_teens(tens, language) else TEN):
            while isinstance(found[-1], str):
                found.pop()
            found[-1] = tens + value
            tens = 0
        elif value == TWENTY and found and found[-1] == 4 and 80 not in language.numbers.values():
            found[-1] = tens = 80
        else:
            found.append(value)
            tens = value if TWENTY <= value < HUNDRED and value % TEN == 0 else 0
    return found
