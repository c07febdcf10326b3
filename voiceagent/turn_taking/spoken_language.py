"""Which language the caller speaks, where it may be any: the recogniser's opinion of each turn, with inertia, so that one
misheard word or a foreign name changes nothing. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from voiceagent.turn_taking.language import bare_words

AUTO = "auto"
"""In place of a code: whatever the recogniser hears."""
FIRST_LANGUAGE = "en"
"""Is assumed then until it is heard."""
SWITCH_TURNS, SWITCH_WORDS = 2, 3
"""So many turns in a row, each of so many words or more, in another language change it."""


@dataclass(frozen=True, slots=True)
class SpokenLanguage:
    """The language of a call, and the one that it may be changing to."""

    code: str = ""
    other: str = ""
    turns: int = 0
    """In the other one, in a row."""

    def after(self, heard: str, words: str) -> SpokenLanguage:
        """What it is after a turn of these words, which the recogniser takes for language `heard`; empty: it does not say."""
        if not heard or len(bare_words(words)) < SWITCH_WORDS:
            return self
        if heard == self.code:
            return replace(self, other="", turns=0)
        turns = self.turns + 1 if heard == self.other else 1
        return SpokenLanguage(heard) if turns >= SWITCH_TURNS else SpokenLanguage(self.code, heard, turns)
