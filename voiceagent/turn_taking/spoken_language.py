"""Which language the caller speaks, if it may be any. It follows the recogniser's opinion of each turn, but slowly, so that one
misheard word or a foreign name changes nothing. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace

from voiceagent.turn_taking.language import bare_words

AUTO = "auto"
"""The setting in place of a code: whatever the recogniser hears."""
FIRST_LANGUAGE = "en"
"""The language that is assumed at the beginning."""
SWITCH_TURNS, SWITCH_WORDS = 2, 3
"""The language changes after so many turns in a row in another language, each of so many words or more."""


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
