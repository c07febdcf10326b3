"""`<verbatim>AB-48271</verbatim>` in a phrase or a tool's result: these very characters are to be said exactly. The marks are
removed here: the model, the captions and the history are given the plain text, and the voice remembers what was marked. Pure."""

from __future__ import annotations

import re

MOST_CHARACTERS = 64
_MARKED = re.compile(r"<verbatim>\s*([^<>\"\\]{1,64}?)\s*</verbatim>")


def unmarked(text: str) -> str:
    """The text without its marks."""
    return _MARKED.sub(r"\1", text)


def marked(text: str) -> tuple[str, ...]:
    """What is marked in the text."""
    return tuple(" ".join(found.split()) for found in _MARKED.findall(text))
