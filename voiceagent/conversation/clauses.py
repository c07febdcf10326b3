"""From tokens to clauses: cuts growing text into pieces that a voice can say without knowing what follows. The end of a line ends
a clause. The first clause of a reply is kept short, because nothing is heard before it is synthesised."""

from __future__ import annotations

import re

from voiceagent.turn_taking.language import Abbreviations

FIRST_CLAUSE_MIN_WORDS = 2
MAX_CLAUSE_WORDS = 24
CLOSING = r"(?:[\"')\]”“’‘»›」』）*]|[ \u00a0\u202f](?=[»›]))*"
"""Marks that close what a sentence ends with. French has a space before its own, German closes with “."""

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
_OPENERS = "\"'“”‘’„‚«»‹›([{¿¡*"
_LAST_WORD = re.compile(rf"\s*(?P<word>\S+?)(?P<stops>[.!?…؟۔。！？｡।॥]+){CLOSING}\s*$")
_NEXT_WORD = re.compile(r"[^\w]*(?P<word>\w[\w’']*)?(?P<after>\W)?", re.UNICODE)
_ELISION = re.compile(r"^\w{1,6}['’](?=\w{2,})")
_INITIAL = re.compile(r"[^\W\d_]\.")
_DOTTED = re.compile(r"(?:[^\W\d_]\.[\s-]?)+[^\W\d_]")
_DAY_AND_MONTH = re.compile(r"\d{1,2}\.\d{1,2}")
_ROMAN = re.compile(r"[IVX]{1,6}")
_ADDRESS = re.compile(r"@|://|^www\.|/\w*$")
_PAIRS = ("()", "[]", "“”", "«»", "「」", "『』", "„“")


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
    """Returns how long to wait for the text behind the buffer before what ends there is said. It is short if the end is plain,
    and longer if the text may go on: after an abbreviation, a number or an open quotation mark. 0: nothing ends there."""
    text = buffer.rstrip()
    if _LAST_END.search(text):
        return _PLAIN_WAIT_MS if ends_plainly(text, abbreviations) else _UNSURE_WAIT_MS
    ends_clause = first and _LAST_CLAUSE_END.search(text) and len(text.split()) >= FIRST_CLAUSE_MIN_WORDS
    return _UNSURE_WAIT_MS if ends_clause else 0.0


def _first_end(buffer: str, abbreviations: Abbreviations, *, first: bool, paused: bool) -> int | None:
    """Finds the end of the first complete clause. None if more text is needed."""
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
    """Finds where to cut a text that is too long for one clause: after its last comma among the first words, else after a
    word."""
    limit = [match.end() for match in re.finditer(r"\S+", text)][MAX_CLAUSE_WORDS - 1]
    commas = [match.end() for match in _CLAUSE_END.finditer(text) if match.end() <= limit]
    return commas[-1] if commas else limit


# --- whether a full stop ends a sentence: a plain end is known at once, one that may go on with the next word ---------


def sentence_ends(text: str, following: str, abbreviations: Abbreviations) -> bool | None:
    """Returns whether a sentence ends with the marks at the end of `text`, which begins with the clause. `following` is the text
    behind it. None: the next word tells, and it has not come."""
    words = text.split()
    last = _LAST_WORD.match(words[-1]) if words else None
    if last is None or last["stops"] != ".":
        return True
    word = last["word"].lstrip(_OPENERS)
    before = words[-2].lstrip(_OPENERS) if len(words) > 1 else ""
    next_word = _NEXT_WORD.match(following)
    after = (next_word and next_word["word"]) or ""
    whole = after if next_word and next_word["after"] else ""
    return _ends(word, before, after, whole, abbreviations)


def ends_plainly(text: str, abbreviations: Abbreviations) -> bool:
    """Returns whether a sentence has surely ended with `text`, though nothing is known of what follows: not after an
    abbreviation, a number that may be a decimal, a part of an address or inside of quotation marks."""
    words = text.split()
    last = _LAST_WORD.match(words[-1]) if words else None
    if last is None or _ADDRESS.search(last["word"]) or re.search(r"\d$|\w\.\w", last["word"]):
        return False
    if text.count('"') % 2 or any(text.count(pair[0]) > text.count(pair[1]) for pair in _PAIRS):
        return False
    return "…" not in last["stops"] and ".." not in last["stops"] and sentence_ends(text, "", abbreviations) is True


def _ends(word: str, before: str, after: str, whole: str, known: Abbreviations) -> bool | None:
    """`after` is the next word as far as it has come, `whole` the same once it is complete."""
    if len(word) == 1 and word.isalpha() and (_INITIAL.fullmatch(before) or before.lower() in known.lettered):
        return _letter_ends(word, before, after, whole, known)
    stopped = f"{_ELISION.sub('', word.lower())}."
    forms = {stopped, before.lower() + stopped}
    if forms & known.never:
        return False
    if forms & known.before_number or any(stopped.endswith(ending) for ending in known.compounds):
        return _ends_before_number(before, after, whole, known)
    if forms & known.may_end:
        return _ends_unless_continued(after, whole, known)
    dated = known.before_ordinal and (_DAY_AND_MONTH.fullmatch(word) or (_ROMAN.fullmatch(word) and len(word) + len(before) > 1))
    if word.isdigit() or dated:
        return _number_ends(word, before, after, whole, known)
    if len(word) == 1 and word.isalpha():
        return _letter_ends(word, before, after, whole, known)
    if forms & known.before_name or _DOTTED.fullmatch(word):
        return _ends_before_starter(after, whole, known)
    return True


def _ends_before_number(before: str, after: str, whole: str, known: Abbreviations) -> bool | None:
    """Such a word alone may be a sentence of its own: "No."."""
    if after[:1].isdigit():
        return False
    if not whole:
        return None
    if len(whole) == 1 or _ROMAN.fullmatch(whole):
        return not before and whole.lower() in known.starters
    return whole[0].isupper() or not before


def _ends_unless_continued(after: str, whole: str, known: Abbreviations) -> bool | None:
    if not after:
        return None
    if not after[0].isupper():
        return False
    if not whole:
        return None
    return not (whole.lower() in known.names or (whole.isupper() and len(whole) > 1))


def _ends_before_starter(after: str, whole: str, known: Abbreviations) -> bool | None:
    if not after:
        return None
    if not after[0].isupper():
        return False
    return whole.lower() in known.starters if whole else None


def _number_ends(word: str, before: str, after: str, whole: str, known: Abbreviations) -> bool | None:
    """A number that begins a clause, or follows a colon, numbers an item."""
    if len(word) <= 3 and (not before or before.endswith(":")) and word.isdigit():
        return False
    if not known.before_ordinal or len(word) > (2 if word.isdigit() else 6):
        return True
    if not after:
        return None
    if after[0].islower():
        return False
    if not whole:
        return None
    if whole.lower() in known.starters:
        return True
    return not (whole.lower() in known.months or before.lower() in known.before_ordinal or word.isalpha())


def _letter_ends(word: str, before: str, after: str, whole: str, known: Abbreviations) -> bool | None:
    """An initial, or a letter that is a name: "J. Smith", "Plan B."."""
    if word.isupper() and (before.lower() in known.lettered or (before[-1:].islower() and word.lower() in known.pronouns)):
        return True
    if _INITIAL.fullmatch(before) and before.islower():
        return False
    return _ends_before_starter(after, whole, known)
