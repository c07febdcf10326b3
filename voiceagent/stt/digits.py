"""Leads a recogniser to digits where the caller was asked for some. Whisper goes on in the manner of its prompt: behind number
words it hears "seven" where it otherwise hears a name or "bye". Measured on people in English
(bench/results/people_recogniser.md). In other languages there was no speech to measure with, so they are not led. Pure."""

from __future__ import annotations

from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.patience import are_digits

LANGUAGE = "en"
LEADING_DIGITS = (4, 7, 1, 9, 3)
"""In no order, or the model counts on."""
MOST_TOKENS = 10
"""What is longer, with the end not found by then, is no value but a loop."""
SHORT_WORDS = 3
"""A text of more words is no single value. It is written once."""


def leading_text() -> str:
    """What the model is to believe was said before: digits, each as a sentence of its own."""
    words = {value: word for word, value in language(LANGUAGE).numbers.items()}
    return " ".join(f"{words[value].capitalize()}." for value in LEADING_DIGITS)


def is_short(text: str) -> bool:
    """Whether the text may be a single value that was misheard."""
    return len(text.split()) <= SHORT_WORDS


def is_value(text: str) -> bool:
    """Whether the text is digits alone."""
    return are_digits(text, language(LANGUAGE))
