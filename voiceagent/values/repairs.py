"""Corrections: what the caller takes back while they say a value ("555, no sorry, 556"), and what they correct in one that was
read back ("7, not 9", "the last two are four five")."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from voiceagent.values.dictation import Dictation
from voiceagent.values.spoken import Item, Token, longest, number_table, ordinal_table, starts

Fits = Callable[[str], bool]
ALIKE = ("bpdtvegc3", "mn", "fsx", "ahkj8", "iy", "uqo", "zs", "59", "15", "23")
"""Characters that are heard for one another."""
MOST_REPAIRED = 20
"""Characters that are said again, at most."""
NEAR = 0.5
"""The least share of equal characters of a part and what it replaces."""


@dataclass(frozen=True, slots=True)
class Speech:
    """An utterance, with its markers of correction."""

    tokens: Sequence[Token]
    negated: bool
    """It begins with a no."""
    restarts: bool
    """All that was said before is void."""


def opened(tokens: list[Token], own: Dictation) -> Speech:
    """The utterance behind its restart, and behind the no with which it begins."""
    restarts, at = False, 0
    for index in range(len(tokens)):
        if end := starts(tokens, index, own.restart):
            restarts, at = True, end
    rest = tokens[at:]
    negated = False
    while rest and (not rest[0].word or (rest[0].word in own.no and not _is_contrast(rest, own))):
        negated = negated or rest[0].word in own.no
        rest = rest[1:]
    return Speech(rest, negated, restarts)


def _is_contrast(tokens: Sequence[Token], own: Dictation) -> bool:
    """True for "not nine", and false for "no, …"."""
    end = starts(tokens, 0, own.not_)
    return (
        bool(end)
        and end < len(tokens)
        and bool(tokens[end].word)
        and not tokens[end].broken
        and tokens[0].word not in {word for word in own.no if (word,) not in own.not_}
        and (tokens[0].word,) != ("no",)
    )


def text_of(items: Sequence[Item]) -> str:
    """The characters of the items."""
    return "".join(item.text for item in items if item.kind != "word")


def repaired(items: list[Item], tokens: Sequence[Token], own: Dictation, fits: Fits) -> str:
    """The characters of an utterance, each repair carried out."""
    text, groups, last = "", [0], 0
    pending: list[Item] = []
    parts: list[list[Item]] = []
    for item in items:
        if item.kind == "word" and (starts(tokens, item.at, own.repair)) and pending:
            parts.append(pending)
            pending = []
        elif item.kind != "word":
            pending.append(item)
    parts.append(pending)
    for part in parts:
        said = text_of(part)
        if not said:
            continue
        text = said if not text else replaced_end(text, said, groups[-1], fits)
        groups = [sum(len(one.text) for one in part[:index]) for index, one in enumerate(part) if one.breaks or not index]
        last = len(text) - len(said)
        groups = [last + start for start in groups]
    return text


def replaced_end(text: str, said: str, group: int, fits: Fits) -> str:
    """The text whose end is said again: as much as makes it whole, else the part that is most alike, else the last group."""
    lengths = range(1, min(len(text), MOST_REPAIRED) + 1)
    for length in lengths:
        if fits(text[: len(text) - length] + said) and alike(text[-length:], said) >= NEAR:
            return text[: len(text) - length] + said
    if fits(said):
        return said
    best = max(lengths, key=lambda length: (alike(text[-length:], said), -abs(length - len(said))))
    if alike(text[-best:], said) < NEAR:
        best = max(len(text) - group, 0) if len(text) - group <= len(said) + 1 else min(len(said), len(text))
    return text[: len(text) - best] + said


def alike(one: str, other: str) -> float:
    """The share of characters that both have at the same place, if they are as long."""
    if len(one) != len(other) or not one:
        return 0.0
    return sum(a == b for a, b in zip(one, other, strict=True)) / len(one)


def contrast(tokens: Sequence[Token], own: Dictation) -> tuple[Sequence[Token], Sequence[Token]] | None:
    """The words for the right part and those for the wrong one: "7, not 9", "not 9 but 7"."""
    for at in range(len(tokens)):
        end = starts(tokens, at, own.not_)
        if not end or not tokens[at].word:
            continue
        before, behind = tokens[:at], tokens[end:]
        but = next((index for index, token in enumerate(behind) if token.word in own.but), len(behind))
        if but < len(behind):
            return behind[but + 1 :], behind[:but]
        if any(token.word for token in before):
            return before, behind
        comma = next((index for index, token in enumerate(behind) if token.text in ",;." and index), len(behind))
        if comma < len(behind):
            return behind[comma + 1 :], behind[:comma]
    return None


def placed(tokens: Sequence[Token], own: Dictation, right: Callable[[Sequence[Token]], str]) -> tuple[int, int, str] | None:
    """ "The last two are four five": the slice of the value that is said again, and its right characters."""
    ordinals: Mapping[tuple[str, ...], int] = ordinal_table(own.code)
    for at, token in enumerate(tokens):
        if (end := starts(tokens, at, own.ends)) and end < len(tokens) and (said := right(tokens[end:])):
            return -len(said), len(said), said
        if at and starts(tokens, at, own.at_end) and (said := right(tokens[:at])):
            return -len(said), len(said), said
        found = longest(tokens, at, ordinals)
        is_last, is_first = token.bare in own.last, token.bare in own.first
        if not (is_last or is_first or found):
            continue
        end = found[1] if found and not is_first and not is_last else at + 1
        before, behind = _count(tokens, at - 1, own), _count(tokens, end, own)
        count = behind or before
        end += bool(behind)
        while end < len(tokens) and tokens[end].word in own.choose:
            end += 1
        said = right(tokens[end:])
        if not said:
            return None
        length = count or (len(said) if is_last or is_first else 1)
        if len(said) != length:
            return None
        start = -length if is_last else 0 if is_first or found is None else found[0] - 1
        return start, length, said
    return None


def _count(tokens: Sequence[Token], at: int, own: Dictation) -> int:
    if not 0 <= at < len(tokens):
        return 0
    word = tokens[at].word
    if word in own.both:
        return 2
    value = int(word) if word.isdecimal() and len(word) == 1 else number_table(own.code).get((word,), 0)
    return value if 2 <= value <= 8 else 0


def corrected(value: str, tokens: Sequence[Token], own: Dictation, read: Callable[[Sequence[Token]], str]) -> str | None:
    """The value with the correction in it; None if the words tell none. `read` gives the characters of some words."""
    if (pair := contrast(tokens, own)) and (wrong := read(pair[1])) and (right := read(pair[0])):
        at = value.rfind(wrong)
        return None if at < 0 else value[:at] + right + value[at + len(wrong) :]
    if place := placed(tokens, own, read):
        start, length, right = place
        start = len(value) + start if start < 0 else start
        return value[:start] + right + value[start + length :] if 0 <= start <= len(value) - length else None
    return None


def put_in(value: str, said: str) -> str | None:
    """The value with a part in place of the one that it is most like; None if it is like none or like several."""
    if not 0 < len(said) < len(value):
        return None
    shares = [(alike(value[at : at + len(said)], said), at) for at in range(len(value) - len(said) + 1)]
    best = max(share for share, _ in shares)
    if best >= NEAR and best < 1:
        at = [at for share, at in shares if share == best]
        return value[: at[0]] + said + value[at[0] + len(said) :] if len(at) == 1 else None
    if len(said) == 1:
        at = [index for index, char in enumerate(value) if char != said and any(char in row and said in row for row in ALIKE)]
        return value[: at[0]] + said + value[at[0] + 1 :] if len(at) == 1 else None
    if best == 1:
        return None
    match = SequenceMatcher(None, value, said, autojunk=False).find_longest_match()
    if match.size * 2 > len(said) and match.b == 0 and len(said) - match.size == 1:
        return value[: match.a] + said + value[match.a + len(said) :]
    return None
