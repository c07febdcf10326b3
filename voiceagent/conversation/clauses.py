"""From tokens to clauses: cuts growing text into pieces that a voice can say without knowing what follows. The end of a line ends
a clause. The first clause of a reply is kept short, because nothing is heard before it is synthesised."""

from __future__ import annotations

import re

from voiceagent.conversation.sentence_ends import CLOSING, ends_plainly, sentence_ends
from voiceagent.turn_taking.abbreviations import Abbreviations

FIRST_CLAUSE_MIN_WORDS = 2
MAX_CLAUSE_WORDS = 24

_SENTENCE_END = re.compile(rf"[.!?…؟۔]+{CLOSING}(?=\s)|[。！？｡।॥]+{CLOSING}")
"""Some scripts write no spaces, or have their own sign for the end of a sentence. Their signs need no space after them."""
_CLAUSE_END = re.compile(rf"[,;:—–،؛]{CLOSING}(?=\s)|[，；：、]{CLOSING}")
_LINE_END = re.compile(r"\s*\n\s*")
_NONE = Abbreviations()
_PLAIN_WAIT_MS = 100.0
"""The next token mostly comes sooner. It shows whether `example.` is followed by `com`."""
_UNSURE_WAIT_MS = 300.0
_LAST_END = re.compile(rf"[.!?…؟۔]+{CLOSING}$")
_LAST_CLAUSE_END = re.compile(rf"[,;:—–،؛]{CLOSING}$")


def split_clauses(
    buffer: str, *, first: bool, final: bool, abbreviations: Abbreviations = _NONE, paused: bool = False
) -> tuple[tuple[str, ...], str]:
    """Cut the complete clauses off the front of `buffer`. Returns the clauses and the rest. `first` says that none was cut from
    this reply yet, `final` that no more text comes, `paused` that none comes for now. A full stop of `abbreviations` ends no
    clause where the sentence goes on, unless the text pauses there. Clauses and rest hold all words of the buffer."""
    clauses: list[str] = []
    if paused:
        buffer = f"{buffer.rstrip()} "
    while True:
        buffer = buffer.lstrip()
        end = _first_end(buffer, abbreviations, first=first and not clauses, paused=paused)
        if end is None:
            break
        clauses.append(" ".join(buffer[:end].split()))
        buffer = buffer[end:]
    if final:
        clauses.append(" ".join(buffer.split()))
        buffer = ""
    return tuple(clause for clause in clauses if clause), buffer


def end_wait_ms(buffer: str, *, first: bool, abbreviations: Abbreviations = _NONE) -> float:
    """How long to wait for the text behind the buffer before what ends there is said. It is short if the end is plain, and longer
    if the text may go on: after an abbreviation, a number or an open quotation mark. 0: nothing ends there."""
    text = buffer.rstrip()
    if _LAST_END.search(text):
        return _PLAIN_WAIT_MS if ends_plainly(text, abbreviations) else _UNSURE_WAIT_MS
    ends_clause = first and _LAST_CLAUSE_END.search(text) and len(text.split()) >= FIRST_CLAUSE_MIN_WORDS
    return _UNSURE_WAIT_MS if ends_clause else 0.0


def _first_end(buffer: str, abbreviations: Abbreviations, *, first: bool, paused: bool) -> int | None:
    """Where the first complete clause ends. None if more text is needed."""
    line = _LINE_END.search(buffer)
    if line is not None:
        within = _end_in_line(buffer[: line.start() + 1], abbreviations, first=first, paused=paused)
        return within if within is not None and within < line.start() else line.end()
    return _end_in_line(buffer, abbreviations, first=first, paused=paused)


def _end_in_line(buffer: str, abbreviations: Abbreviations, *, first: bool, paused: bool) -> int | None:
    for match in _SENTENCE_END.finditer(buffer):
        text, following = buffer[: match.end()], buffer[match.end() :]
        quoted = not following.strip("» \u00a0\u202f\n") and text.count("«") > text.count("»")
        pauses_here = paused and not following.strip()
        if pauses_here or (not quoted and sentence_ends(text, following, abbreviations)):
            return match.end() if len(text.split()) <= MAX_CLAUSE_WORDS else _comma_or_word_end(text)
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
