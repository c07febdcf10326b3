"""Texts as words in one form, so that what is compared is what was said and not how it is spelled: case, punctuation, articles,
"seven" and "7", "p.m." and "PM", "7:30" and "seven thirty", digits written together or apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from difflib import SequenceMatcher

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
    "nineteen"
)
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
CARDINALS = frozenset(_ONES.split())
ONES = {word: value for words in (_ONES, _ORDINALS) for value, word in enumerate(words.split())}
TENS = {word: 10 * value for value, word in enumerate(_TENS.split(), 2)} | {"twentieth": 20, "thirtieth": 30}
SCALES = {"hundred": 100, "thousand": 1000}
ARTICLES = frozenset({"a", "an", "the"})
SAME = {"dr": "doctor", "mr": "mister", "st": "street", "ok": "okay", "alright": "allright", "oh": "o"}
"""Spellings of the same spoken word."""
REWRITTEN = (
    (r"[’']", ""),
    (r"\b([ap])\s?\.\s?m\b\.?|\b([ap])\s+m\b", r" \1\2m "),
    (r"(?<=\d)([ap]m)\b", r" \1"),
    (r"(?<=\d)\.(?=\d\d\s+[ap]m\b)", " "),
    (r"(?<=\d),(?=\d{3})", ""),
    (r"(?<=\d):00\b|(?<=\d)\.00\b", ""),
    (r"[$£€](\d+(?:\.\d+)?)", r"\1 dollars"),
    (r"%", " percent "),
    (r"&", " and "),
    (r"(?<=\d)(st|nd|rd|th)\b", ""),
)
_TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")


def words(text: str) -> list[str]:
    """The words in their one form; numbers are digits, and digits that follow each other one word."""
    text = unicodedata.normalize("NFKD", text.lower())
    text = "".join(character for character in text if not unicodedata.combining(character))
    for pattern, written in REWRITTEN:
        text = re.sub(pattern, written, text)
    found = [SAME.get(token, token) for token in _TOKEN.findall(text) if token not in ARTICLES]
    return _joined(_with_digits(found))


def _with_digits(tokens: Sequence[str]) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(tokens):
        value, after = _number(tokens, at)
        if after > at:
            found.append(value)
        elif tokens[at] == "o" and found and found[-1].isdigit():
            found.append("0")
        else:
            found.append(tokens[at])
        at = max(after, at + 1)
    return found


def _number(tokens: Sequence[str], at: int) -> tuple[str, int]:
    """A number that begins there, and where it ends; the same place where none begins."""
    total, after = _scaled(tokens, at, "thousand")
    if after + 1 < len(tokens) and after > at and tokens[after] == "point" and ONES.get(tokens[after + 1], 10) < 10:
        return f"{total}.{ONES[tokens[after + 1]]}", after + 2
    written = tokens[at] if after == at + 1 and tokens[at][0].isdigit() else str(total)
    return written, after


def _scaled(tokens: Sequence[str], at: int, scale: str) -> tuple[int, int]:
    """Reads hundreds, or thousands, and what is added to them; or a number without either."""
    below = _below_hundred if scale == "hundred" else _below_thousand
    value, after = below(tokens, at)
    if after < len(tokens) and tokens[after] == scale:
        value, after = (value if after > at else 1) * SCALES[scale], after + 1
        start = after + (after + 1 < len(tokens) and tokens[after] == "and")
        more, end = below(tokens, start)
        value, after = (value + more, end) if end > start else (value, after)
    return value, after


def _below_thousand(tokens: Sequence[str], at: int) -> tuple[int, int]:
    return _scaled(tokens, at, "hundred")


def _below_hundred(tokens: Sequence[str], at: int) -> tuple[int, int]:
    word = tokens[at] if at < len(tokens) else ""
    if word in TENS:
        unit = ONES.get(tokens[at + 1], 0) if at + 1 < len(tokens) else 0
        return (TENS[word] + unit, at + 2) if 0 < unit < 10 else (TENS[word], at + 1)
    if word in ONES:
        return ONES[word], at + 1
    if word.isdigit():
        return int(word), at + 1
    return 0, at


def _joined(tokens: Sequence[str]) -> list[str]:
    found: list[str] = []
    for token in tokens:
        if found and found[-1].isdigit() and token.isdigit():
            found[-1] += token
        else:
            found.append(token)
    return found


def place(of: Sequence[str], within: Sequence[str]) -> range | None:
    """Returns the place of these words in the others; the last one, which a correction means."""
    starts = [at for at in range(len(within) - len(of) + 1) if list(within[at : at + len(of)]) == list(of)]
    return range(starts[-1], starts[-1] + len(of)) if starts and of else None


def heard_as(of: Sequence[str], said: Sequence[str], heard: Sequence[str]) -> list[str]:
    """The words that were heard in the place of some that were said; none where these were not said."""
    where = place(of, said)
    if where is None:
        return []
    found: list[str] = []
    for tag, said_from, said_to, heard_from, heard_to in SequenceMatcher(None, said, heard, autojunk=False).get_opcodes():
        first, last = max(said_from, where.start), min(said_to, where.stop)
        if first >= last:
            continue
        if tag == "equal":
            heard_from, heard_to = heard_from + first - said_from, heard_from + last - said_from
        found += heard[heard_from:heard_to]
    return found
