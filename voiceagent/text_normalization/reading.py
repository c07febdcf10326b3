"""Turns written text into spoken text, word for word. Each piece knows the written words that it stands for, so captions and
history keep what is written while the voice says what is meant. `<verbatim>AB-48271</verbatim>` in a phrase or a tool's result
marks what is to be said exactly: the model, the captions and the history are given the plain text, and the voice remembers what
was marked. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from voiceagent.text_normalization.exactly import ENGLISH
from voiceagent.text_normalization.forms import OPEN, Form, english_forms
from voiceagent.text_normalization.language_forms import language_forms
from voiceagent.text_normalization.languages import WRITTEN_LANGUAGES

IPA_BEGIN, IPA_END = "\ue000", "\ue001"
"""In text to speak, a word between these is phonemes in IPA, with the punctuation after it, for an engine whose `reads_ipa` is
true. They are private characters, so no text of a language model contains them by chance."""


_MARKED = re.compile(r"<verbatim>\s*([^<>\"\\]{1,64}?)\s*</verbatim>")


def unmarked(text: str) -> str:
    """The text without its marks."""
    return _MARKED.sub(r"\1", text)


def marked(text: str) -> tuple[str, ...]:
    """Returns the marked parts of the text."""
    return tuple(" ".join(found.split()) for found in _MARKED.findall(text))


MOST_CHARACTERS = 1800
"""The most characters of a spoken clause. No voice takes more; a longer clause is left as it is written."""
_OPENERS = re.compile(r"(?:[\"“‘„‚«‹¿¡\[]|'(?!\d0s\b)|\((?!\d{2,5}\)[\s.-]?\d))*")
_ELIDED = re.compile(rf"{_OPENERS.pattern}(?:[^\W\d_]{{1,7}}['’](?=[\d€$£½]|[A-Z]+\d))?")
"""Also "l'" and "dall'" before a number."""
_TAIL = re.compile(r"(?:['’]s)?[.,!?;:…\"'”’“»›)\]]*(?=[\s—]|$)")
_POSSESSIVE = re.compile(r"['’][sS](?=[.,!?;:…\"'”’)\]]*(?:\s|$))")


@dataclass(frozen=True, slots=True)
class ReadPiece:
    """Written words and what is said for them."""

    written: tuple[str, ...]
    said: str
    """Never empty; its words are what the voice is given."""


@dataclass(frozen=True, slots=True)
class SpokenText:
    """A clause as it is said."""

    pieces: tuple[ReadPiece, ...]

    @property
    def said(self) -> str:
        """The text for the voice."""
        return " ".join(piece.said for piece in self.pieces)

    @property
    def written(self) -> tuple[str, ...]:
        """The words as they are written: those of the clause."""
        return tuple(word for piece in self.pieces for word in piece.written)


class Reading:
    """An agent's way to read: its language's forms and its lexicon."""

    def __init__(
        self,
        *,
        language: str = "en",
        written_forms: bool = True,
        day_first: bool = False,
        lexicon: Mapping[str, str] | None = None,
        respelled: Mapping[str, str] | None = None,
    ) -> None:
        """`written_forms`: those of the language are read out, if it has a file; else they are left to the voice. What is marked
        is said in the language's words either way. `respelled`: words by others that are read like them."""
        other = language_forms(language) if language in WRITTEN_LANGUAGES else None
        self._speller = other.speller if other else ENGLISH
        self._open = other.open if other else OPEN
        self._openers = _ELIDED if other else _OPENERS
        self._forms: tuple[tuple[Form, ...], tuple[Form, ...]] = ((), ())
        if written_forms and other:
            self._forms = other.forms
        elif written_forms and language == "en":
            self._forms = english_forms(day_first=day_first)
        respelled = {word: said for word, said in (respelled or {}).items() if word not in (lexicon or {})}
        said_as = {**respelled, **{word: _ipa(ipa) for word, ipa in (lexicon or {}).items()}}
        self._lexicon = {" ".join(word.lower().split()): said for word, said in said_as.items()}
        self._words = _any_of(self._lexicon, re.IGNORECASE)

    def spoken(self, text: str, verbatim: Collection[str] = ()) -> SpokenText:
        """Text as it is said. Strings in `verbatim` are said exactly, wherever they stand."""
        words = text.split()
        text = " ".join(words)
        ends = [end - 1 for end in itertools.accumulate(len(word) + 1 for word in words)]
        exact = _any_of(verbatim)
        pieces: list[ReadPiece] = []
        at = start = 0
        while at < len(words):
            opening = self._openers.match(text, start)
            opened = opening.end() if opening else start
            said, end = self._find(text, opened, exact)
            to = at + 1
            while ends[to - 1] < end:
                to += 1
            said = f"{text[start:opened]}{said}{text[end : ends[to - 1]]}" if said else words[at]
            pieces.append(ReadPiece(tuple(words[at:to]), _punctuated(said)))
            at, start = to, ends[to - 1] + 1
        if sum(len(piece.said) + 1 for piece in pieces) > MOST_CHARACTERS:
            pieces = [ReadPiece((word,), word) for word in words]
        return SpokenText(tuple(pieces))

    def _find(self, text: str, at: int, exact: re.Pattern[str] | None) -> tuple[str, int]:
        """Returns the words for the text at this place, and where that ends; nothing where it is said as it is written."""
        if exact is not None and (match := exact.match(text, at)) and _ends(text, match.end()):
            return self._speller.exactly(match.group()), match.end()
        if self._words is not None and (match := self._words.match(text, at)):
            end = match.end()
            said = self._lexicon.get(match.group().lower(), "")
            if said and (possessive := _POSSESSIVE.match(text, end)):
                return f"{said[:-1]}z{IPA_END}" if said.endswith(IPA_END) else f"{said}'s", possessive.end()
            if said and _ends(text, end):
                return said, end
        for pattern, say in self._forms[text[at : at + 1].isalpha()]:
            if (match := pattern.match(text, at)) and (words := say(match)):
                end = match.end()
                if pattern in self._open:
                    rest, end = self._find(text, end, exact)
                    if rest:
                        return f"{words} {rest}", end
                elif _ends(text, end):
                    return words + _stop(text, match), end
        return "", at


def _any_of(phrases: Collection[str], flags: int = 0) -> re.Pattern[str] | None:
    longest_first = sorted(phrases, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), flags) if phrases else None


def _stop(text: str, match: re.Match[str]) -> str:
    """The full stop of an abbreviation that ends the sentence too."""
    goes_on = re.match(r"[\"'”’)\]]*\s+[A-Z]", text[match.end() :]) if match.group().endswith("m.") else None
    return "." if match.group().endswith(".") and (goes_on or not text[match.end() :].strip("\"'”’)]")) else ""


def _ends(text: str, end: int) -> bool:
    """True if a word ends here, but for its punctuation."""
    return _TAIL.match(text, end) is not None


def _ipa(ipa: str) -> str:
    return " ".join(f"{IPA_BEGIN}{word}{IPA_END}" for word in ipa.split())


def _punctuated(said: str) -> str:
    """Punctuation belongs to the phonemes before it: outside, the voice would lose it."""
    return re.sub(rf"{IPA_END}([.,!?;:…]+)", rf"\1{IPA_END}", said)
