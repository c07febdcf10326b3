"""From tokens to clauses: cuts growing text into pieces that a voice can say without knowing what follows. The end of a line ends
a clause. The first clause of a reply is kept short, because nothing is heard before it is synthesised."""

from __future__ import annotations

import re

FIRST_CLAUSE_MIN_WORDS = 2
MAX_CLAUSE_WORDS = 24

_CLOSING = r"[\"')\]”’»」』）]*"
_SENTENCE_END = re.compile(rf"[.!?…؟۔]+{_CLOSING}(?=\s)|[。！？｡।॥]+{_CLOSING}")
"""Some scripts write no spaces, or have their own sign for the end of a sentence. Their signs need no space after them."""
_CLAUSE_END = re.compile(rf"[,;:—–،؛]{_CLOSING}(?=\s)|[，；：、]{_CLOSING}")
_LINE_END = re.compile(r"\s*\n\s*")


def split_clauses(
    buffer: str, *, first: bool, final: bool, abbreviations: frozenset[str] = frozenset()
) -> tuple[tuple[str, ...], str]:
    """Cut the complete clauses off the front of `buffer`. Returns the clauses and the rest. `first` says that none was cut from
    this reply yet, `final` that no more text comes. The full stop of `abbreviations` ends no clause. Clauses and rest hold all
    words of the buffer."""
    clauses: list[str] = []
    while True:
        buffer = buffer.lstrip()
        end = _first_end(buffer, abbreviations, first=first and not clauses)
        if end is None:
            break
        clauses.append(" ".join(buffer[:end].split()))
        buffer = buffer[end:]
    if final:
        clauses.append(" ".join(buffer.split()))
        buffer = ""
    return tuple(clause for clause in clauses if clause), buffer


def _first_end(buffer: str, abbreviations: frozenset[str], *, first: bool) -> int | None:
    """Where the first complete clause ends. None if more text is needed."""
    line = _LINE_END.search(buffer)
    if line is not None:
        within = _end_in_line(buffer[: line.start() + 1], abbreviations, first=first)
        return within if within is not None and within < line.start() else line.end()
    return _end_in_line(buffer, abbreviations, first=first)


def _end_in_line(buffer: str, abbreviations: frozenset[str], *, first: bool) -> int | None:
    for match in _SENTENCE_END.finditer(buffer):
        words = buffer[: match.end()].split()
        if words and words[-1].lower() not in abbreviations:
            return match.end() if len(words) <= MAX_CLAUSE_WORDS else _comma_or_word_end(buffer[: match.end()])
    if first:
        for match in _CLAUSE_END.finditer(buffer):
            if len(buffer[: match.end()].split()) >= FIRST_CLAUSE_MIN_WORDS:
                return match.end()
    if len(buffer.split()) > MAX_CLAUSE_WORDS:
        return _comma_or_word_end(buffer)
    return None


def _comma_or_word_end(text: str) -> int:
    """Where to cut a text that is too long for one clause: after its last comma among the first words, else after a word."""
    limit = [match.end() for match in re.finditer(r"\S+", text)][MAX_CLAUSE_WORDS - 1]
    commas = [match.end() for match in _CLAUSE_END.finditer(text) if match.end() <= limit]
    return commas[-1] if commas else limit
