"""From tokens to clauses: cuts growing text into pieces that a voice can say without knowing what follows. The end of a line ends
a clause. The first clause of a reply is kept short, because nothing is heard before it is synthesised."""

from __future__ import annotations

import re

FIRST_CLAUSE_MIN_WORDS = 2
MAX_CLAUSE_WORDS = 24

_OPENERS, _CLOSERS = "\"'([“‘«「『（", "\"')]”’»」』）"
_CLOSING = r"[\"')\]”’»」』）]*"
_SENTENCE_END = re.compile(rf"[.!?…؟۔]+{_CLOSING}(?=\s)|[。！？｡।॥]+{_CLOSING}")
"""Some scripts write no spaces, or have their own sign for the end of a sentence. Their signs need no space after them."""
_CLAUSE_END = re.compile(rf"[,;:—–،؛]{_CLOSING}(?=\s)|[，；：、]{_CLOSING}")
_LINE_END = re.compile(r"\s*\n\s*")
_PLAIN_WAIT_MS = 100.0
"""The next token mostly comes sooner. It shows whether `example.` is followed by `com`."""
_UNSURE_WAIT_MS = 300.0
_LAST_END = re.compile(rf"[.!?…؟۔]+{_CLOSING}$")
_LAST_CLAUSE_END = re.compile(rf"[,;:—–،؛]{_CLOSING}$")
_PLAIN_STOP = re.compile(r"[^\W\d_](?:[\w'’-]*[^\W\d_])\.")
"""A word that ends with a letter, and one full stop."""
_PAIRS = ("()", "[]", "“”", "«»", "「」", "『』", '""')


def split_clauses(
    buffer: str, *, first: bool, final: bool, abbreviations: frozenset[str] = frozenset(), paused: bool = False
) -> tuple[tuple[str, ...], str]:
    """Cut the complete clauses off the front of `buffer`. Returns the clauses and the rest. `first` says that none was cut from
    this reply yet, `final` that no more text comes, `paused` that none comes for now. The full stop of `abbreviations` ends no
    clause, unless the text pauses there. Clauses and rest hold all words of the buffer."""
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


def end_wait_ms(buffer: str, *, first: bool, abbreviations: frozenset[str] = frozenset()) -> float:
    """How long to wait for the text behind the buffer before what ends there is said. It is short if the end is plain, and longer
    if the text may go on: after an abbreviation, a number or an open quotation mark. 0: nothing ends there."""
    text = buffer.rstrip()
    if _LAST_END.search(text):
        return _PLAIN_WAIT_MS if _ends_plainly(text, abbreviations) else _UNSURE_WAIT_MS
    ends_clause = first and _LAST_CLAUSE_END.search(text) and len(text.split()) >= FIRST_CLAUSE_MIN_WORDS
    return _UNSURE_WAIT_MS if ends_clause else 0.0


def _ends_plainly(text: str, abbreviations: frozenset[str]) -> bool:
    word = text.split()[-1].rstrip(_CLOSERS).lstrip(_OPENERS)
    opened = any(text.count(pair[0]) % 2 if pair == '""' else text.count(pair[0]) > text.count(pair[1]) for pair in _PAIRS)
    if opened or word.lower() in abbreviations or any(sign in word[:-1] for sign in "@/.…"):
        return False
    return _PLAIN_STOP.fullmatch(word) is not None or word[-1:] in tuple("!?؟۔")


def _first_end(buffer: str, abbreviations: frozenset[str], *, first: bool, paused: bool) -> int | None:
    """Where the first complete clause ends. None if more text is needed."""
    line = _LINE_END.search(buffer)
    if line is not None:
        within = _end_in_line(buffer[: line.start() + 1], abbreviations, first=first, paused=paused)
        return within if within is not None and within < line.start() else line.end()
    return _end_in_line(buffer, abbreviations, first=first, paused=paused)


def _end_in_line(buffer: str, abbreviations: frozenset[str], *, first: bool, paused: bool) -> int | None:
    for match in _SENTENCE_END.finditer(buffer):
        words = buffer[: match.end()].split()
        pauses_here = paused and not buffer[match.end() :].strip()
        if words and (pauses_here or words[-1].lower() not in abbreviations):
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
