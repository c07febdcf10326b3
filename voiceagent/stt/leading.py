"""Leads a recogniser to the value that the caller was asked for: digits, or one of a few choices. Whisper goes on in the manner
of its prompt: behind number words it hears "seven" where it otherwise hears a name or "bye". Measured on people in English
(bench/results/people_recogniser.md). In other languages there was no speech to measure with, so they are not led. Pure."""

from __future__ import annotations

from voiceagent.turn_taking.expected_value import ExpectedValue
from voiceagent.turn_taking.languages import language

LANGUAGE = "en"
LEADING_DIGITS = (4, 7, 1, 9, 3)
"""In no order, or the model counts on."""
MOST_TOKENS = 10
"""What is longer, with the end not found by then, is no value but a loop."""
SHORT_WORDS = 3
"""A text of more words is no single value. It is written once."""


def leading_text(value: ExpectedValue) -> str:
    """What the model is to believe was said before: values, each as a sentence of its own."""
    numbers = {number: word for word, number in language(LANGUAGE).numbers.items()}
    values = [*(numbers[digit] for digit in LEADING_DIGITS if value.digits), *value.choices]
    return " ".join(f"{one[:1].upper()}{one[1:]}." for one in values)


def is_short(text: str) -> bool:
    """Whether the text may be a single value that was misheard."""
    return len(text.split()) <= SHORT_WORDS


def is_value(text: str, value: ExpectedValue) -> bool:
    """Whether the text is such a value and nothing else."""
    return value.holds(text, language(LANGUAGE))
