"""Words as the digits, letters and signs that they stand for: "double five", "zweiundzwanzig", "B as in Bravo", "at". Homophones
that a recogniser writes ("for", "see") count beside other digits or letters."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Literal, TypeVar

from num2words import CONVERTER_CLASSES, num2words

from voiceagent.turn_taking.languages import language
from voiceagent.values.dictation import Dictation, Phrase, folded, phrase
from voiceagent.values.languages import dictation

MOST_SAID = 300
"""The last characters of an utterance are read; a value is shorter."""
NEAR_SPELLED = 0.75
"""The least likeness of letters in a row to the word before them that they spell."""
LETTER_NAME = 4
"""A letter's name of so many letters is no other word: "jota"."""
LEAST_ROW = 3
"""This many words for letters in a row are letters, though none is sure."""
TEN, HUNDRED, THOUSAND = 10, 100, 1000
_TOKEN = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+|[^\w\s]|_")
_BREAKS = frozenset(".,;:!?…")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, the digits of a number, or a sign."""

    text: str
    word: str
    """Folded; empty for a sign."""
    glued: bool
    """True if no blank stands before it."""
    broken: bool
    """True if a punctuation mark stands before it."""

    @property
    def bare(self) -> str:
        """The word without an elided article: "l'ultimo"."""
        head, _, rest = self.text.replace("’", "'").partition("'")
        return folded(rest) if rest and len(head) <= 4 else self.word


def tokens_of(said: str) -> list[Token]:
    """The words, numbers and signs of a text."""
    found: list[Token] = []
    broken, end = False, -1
    for match in _TOKEN.finditer(said[-MOST_SAID:]):
        text = match.group()
        word = folded(text) if text[0].isalnum() else ""
        found.append(Token(text, word, match.start() == end, broken))
        broken, end = text in _BREAKS, match.end()
    return found


def longest(tokens: Sequence[Token], at: int, known: Mapping[Phrase, T], *, across: bool = False) -> tuple[T, int] | None:
    """The meaning of the longest known phrase that begins here, and its end. No punctuation stands in it, but a hyphen may."""
    elided = tokens[at].bare if at < len(tokens) else ""
    if elided and elided != tokens[at].word and (found := _longest(tokens, at, known, elided, across=across)):
        return found
    return _longest(tokens, at, known, "", across=across)


def _longest(tokens: Sequence[Token], at: int, known: Mapping[Phrase, T], first: str, *, across: bool) -> tuple[T, int] | None:
    found: tuple[T, int] | None = None
    said: list[str] = []
    for index in range(at, min(len(tokens), at + 9)):
        token = tokens[index]
        if not token.word:
            if token.text == "-" and said and token.glued:
                continue
            break
        if said and token.broken and not across:
            break
        said.append(first if first and index == at else token.word)
        if (meaning := known.get(tuple(said))) is not None:
            found = (meaning, index + 1)
    return found


def starts(tokens: Sequence[Token], at: int, known: Iterable[Phrase]) -> int:
    """The end of the longest of the phrases that begins here, punctuation in it aside; 0 if none does."""
    best = 0
    for one in known:
        index = at
        for word in one:
            while index < len(tokens) and not tokens[index].word and index > at:
                index += 1
            if index >= len(tokens) or tokens[index].word != word:
                break
            index += 1
        else:
            best = max(best, index)
    return best


# --- numbers ----------------------------------------------------------------------------------------------------------


@functools.cache
def number_table(code: str) -> Mapping[Phrase, int]:
    """The numbers up to 999 by their words."""
    found: dict[Phrase, int] = {}
    known, own = language(code), dictation(code)
    if code in CONVERTER_CLASSES:
        for value in range(THOUSAND):
            said = phrase(str(num2words(value, lang=code)))
            found.setdefault(said, value)
            for usual, other in own.variants:
                if re.search(usual, " ".join(said)):
                    found.setdefault(phrase(re.sub(usual, other, " ".join(said))), value)
            if own.joiner and value > HUNDRED:  # "three hundred five", "trois cents"
                found.setdefault(tuple(word for word in said if word != own.joiner), value)
    found |= {(folded(word),): value for word, value in known.numbers.items() if value <= HUNDRED}
    return {**found, **own.numbers}


@functools.cache
def small_numbers(code: str) -> Mapping[Phrase, int]:
    """The numbers that are said as one within a dictated one: up to 99, and hundreds. In Romance languages up to 999."""
    full, joiner = code not in ("en", "de", "nl"), dictation(code).joiner
    return {
        said: value
        for said, value in number_table(code).items()
        if full or value < HUNDRED or value % HUNDRED == 0 or joiner in said or len(said) == 1
    }


@functools.cache
def ordinal_table(code: str) -> Mapping[Phrase, int]:
    """The ordinals up to 31 by their words."""
    own = dictation(code)
    found = dict(own.ordinals)
    if code in CONVERTER_CLASSES:
        for value in range(1, 32):
            *head, last = phrase(str(num2words(value, lang=code, to="ordinal")))
            for ending in own.ordinal_endings:
                found.setdefault((*head, last + ending), value)
    return found


def cardinal(tokens: Sequence[Token], at: int, code: str) -> tuple[int, int] | None:
    """The number that begins here, in words or digits, of any size below a thousand millions, and its end."""
    own, table = dictation(code), number_table(code)
    total, value, end = 0, -1, at
    index = at
    while index < len(tokens):
        token = tokens[index]
        if index > at and token.broken:
            break
        if value < 0 and token.word.isdecimal():
            value, index = int(token.word[:12]), index + 1
        elif value < 0 and (found := longest(tokens, index, table)):
            value, index = found
        elif TEN < value < HUNDRED and longest(tokens, index, own.hundreds):  # twelve hundred
            value, index = value * HUNDRED, index + 1
        elif (scale := longest(tokens, index, own.scales)) and scale[0] > 1:
            total, value, index = total + max(value, 1) * scale[0], -1, scale[1]
        elif value < 0 and (split := compound(token.word, code)) is not None:
            value, index = split, index + 1
        elif token.word == own.joiner and value < 0 and total:
            index += 1
            continue
        else:
            break
        end = index
    return None if end == at else (total + max(value, 0), end)


def compound(word: str, code: str) -> int | None:
    """The value of thousands or of a year in one word: "zweitausendfünfhundert", "duemila", "neunzehnhundertachtzig"."""
    table = number_table(code)
    for at in range(3, len(word) - 2):  # "negentienvijfenzeventig"
        century, year = table.get((word[:at],), 0), table.get((word[at:],), 0)
        if TEN < century <= 2 * TEN <= year < HUNDRED:
            return century * HUNDRED + year
    for (said, *_), scale in {**dictation(code).scales, **dictation(code).hundreds}.items():
        before, found, behind = word.partition(said)
        behind = behind.removeprefix(dictation(code).joiner) if (behind,) not in table else behind
        if found and scale <= THOUSAND and (not before or (before,) in table) and (not behind or (behind,) in table):
            return table.get((before,), 1) * scale + table.get((behind,), 0)
    return None


# --- characters -------------------------------------------------------------------------------------------------------

ItemKind = Literal["digit", "letter", "sign", "word"]


@dataclass(frozen=True, slots=True)
class Item:
    """One or several characters that were said at once, or a word that stands for itself."""

    kind: ItemKind
    text: str
    at: int
    """Its first token."""
    end: int
    sure: bool = True
    """False for what may be a word."""
    breaks: bool = False
    """True if a new group begins with it."""


def items_of(tokens: Sequence[Token], code: str, *, letters: bool = False) -> list[Item]:
    """The digits, and letters and signs where they are expected, with the words between them."""
    own = dictation(code)
    found: list[Item] = []
    at, repeat, repeat_at = 0, 1, -1
    while at < len(tokens):
        token = tokens[at]
        if repeat == 1 and (times := _repeats(tokens, at, own, letters=letters)):
            repeat, at, repeat_at = times[0], times[1], at
            continue
        item = _item(tokens, at, code, own, letters=letters)
        if item is None:
            at, repeat = at + 1, 1
            continue
        if repeat > 1:
            item = replace(item, text=item.text * repeat, at=repeat_at, sure=item.kind != "word")
            if item.kind == "word":  # "double" was a word
                item = replace(item, text=item.text[: len(item.text) // repeat])
            repeat = 1
        found.append(item if not token.broken else replace(item, breaks=True))
        at = item.end
    return _settled(found, tokens, own)


def _repeats(tokens: Sequence[Token], at: int, own: Dictation, *, letters: bool) -> tuple[int, int] | None:
    """A word that repeats the character behind it. Numbers do so before a letter alone: "with two n"."""
    found = longest(tokens, at, own.repeats)
    if found is None or found[1] >= len(tokens):
        return None
    if tokens[found[1]].text == "-" and found[1] + 1 < len(tokens):  # D-U-double-N-E
        found = found[0], found[1] + 1
    after = tokens[found[1]]
    if (tokens[at].word,) in number_table(own.code) and found[1] == at + 1:
        is_letter = letters and len(after.word) == 1 and after.word.isalpha() and not after.broken
        return found if is_letter and (at == 0 or (tokens[at - 1].word,) not in number_table(own.code)) else None
    return found


def _item(tokens: Sequence[Token], at: int, code: str, own: Dictation, *, letters: bool) -> Item | None:
    token = tokens[at]
    if letters and (spelled := _as_in(tokens, at, own)):
        return Item("letter", spelled[0], at, spelled[1])
    if not token.word:
        is_sign = letters and token.text in "@_+/&-." and not (token.text == "." and _ends(tokens, at))
        is_sign = is_sign and not (token.text == "-" and _joins(tokens, at))
        return Item("sign", token.text, at, at + 1) if is_sign or token.text == "+" else None
    if letters and len(token.word) == 1 and token.word.isalpha():
        return Item("letter", token.text.casefold(), at, at + 1)
    if token.word.isdecimal():
        return Item("digit", "".join(str(int(char)) for char in token.word), at, at + 1)
    if number := longest(tokens, at, small_numbers(code)):
        scale = longest(tokens, number[1], own.scales) if not letters and 0 < number[0] < HUNDRED else None
        if scale and scale[0] == THOUSAND and not (whole := cardinal(tokens, at, code) or number)[0] % THOUSAND:
            return Item("digit", str(whole[0]), at, scale[1])  # "four thousand"
        return Item("digit", str(number[0]), at, number[1])
    if (sign := longest(tokens, at, own.signs)) and (letters or sign[0] == "+"):
        return Item("sign", sign[0], at, sign[1])
    if letters and (letter := longest(tokens, at, own.like_letters)):
        is_known = len(token.word) >= LETTER_NAME and not {token.word} & (own.beside | own.small | own.names | own.alphabet)
        return Item("letter", letter[0], at, letter[1], sure=is_known)
    if letters and token.word in own.alphabet:
        return Item("letter", token.word[0], at, at + 1, sure=False)
    if not letters and (digit := longest(tokens, at, own.like_digits)):
        return Item("digit", digit[0], at, digit[1], sure=False)
    return Item("word", token.text, at, at + 1)


def _ends(tokens: Sequence[Token], at: int) -> bool:
    """True if the full stop ends a sentence or an abbreviation, and no part of an address follows."""
    return at + 1 >= len(tokens) or not tokens[at + 1].glued


def _joins(tokens: Sequence[Token], at: int) -> bool:
    """True if the hyphen stands between letters that are spelled: J-O."""
    return at > 0 and len(tokens[at - 1].text) == 1 and at + 1 < len(tokens) and len(tokens[at + 1].text) == 1


def _as_in(tokens: Sequence[Token], at: int, own: Dictation) -> tuple[str, int] | None:
    """ "B as in Bravo": the word decides, because letters sound alike. Returns the letter, and its end."""
    named = longest(tokens, at, own.like_letters)
    is_letter = len(tokens[at].word) == 1 and tokens[at].word.isalpha()
    if not is_letter and named is None:
        return None
    index = at + 1 if is_letter or named is None else named[1]
    while index < len(tokens) and not tokens[index].word:
        index += 1
    end = starts(tokens, index, own.as_in) if index < len(tokens) else 0
    while end and end < len(tokens) and not tokens[end].word:
        end += 1
    if not end or end >= len(tokens) or len(tokens[end].word) < 2 or not tokens[end].word.isalpha():
        return None
    said = tokens[at].word if is_letter or named is None else named[0]
    word = tokens[end].word
    known = word in own.alphabet or word[0] == said or (word in own.names)
    return (word[0], end + 1) if known else None


def _settled(found: list[Item], tokens: Sequence[Token], own: Dictation) -> list[Item]:
    """Sure items, and unsure ones beside them; the rest are words again."""
    settled: list[Item] = []
    found = [
        replace(one, kind="word", text=_written(tokens, one), sure=True) if _is_spelled(found, at, tokens, own) else one
        for at, one in enumerate(found)
    ]
    only = all(item.kind in ("digit", "letter") for item in found) and len(found) > 1
    for index, item in enumerate(found):
        if item.sure or only:
            settled.append(item)
            continue
        beside = (settled[-1] if settled else None, next((one for one in found[index + 1 : index + 2] if one.sure), None))
        near = {"letter", "digit"} if item.kind == "letter" else {"digit", "sign"}
        if tokens[item.at].word in own.alphabet:  # "mike 77"
            near = {"letter"}
        is_beside = any(one is not None and one.kind in near and _meet(one, item) for one in beside)
        row = list(takewhile(lambda one: one.kind == "letter" and tokens[one.at].word not in own.small, found[index:]))
        is_row = len(row) >= LEAST_ROW or (bool(row) and bool(settled) and settled[-1].kind == "letter")
        settled.append(item if is_beside or is_row else replace(item, kind="word", text=_written(tokens, item)))
    return settled


def _is_spelled(found: Sequence[Item], at: int, tokens: Sequence[Token], own: Dictation) -> bool:
    """True for a word of a spelling alphabet that is spelled behind itself: "Peter, P E T E R"."""
    word = tokens[found[at].at].word
    if found[at].kind != "letter" or found[at].sure or word not in own.alphabet:
        return False
    row = "".join(one.text for one in takewhile(lambda one: one.kind == "letter" and one.sure, found[at + 1 :]))
    return len(row) >= LEAST_ROW - 1 and row[0] == word[0] and SequenceMatcher(None, word, row).ratio() >= NEAR_SPELLED


def _written(tokens: Sequence[Token], item: Item) -> str:
    return " ".join(token.text for token in tokens[item.at : item.end] if token.word)


def _meet(one: Item, other: Item) -> bool:
    return one.end == other.at or other.end == one.at or abs(one.at - other.end) <= 1 or abs(other.at - one.end) <= 1


def questions(said: str, code: str) -> bool:
    """True for a question: such words are hardly a value."""
    known = language(code)
    first = next((token.word for token in tokens_of(said) if token.word), "")
    return said.rstrip().endswith("?") and (first in {folded(word) for word in known.question_words | known.openers})


def proposes(said: str, code: str) -> bool:
    """True for a question that proposes a value: "How about Tuesday?"."""
    tokens = [one for one in tokens_of(said) if one.word and one.word not in dictation(code).fillers]
    return any(starts(tokens, at, dictation(code).proposals) for at, one in enumerate(tokens) if one.broken or not at)


def make_tables(code: str) -> None:
    """Makes the tables of a language, which takes up to 100 ms the first time."""
    number_table(code), small_numbers(code), ordinal_table(code)
