"""Tracks which language the caller speaks, if it may be any. It follows the recogniser's opinion of each turn, but slowly, so
that one misheard word or a foreign name changes nothing. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from voiceagent.turn_taking.language import bare_words
from voiceagent.turn_taking.languages import LANGUAGES

AUTO = "auto"
"""The setting in place of a code: the one of the agent's languages that the recogniser hears."""
FIRST_LANGUAGE = "en"
"""The language that is assumed at the beginning, where the agent names none."""
SWITCH_TURNS, SWITCH_WORDS = 2, 3
"""The language changes after so many turns in a row in another language, each of so many words or more."""
NAME_LIKENESS = 0.8
"""Least likeness of a word to a language's name to be taken for it, from 0 to 1."""
_CODE = re.compile(r"[a-z]{2,3}")


def _plain(word: str) -> str:
    """The word without case and accents."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", word.strip().casefold())))


_NAMES = {_plain(word): code for code, one in LANGUAGES.items() for word in (one.name, *one.also_called.split())}


def agents_languages(named: Sequence[str], voices: Collection[str]) -> tuple[str, ...]:
    """The codes that `AUTO` chooses among, the first assumed at the beginning: those that the agent names, else `FIRST_LANGUAGE`
    and those of its `voices`, else all that turn-taking has words for."""
    spoken = tuple(dict.fromkeys((FIRST_LANGUAGE, *voices)))
    return tuple(named) or (spoken if voices else tuple(LANGUAGES))


def check_languages(language: str, named: Sequence[str], voices: Collection[str]) -> None:
    """Check the codes of an agent's `language`, `languages` and `voices`. Raises ValueError in one line."""
    if language != AUTO and not is_code(language):
        raise ValueError(f"language is {language!r}, expected a code such as de, or {AUTO}{nearest_code(language, LANGUAGES)}")
    for code in voices:
        if not is_code(code):
            raise ValueError(f"voices has {code!r}, expected codes such as de{nearest_code(code, LANGUAGES)}")
    if not named:
        return
    if language != AUTO:
        raise ValueError(f"languages is for `language: {AUTO}`, and language is {language}; leave one of the two out")
    for code in named:
        if not is_code(code):
            raise ValueError(f"languages holds {code!r}, expected codes such as de{nearest_code(code, LANGUAGES)}")
    if len(set(named)) < len(named):
        raise ValueError(f"languages is {', '.join(named)}; expected each code once")
    mute = [code for code in voices if code not in named]
    if mute:
        raise ValueError(f"voices has {', '.join(mute)}, which languages lacks; add it there, or leave the voice out")


def is_code(text: str) -> bool:
    """True for a possible code of a language that is no other name of one."""
    return bool(_CODE.fullmatch(text)) and (text in LANGUAGES or text not in _NAMES)


def nearest_code(text: str, known: Iterable[str]) -> str:
    """Returns a suggestion for an unknown code, as the end of a message; empty if nothing is near."""
    word = text.strip().casefold()
    codes = list(known)
    begin = word[:2] if re.fullmatch(r"[a-z]{2}[-_].*", word) else word
    called = get_close_matches(_plain(text), _NAMES, 1, NAME_LIKENESS)
    near = _NAMES[called[0]] if called else begin if begin in codes else next(iter(get_close_matches(word, codes, 1)), "")
    return f"; did you mean {near}?" if near in codes else ""


@dataclass(frozen=True, slots=True)
class SpokenLanguage:
    """The language of a call, and the one that it may be changing to."""

    code: str = ""
    other: str = ""
    turns: int = 0
    """Turns in the other language, in a row."""

    def after(self, heard: str, words: str) -> SpokenLanguage:
        """The state after a turn of these words, which the recogniser takes for language `heard`; empty: it does not say."""
        if not heard or len(bare_words(words)) < SWITCH_WORDS:
            return self
        if heard == self.code:
            return replace(self, other="", turns=0)
        turns = self.turns + 1 if heard == self.other else 1
        return SpokenLanguage(heard) if turns >= SWITCH_TURNS else SpokenLanguage(self.code, heard, turns)
