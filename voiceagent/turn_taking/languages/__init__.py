"""The languages whose words turn-taking knows, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from voiceagent.turn_taking.language import UNKNOWN, Language
from voiceagent.turn_taking.languages.de import GERMAN
from voiceagent.turn_taking.languages.en import ENGLISH
from voiceagent.turn_taking.languages.es import SPANISH
from voiceagent.turn_taking.languages.fr import FRENCH
from voiceagent.turn_taking.languages.it import ITALIAN
from voiceagent.turn_taking.languages.nl import DUTCH
from voiceagent.turn_taking.languages.pt import PORTUGUESE
from voiceagent.turn_taking.person_request import PersonWords

LANGUAGES: Mapping[str, Language] = {one.code: one for one in (ENGLISH, GERMAN, SPANISH, FRENCH, ITALIAN, PORTUGUESE, DUTCH)}
"""The languages by ISO 639-1 code."""


_PHONE = replace(ENGLISH.phone, machine=frozenset(), absent=frozenset(), person=PersonWords())
OTHER = replace(
    UNKNOWN, sayings=ENGLISH.sayings, prompts=ENGLISH.prompts, phone=_PHONE, transfer=ENGLISH.transfer, values=ENGLISH.values
)
"""Used for a language without a file. An agent in it uses the phrases and prompts of its settings, or English ones."""


def language(code: str) -> Language:
    """The language of that code, or `OTHER` if there is no file of it."""
    return LANGUAGES.get(code, OTHER)
