"""The choices of an argument (`enum`, or `const` by `const` in `oneOf`), and by which words each may be said: its own, its title,
and those that the schema's description sets beside it ("large (big, huge)", "large: big, huge"). Pure.

Finds the caller's words for an argument that nobody said as it stands: the same words in other forms, or a sum with other
numbers. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from voiceagent.grounding.language import GroundingWords
from voiceagent.grounding.words import words_of

if TYPE_CHECKING:
    from voiceagent.grounding.said import Said
from voiceagent.grounding.words import Word

LEAST_COMMON, LEAST_COMMON_SHARE = 3, 0.6
"""Least number of letters that two forms of a word share at their beginning, and their least share of the longer one: "build" and
"building"."""
MOST_WORDS = 8
_SUM = re.compile(r"[\d\s.()]*\d[\d\s.()]*(?:[-+*/][\d\s.()]*\d[\d\s.()]*)+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def nearest(value: object, by_caller: Sequence[Sequence[Word]], language: GroundingWords) -> str | None:
    """The argument as the caller said it, `by_caller` being the caller's words, the latest first. None if nothing is near."""
    if not isinstance(value, str):
        return None
    if _SUM.fullmatch(value):
        return _with_numbers(value, by_caller[0], language) if by_caller else None
    wanted = [word.text for word in words_of(value, language)]
    if not 0 < len(wanted) <= MOST_WORDS:
        return None
    found = (_in_other_forms(wanted, [word.text for word in words]) for words in by_caller)
    return next((text for text in found if text), None)


def _in_other_forms(wanted: Sequence[str], words: Sequence[str]) -> str:
    """The words in a row that are the wanted ones, in any order and form; empty if there are none."""
    for start in range(len(words) - len(wanted) + 1):
        row = words[start : start + len(wanted)]
        left = list(row)
        for word in wanted:
            match = next((other for other in left if _is_form_of(word, other)), None)
            if match is None:
                break
            left.remove(match)
        else:
            return " ".join(row)
    return ""


def _is_form_of(word: str, other: str) -> bool:
    if word == other:
        return True
    common = next((at for at, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    return common >= LEAST_COMMON and common >= LEAST_COMMON_SHARE * max(len(word), len(other)) and not word[0].isdigit()


def _with_numbers(total: str, words: Sequence[Word], language: GroundingWords) -> str | None:
    """The sum with the numbers of the caller's last words, if there are as many and its signs were said."""
    said = [word.text for word in words if word.number is not None]
    meant = {language.signs.get(word.text, word.text) for word in words}
    if len(said) != len(_NUMBER.findall(total)) or not set(re.findall(r"[-+*/]", total)) <= meant:
        return None
    numbers = iter(said)
    return _NUMBER.sub(lambda _: next(numbers), total)


LEAST_DISTINCT = 4
"""The fewest letters of a word that alone says which choice is meant."""
LEAST_JOINED = 5
"""The fewest letters of a choice that may be said in another number of words: "check up"."""
Scalar = str | int | float | bool | None
_BESIDE = r"(?<!\w){value}(?!\w)[\"'`]?\s*(?:\(([^)]*)\)|[:=]\s*([^;.\n]*))"
_BETWEEN = re.compile(r"\s*(?:[,/|;]|\bor\b)\s*")


def choices(schema: object) -> dict[Scalar, tuple[str, ...]]:
    """Returns the texts by which each choice may be said, by the choice. Empty for a schema that leaves the value open."""
    found: dict[Scalar, tuple[str, ...]] = {}
    for one in _alternatives(schema):
        listed_values = one.get("enum")
        for value in listed_values if isinstance(listed_values, list) else [one["const"]] if "const" in one else []:
            if isinstance(value, Scalar):
                found[value] = (*found.get(value, ()), *_texts(value, one, schema))
    return found


def is_given(value: object, schema: object) -> bool:
    """True if the schema itself gives the value: its default, or its only choice."""
    if not isinstance(schema, Mapping):
        return False
    if "default" in schema and type(schema["default"]) is type(value) and schema["default"] == value:
        return True
    return isinstance(value, Scalar) and [*choices(schema)] == [value]


def _alternatives(schema: object) -> Iterator[Mapping[str, object]]:
    if isinstance(schema, Mapping):
        yield schema
        for kind in ("anyOf", "oneOf"):
            more = schema.get(kind)
            for one in more if isinstance(more, list) else ():
                yield from _alternatives(one)


def _texts(value: Scalar, one: Mapping[str, object], whole: object) -> Iterator[str]:
    name = re.sub(r"[_-]", " ", str(value))
    yield re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    if "const" in one:
        for key in ("title", "description"):
            if isinstance(told := one.get(key), str):
                yield from _BETWEEN.split(told)
    described = whole.get("description") if isinstance(whole, Mapping) else None
    if isinstance(described, str) and isinstance(value, str) and value:
        for match in re.finditer(_BESIDE.format(value=re.escape(value)), described, re.IGNORECASE):
            yield from _BETWEEN.split(match[1] or match[2])


def was_chosen(value: object, schema: object, said: Said, language: GroundingWords) -> bool:
    """True if a choice was said: by its words, in whatever form, or by one that no other choice has; or if a tool was called
    whose name has that word, as `book_table` has "table"."""
    known = choices(schema)
    if not isinstance(value, Scalar) or value not in known:
        return False
    if any(_was_said(text, said, language) for text in (*known[value], *said.means.get(str(value), ()))):
        return True
    others = {word for other, texts in known.items() if other != value for word in _words(texts[0], language)}
    distinct = [word for word in _words(known[value][0], language) if word not in others and len(word) >= LEAST_DISTINCT]
    return any(word in said.called or _was_said(word, said, language) for word in distinct)


def _was_said(text: str, said: Said, language: GroundingWords) -> bool:
    words = _words(text, language)
    joined = "".join(words)
    if not words:
        return False
    if said.words.issuperset(words) or (len(joined) >= LEAST_JOINED and joined in said.joined):
        return True
    return nearest(text, said.by_caller, language) is not None


def _words(text: str, language: GroundingWords) -> list[str]:
    return [word.text for word in words_of(text, language)]


def listed(names: Sequence[str], joiner: str) -> str:
    """The names as they are said in a row: "a, b or c"."""
    return f"{', '.join(names[:-1])} {joiner} {names[-1]}" if len(names) > 1 else "".join(names)
