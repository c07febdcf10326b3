"""Which language the caller speaks, if it may be any. It follows the recogniser's opinion of each turn, but slowly, so that one
misheard word or a foreign name changes nothing. Pure."""

from __future__ import annotations

import re
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
_CODE = re.compile(r"[a-z]{2,3}")
_NAMES = {one.name.casefold(): code for code, one in LANGUAGES.items()}


def agents_languages(named: Sequence[str], voices: Collection[str]) -> tuple[str, ...]:
    """The codes that `AUTO` chooses among, the first assumed at the beginning: those that the agent names, else `FIRST_LANGUAGE`
    and those of its `voices`, else all that turn-taking has words for."""
    spoken = tuple(dict.fromkeys((FIRST_LANGUAGE, *voices)))
    return tuple(named) or (spoken if voices else tuple(LANGUAGES))


def check_languages(language: str, named: Sequence[str], voices: Collection[str]) -> None:
    """Check the `languages` that an agent names beside its `language` and its `voices`. Raises ValueError in one line."""
    if not named:
        return
    if language != AUTO:
        raise ValueError(f"languages is for `language: {AUTO}`, and language is {language}; leave one of the two out")
    for code in named:
        if not _CODE.fullmatch(code):
            raise ValueError(f"languages holds {code!r}, expected codes such as de{nearest_code(code, LANGUAGES)}")
    if len(set(named)) < len(named):
        raise ValueError(f"languages is {', '.join(named)}; expected each code once")
    mute = [code for code in voices if code not in named]
    if mute:
        raise ValueError(f"voices has {', '.join(mute)}, which languages lacks; add it there, or leave the voice out")


def nearest_code(text: str, known: Iterable[str]) -> str:
    """What was probably meant by a code that is not known, as the end of a message; empty if nothing is near."""
    word = text.strip().casefold()
    codes = list(known)
    begin = word[:2] if re.fullmatch(r"[a-z]{2}[-_].*", word) else word
    near = _NAMES.get(word) or (begin if begin in codes else next(iter(get_close_matches(word, codes, 1)), ""))
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
