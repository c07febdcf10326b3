"""Takes personal data out of what is kept of a call: telephone numbers, e-mail addresses, card numbers and names. They are found
by their form, as it is written or said, and by the arguments of tools whose schema says what they are. A form that is not known
here is not found, so this lowers the risk and does not remove it. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from voiceagent.conversation.history import read_arguments
from voiceagent.json_types import JsonObject
from voiceagent.turn_taking.language import Language

PersonalKind = Literal["phone", "email", "card", "name"]
KINDS: tuple[PersonalKind, ...] = get_args(PersonalKind)

_CARD = re.compile(r"(?<![\d.])\d(?:[ -]?\d){12,18}(?![\d.]?\d)")
_PHONE = re.compile(r"(?<![\w.])(?:\+|\(\+?)?\d(?:[ ()./-]{0,3}\d){6,14}(?!\w)")
"""Seven digits and more (ITU-T E.164 allows 15)."""
_EMAIL = re.compile(r"[^\s@<>()\[\],;:\"]+@[^\s@<>()\[\],;:\"]+\.\w+")
_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")
_GAP = re.compile(r"[\s,.-]{1,3}")
SPOKEN_DIGITS = 7
MOST_NAMES = 3
MIN_VALUE_CHARACTERS = 3
"""Shorter values of tools would make holes in other words."""
_NAMES = frozenset({"name", "surname", "firstname", "lastname", "fullname", "customer_name"}) | frozenset(
    f"{part}_name" for part in ("first", "last", "full", "family", "given")
)
_PHONE_FORMATS = frozenset({"phone", "tel", "telephone", "phone-number"})


class PersonalData:
    """The kinds that an agent's operator does not keep. One per agent."""

    def __init__(
        self, kinds: Collection[PersonalKind] = (), languages: Sequence[Language] = (), tools: Iterable[JsonObject] = ()
    ) -> None:
        """`tools` are the OpenAI function objects, whose schemas tell which arguments are personal."""
        self.kinds = frozenset(kinds)
        self._languages = languages
        self._arguments = {
            (function["name"], name): kind
            for function in (tool["function"] for tool in tools)
            for name, schema in function["parameters"].get("properties", {}).items()
            if (kind := _kind_of(name, schema)) in self.kinds
        }

    def of_call(self) -> Redactor:
        """The redactor of a call."""
        return Redactor(self)

    def mask(self, text: str) -> str:
        """The text with `[phone]` and the like in place of what has a personal form."""
        if not self.kinds or not text:
            return text
        for kind, pattern in (("email", _EMAIL), ("card", _CARD), ("phone", _PHONE)):
            if kind in self.kinds:
                text = pattern.sub(f"[{kind}]", text)
        for language in self._languages:
            text = self._mask_spoken(text, language)
        return text

    def _mask_spoken(self, text: str, language: Language) -> str:
        words = list(_WORD.finditer(text))
        spans: list[tuple[int, int, str]] = []
        if self.kinds & {"phone", "card"}:
            spans += _spoken_numbers(text, words, language, self.kinds)
        if "email" in self.kinds:
            spans += _spoken_addresses(text, words, language)
        if "name" in self.kinds:
            spans += _introduced(text, words, language)
        begun = len(text)
        for start, end, kind in sorted(spans, reverse=True):
            if end <= begun:  # else a longer phrase found the same
                text, begun = f"{text[:start]}[{kind}]{text[end:]}", start
        return text

    def values(self, tool: str, arguments: str) -> Iterator[tuple[str, str]]:
        """The personal values among a tool's arguments, and their kinds."""
        for name, value in (read_arguments(arguments) or {}).items():
            kind = self._arguments.get((tool, name))
            if kind is not None and isinstance(value, str | int) and len(str(value)) >= MIN_VALUE_CHARACTERS:
                yield str(value), kind


class Redactor:
    """Masks what is kept of one call. Values that its tools have got are masked wherever they stand in it."""

    def __init__(self, data: PersonalData) -> None:
        self._data = data
        self._known: dict[str, tuple[re.Pattern[str], str]] = {}
        """A pattern and its replacement for each value, the longest first."""

    @property
    def is_on(self) -> bool:
        """True if there is anything to mask."""
        return bool(self._data.kinds)

    def note_tool(self, name: str, arguments: str) -> None:
        """A tool of the call was called."""
        for value, kind in self._data.values(name, arguments):
            self._know(value, kind)

    def _know(self, value: str, kind: str) -> None:
        self._known[value] = re.compile(rf"(?<!\w){re.escape(value)}(?!\w)", re.IGNORECASE), f"[{kind}]"
        self._known = dict(sorted(self._known.items(), key=lambda item: -len(item[0])))

    def note_value(self, kind: str, value: str) -> None:
        """The agent has collected a value."""
        if kind in self._data.kinds and len(value) >= MIN_VALUE_CHARACTERS:
            self._know(value, kind)
            if kind == "name":
                self._know(", ".join(value.split()[-1].upper()), kind)  # as it is read back

    def mask(self, text: str) -> str:
        """The text without personal data."""
        return self._data.mask(self.mask_known(text))

    def mask_known(self, text: str) -> str:
        """The text without the values that tools have got so far. It is a fraction of the work of `mask`."""
        for pattern, kind in self._known.values():
            text = pattern.sub(kind, text)
        return text

    def masked(self, value: object) -> object:
        """JSON without personal data."""
        if isinstance(value, str):
            return self.mask(value)
        if isinstance(value, Mapping):
            return {name: self.masked(inner) for name, inner in value.items()}
        return [self.masked(inner) for inner in value] if isinstance(value, list | tuple) else value


def _kind_of(name: str, schema: object) -> str:
    """The kind of a tool's argument; empty if it is not personal."""
    if not isinstance(schema, Mapping):
        return ""
    if schema.get("format") == "email" or name in ("email", "e_mail", "mail"):
        return "email"
    if schema.get("format") in _PHONE_FORMATS or name in ("phone", "telephone", "phone_number"):
        return "phone"
    if "card" in name.split("_") and schema.get("type") in ("string", "integer"):
        return "card"
    return "name" if name.lower() in _NAMES else ""


def _spoken_numbers(
    text: str, words: Sequence[re.Match[str]], language: Language, kinds: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """Runs of digits that are said as words, or in parts of digits and words."""
    at = 0
    while at < len(words):
        end, digits = at, 0
        while end < len(words) and (count := _digits(words[end].group(), language)):
            if end > at and not _GAP.fullmatch(text[words[end - 1].end() : words[end].start()]):
                break
            digits, end = digits + count, end + 1
        if digits >= SPOKEN_DIGITS:
            kind = "card" if "card" in kinds and (digits >= 13 or "phone" not in kinds) else "phone"
            if kind in kinds:
                yield words[at].start(), words[end - 1].end(), kind
        at = max(end, at + 1)


def _digits(word: str, language: Language) -> int:
    """Counts the digits that a word stands for; 0 for another word."""
    if word.isdigit():
        return len(word)
    bare = word.casefold()
    if bare in language.repeats:
        return language.repeats[bare] - 1
    number = language.numbers.get(bare)
    return 0 if number is None else len(str(number))


def _spoken_addresses(text: str, words: Sequence[re.Match[str]], language: Language) -> Iterator[tuple[int, int, str]]:
    """E-mail addresses as people say them: "ann dot lee at example dot com"."""
    bare = [word.group().casefold() for word in words]
    for at, word in enumerate(bare):
        if word not in language.email_signs:
            continue
        end = at + 1
        while end + 2 < len(bare) and bare[end + 1] in language.dots:
            end += 2
        if end == at + 1:
            continue
        start = at - 1
        while start >= 2 and bare[start - 1] in language.spelling:
            start -= 2
        if start >= 0:
            yield words[start].start(), words[end].end(), "email"


def _introduced(text: str, words: Sequence[re.Match[str]], language: Language) -> Iterator[tuple[int, int, str]]:
    """Names behind "my name is" and the like: words with a capital letter."""
    bare = [word.group().casefold().replace("'", "").replace("’", "") for word in words]
    for phrase in language.introductions:
        for at in range(len(bare) - len(phrase)):
            if tuple(bare[at : at + len(phrase)]) != phrase:
                continue
            first = end = at + len(phrase)
            while end < min(len(words), first + MOST_NAMES) and words[end].group()[0].isupper():
                end += 1
            if end > first:
                yield words[first].start(), words[end - 1].end(), "name"
