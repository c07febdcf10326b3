"""The `speech:` part of `agent.yaml`."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

MAX_ENTRIES = 5000


class SpeechSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings for turning text into speech."""

    written_forms: bool = True
    """True if written forms (money, dates, units …) are read out, if those of the language are known; else they are left to the
    voice."""
    day_first: bool = False
    """True if 3/4/2026 is the third of April in English, too. In the other languages it always is."""
    code: str | None = None
    """Said in place of the first block of code in an answer; empty: nothing is said. Left out: the line of the agent's
    language."""
    lexicon: Mapping[str, str] = {}
    """Words, or groups of words, by their pronunciation in IPA; case does not matter."""
    clips: Mapping[str, str] = {}
    """WAV files relative to `agent.yaml`, by the name of a phrase (`greeting`) or the words that they say."""

    def __post_init__(self) -> None:
        if len(self.lexicon) > MAX_ENTRIES:
            raise ValueError(f"lexicon has {len(self.lexicon)} entries; expected at most {MAX_ENTRIES}")
        for word, ipa in self.lexicon.items():
            if not word.strip() or not ipa.strip() or any(character in ipa for character in "[]\ue000\ue001"):
                raise ValueError(
                    f"lexicon: {word!r:.60} is {ipa!r:.60}; expected a word and its pronunciation in IPA, such as wɪn"
                )
