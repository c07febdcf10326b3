"""The written forms of a language other than English in the order in which they are tried: longer and more specific forms come
first. Pure."""

from __future__ import annotations

import functools
import re

from voiceagent.text_normalization.calendar_forms import Calendar
from voiceagent.text_normalization.forms import Form
from voiceagent.text_normalization.languages import WRITTEN_LANGUAGES
from voiceagent.text_normalization.measured_forms import Measures
from voiceagent.text_normalization.named_forms import NumberNames
from voiceagent.text_normalization.spoken_numbers import SpokenNumbers


class LanguageForms:
    """The forms of one language."""

    def __init__(self, code: str) -> None:
        language = WRITTEN_LANGUAGES[code]
        words = SpokenNumbers(language)
        calendar = Calendar(language, words)
        measures, names = Measures(language, words, calendar), NumberNames(language, words, calendar)
        dates, date_words = calendar.forms()
        self.speller = words.speller
        self.forms: tuple[tuple[Form, ...], tuple[Form, ...]] = (
            (
                *names.addresses,
                *dates,
                *measures.money,
                *names.number_names,
                *measures.digits,
                *names.codes,
                *measures.plain,
                *names.last,
            ),
            (*names.short[:1], *names.addresses, *date_words, *measures.letters, *names.short[1:], *names.letters),
        )
        self.open: frozenset[re.Pattern[str]] = names.open | measures.open


@functools.lru_cache
def language_forms(code: str) -> LanguageForms:
    """The forms of the language with that code; made once."""
    return LanguageForms(code)
