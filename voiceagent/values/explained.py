"""Explanations behind a name: "Clarke, with an e", "Hoffmann mit zwei F und zwei N", "Green, like the color". They change the
word that they explain, and are no part of the value. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from voiceagent.values.dictation import Dictation, folded
from voiceagent.values.spoken import Token, longest, starts

VOWELS = frozenset("aeiouyäöü")
SOUND_ALIKE = ("bvw", "ckq", "csz", "iyj", "gj", "dt", "fv", "ou")
"""Letters that stand for one another in names that sound the same."""
SPELLINGS = {"ph": "fv", "ss": "ß", "ie": "iy", "ch": "k", "ck": "k", "tz": "z", "th": "t"}
"""Letters that stand together for one of these."""
SILENT = frozenset("ehs")
"""Letters that a name may have unheard at its end."""
SHORTEST, MORE = 2, 3
"""The letters of a word, and of one that is spelled, at least."""
NEAR = 0.6
_PARTS = re.compile(r"([\s._+-]+)")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Rows of letters of which a word is told to have all or none, or each once."""

    rows: Sequence[str]
    end: int
    removed: bool = False
    single: bool = False
    at_end: bool = False

    def carried_out(self, word: str, *, silent: bool = True) -> str:
        """The word that is meant."""
        for row in self.rows:
            if self.removed:
                at = word.casefold().rfind(row)
                word = word if at < 0 or len(word) <= len(row) else _put(word, at, len(row), "")
            elif self.single:
                at = word.casefold().find(row * 2)
                word = word if at < 0 else _put(word, at, 2 * len(row), row)
            else:
                word = _with(word, row, at_end=self.at_end, silent=silent)
        return word


def explained(tokens: Sequence[Token], own: Dictation) -> list[Token]:
    """The words without explanations; each is carried out on the word before it."""
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        word = _explained_word(kept, own)
        found = _explanation(tokens, at, own)
        if found and word >= 0:
            text = found.carried_out(kept[word].text)
            kept[word] = replace(kept[word], text=text, word=folded(text))
            at = found.end
        elif found and len(_row(tokens, found.end + 1, own)[0]) >= MORE:  # "with a G, G I M"
            at = found.end
        elif word >= 0 and tokens[at].broken and (end := _comparison(tokens, at, own)):
            at = end
        else:
            kept.append(tokens[at])
            at += 1
    return kept


def changed_by(value: str, tokens: Sequence[Token], own: Dictation) -> str | None:
    """The value with an explanation carried out that was said by itself: "with a K", "Ann with an e". It is about the word that
    was named, else about the last one that it changes. None if there is none."""
    at, found = next(((at, one) for at in range(len(tokens)) if (one := _explanation(tokens, at, own))), (0, None))
    if found is None:
        return None
    around = [*tokens[:at], *tokens[found.end :]]
    named = [one.word for one in around if len(one.word) >= SHORTEST and one.word not in own.beside]
    parts = _PARTS.split(value)
    order = [index for index in range(len(parts) - 1, -1, -1) if parts[index][:1].isalpha()]
    if named:
        shares = {index: SequenceMatcher(None, folded(parts[index]), named[0]).ratio() for index in order}
        order = [index for index in order if shares[index] >= max(NEAR, *shares.values())]
    for silent in (False, True):
        for index in order:
            if (text := found.carried_out(parts[index], silent=silent)) != parts[index]:
                return "".join([*parts[:index], text, *parts[index + 1 :]])
    return None


def _with(word: str, row: str, *, at_end: bool, silent: bool) -> str:
    """The word, written with these letters."""
    low = word.casefold()
    if low.endswith(row) if at_end else row in low:
        return word
    if len(row) > 1 and row == row[0] * len(row):
        return _doubled(word, row)
    if len(row) > 1:
        return _run_replaced(word, row)
    if pair := next((pair for pair, letters in SPELLINGS.items() if row in letters and pair in low), ""):
        return _put(word, low.rfind(pair), len(pair), row)
    alike = {char for group in SOUND_ALIKE if row in group for char in group}
    places = [at for at, char in enumerate(low) if char in alike and (not at_end or at == len(low) - 1)]
    if places:
        return _put(word, places[0 if places[0] == 0 else -1], 1, row)
    return word + row if silent and (at_end or row in SILENT) else word


def _put(word: str, at: int, length: int, letters: str) -> str:
    changed = word[:at] + letters + word[at + length :]
    return changed[:1].upper() + changed[1:] if word[:1].isupper() else changed


def _doubled(word: str, letters: str) -> str:
    """The letter twice: in place of itself and one that sounds like it ("Schmidt" with a double t), else of itself alone."""
    low, letter = word.casefold(), letters[0]
    places = [at for at, char in enumerate(low) if char == letter]
    if not places:
        return word
    at = places[-1]
    alike = {char for group in SOUND_ALIKE if letter in group for char in group}
    if at and low[at - 1] in alike:
        return _put(word, at - 1, 2, letters)
    return _put(word, at, 1, letters)


def _run_replaced(word: str, letters: str) -> str:
    """The letters in place of those that sound like them: "ai" of "ei", "dt" of "t", "ph" of "f"."""
    low = word.casefold()
    for at, char in enumerate(low):
        if char in SPELLINGS.get(letters, ""):
            return _put(word, at, 1, letters)
    is_vowel = set(letters) <= VOWELS
    if not is_vowel and not set(letters) & set(low):
        return word
    runs: list[tuple[int, int]] = []
    for at, char in enumerate(low):
        fits = char in VOWELS if is_vowel else char in letters
        if fits and runs and sum(runs[-1]) == at:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        elif fits:
            runs.append((at, 1))
    runs = [run for run in runs if run[1] >= len(letters)] if is_vowel else runs
    if not runs:
        return word
    start, length = runs[0] if is_vowel else runs[-1]
    return _put(word, start, min(length, len(letters)) if is_vowel else length, letters)


def _explained_word(kept: Sequence[Token], own: Dictation) -> int:
    """The last word if it may be a name; -1 if it is none."""
    at = len(kept) - 1
    while at >= 0 and (not kept[at].word or kept[at].word in own.fillers) and kept[at].text in ",;:…" + kept[at].word:
        at -= 1
    is_word = at >= 0 and len(kept[at].word) >= SHORTEST and kept[at].word.isalpha() and kept[at].word not in own.small
    return at if is_word and (kept[at].word,) not in own.signs and kept[at].word not in own.beside else -1


def _explanation(tokens: Sequence[Token], at: int, own: Dictation) -> Explanation | None:
    """The explanation that begins here: "with a C", "mit zwei F und zwei N", "without an h"."""
    removed = tokens[at].word in own.without_letter
    if not removed and tokens[at].word not in own.with_letter:
        return None
    rows: list[str] = []
    end, single = at + 1, False
    while end < len(tokens) and not (rows and tokens[end].broken):
        start = end
        while start < len(tokens) and tokens[start].word in own.with_ | own.articles | own.single_letter:
            if _times(tokens, start, own):
                break
            single = single or tokens[start].word in own.single_letter
            start += 1
        row, start = _row(tokens, start, own)
        if not row:
            break
        rows.append(row)
        end = start
    if not rows:
        return None
    last = starts(tokens, end, own.at_end) if end < len(tokens) else 0
    is_over = end >= len(tokens) or tokens[end].broken or not tokens[end].word or (tokens[end].word,) in own.signs
    return Explanation(rows, last or end, removed, single, bool(last)) if is_over or last else None


def _times(tokens: Sequence[Token], at: int, own: Dictation) -> tuple[int, int] | None:
    """Words that repeat a letter, and their end."""
    return longest(tokens, at, own.repeats) or ((2, at + 1) if tokens[at].word in own.doubled else None)


def _row(tokens: Sequence[Token], at: int, own: Dictation) -> tuple[str, int]:
    """The letters that are said here, without a pause."""
    row, start = "", at
    while at < len(tokens) and (at == start or not tokens[at].broken):
        times, first = _times(tokens, at, own) or (1, at)
        while first < len(tokens) and first > at and tokens[first].text == "-":
            first += 1
        if first >= len(tokens):
            break
        one = tokens[first]
        if len(one.word) == 1 and one.word.isalpha():
            row, at = row + one.text.casefold() * times, first + 1
        elif (named := longest(tokens, first, own.like_letters)) and one.word not in own.beside:
            row, at = row + named[0] * times, named[1]
        elif not row and 1 < len(one.word) <= MORE and _is_row(one.word) and one.word not in own.small | own.beside:  # "dt"
            return one.text.casefold(), first + 1
        elif one.text == "-" and row:
            at += 1
        else:
            break
    return row, at


def _is_row(word: str) -> bool:
    """True if letters are no syllable: vowels or consonants alone."""
    return set(word) <= VOWELS or not set(word) & VOWELS


def _comparison(tokens: Sequence[Token], at: int, own: Dictation) -> int:
    """The end of "like the color"; 0 if this is none."""
    end = starts(tokens, at, own.as_in)
    if not end or end + 1 >= len(tokens) or tokens[end].word not in own.articles | own.with_:
        return 0
    while end < len(tokens) and not tokens[end].broken and (tokens[end].word,) not in own.signs and tokens[end].word:
        end += 1
    return end
