"""`<verbatim>AB-48271</verbatim>` in a phrase or a tool's result: these very characters are to be said exactly. The marks are
removed here: the model, the captions and the history are given the plain text, and the voice remembers what was marked. Pure.

Marks around a word that is written in IPA."""

from __future__ import annotations

import re

IPA_BEGIN, IPA_END = "\ue000", "\ue001"
"""In text to speak, a word between these is phonemes in IPA, with the punctuation after it, for an engine whose `reads_ipa` is
true. They are private characters, so no text of a language model contains them by chance."""


MOST_CHARACTERS = 64
_MARKED = re.compile(r"<verbatim>\s*([^<>\"\\]{1,64}?)\s*</verbatim>")


def unmarked(text: str) -> str:
    """The text without its marks."""
    return _MARKED.sub(r"\1", text)


def marked(text: str) -> tuple[str, ...]:
    """Returns the marked parts of the text."""
    return tuple(" ".join(found.split()) for found in _MARKED.findall(text))
