"""The languages, besides English, whose written forms are read, one file each."""

from __future__ import annotations

from collections.abc import Mapping

from voiceagent.text_normalization.languages.de import GERMAN
from voiceagent.text_normalization.languages.es import SPANISH
from voiceagent.text_normalization.languages.fr import FRENCH
from voiceagent.text_normalization.languages.it import ITALIAN
from voiceagent.text_normalization.languages.nl import DUTCH
from voiceagent.text_normalization.languages.pt import PORTUGUESE
from voiceagent.text_normalization.written_language import WrittenLanguage

WRITTEN_LANGUAGES: Mapping[str, WrittenLanguage] = {
    one.code: one for one in (GERMAN, SPANISH, FRENCH, ITALIAN, PORTUGUESE, DUTCH)
}
"""The languages by ISO 639-1 code."""
