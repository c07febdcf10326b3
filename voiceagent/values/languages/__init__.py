"""The languages in which dictated values are understood, one file each."""

from __future__ import annotations

import functools

from voiceagent.values.dictation import Dictation
from voiceagent.values.languages.de import GERMAN
from voiceagent.values.languages.en import ENGLISH
from voiceagent.values.languages.es import SPANISH
from voiceagent.values.languages.fr import FRENCH
from voiceagent.values.languages.it import ITALIAN
from voiceagent.values.languages.nl import DUTCH
from voiceagent.values.languages.pt import PORTUGUESE

DICTATIONS = {one.code: one for one in (ENGLISH, GERMAN, SPANISH, FRENCH, ITALIAN, PORTUGUESE, DUTCH)}


@functools.cache
def dictation(code: str) -> Dictation:
    """The words of that language; of an unknown one, none but numbers."""
    return DICTATIONS.get(code) or Dictation(code, code.upper())
