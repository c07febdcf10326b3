"""Turns what a language model writes into what a person would read out: Markdown, HTML, LaTeX and emoji become words, commas and
line ends. Text may come in pieces that are cut anywhere. It goes out as soon as it is known not to be markup: the beginning of a
line is read from its first characters. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from voiceagent.text_normalization.formulas import as_written
from voiceagent.text_normalization.inline import SPECIAL, LineSoFar, in_span
from voiceagent.text_normalization.markup import address

_SIGNS = (
    (0x00A9, 0x00A9),
    (0x00AD, 0x00AE),
    (0x200B, 0x200F),
    (0x20E3, 0x20E3),
    (0x2060, 0x2060),
    (0x2122, 0x2122),
    (0x2300, 0x23FF),
    (0x2500, 0x27BF),
    (0x2B00, 0x2BFF),
    (0x3030, 0x3030),
    (0x303D, 0x303D),
    (0x3297, 0x3299),
    (0xFE00, 0xFE0F),
    (0xFE30, 0xFE37),
    (0xFEFF, 0xFEFF),
    (0x1F000, 0x1FAFF),
    (0xE0020, 0xE007F),
)
"""First and last code points of pictographs and of characters that only shape them (Unicode 16: emoji, dingbats, box drawing,
joiners)."""
_ARROWS = ((0x2190, 0x21FF), (0x2794, 0x27BE), (0x2900, 0x297F), (0x2B00, 0x2B11))
BULLETS = "•◦‣▪▫●○■□▶►➤➢➔✓✔✅☑☐☒·–—"
FLAGS = ("\U0001f1e6", "\U0001f1ff")
"""A flag stands before the name that is said."""
LONGEST_FACE = 16
_FACE = re.compile(
    r"(?:[:;=][-'^]?[)(\]\[dDpPoO3/\\|*><]+|\^[_.-]*\^;*|>[_.]*<|<3+|¯\S{1,8}¯|\\o/|ʕ\S{1,8}ʔ|ಠ\S?ಠ"
    r"|\([^\x00-\x7f\w][^()\s]{0,8}(?:\([^()\s]{0,4}\))?[^()\s]{0,6}\)[^\s\w.,!?]{0,6}\w?"
    r"|\([\^>;*oOTuU~=-][_.~]?[\^<;*oOTuU~=-]\))(?=[.,!?]*(?:\s|$))"
)
_BEGINNING = re.compile(
    r"[:;=^>¯ʕಠ\\]\S*|<3*[.,!?]*|\((?:[\^>;*oOTuU~=-](?:[_.~]?(?:[\^<;*oOTuU~=-](?:\)[.,!?]*)?)?)?|[^\x00-\x7f\w]\S*)?"
)


def is_arrow(character: str) -> bool:
    """True if it points from one word to the next."""
    return any(first <= ord(character) <= last for first, last in _ARROWS)


def is_sign(character: str) -> bool:
    """True if it is a picture, or shapes one."""
    return any(first <= ord(character) <= last for first, last in _SIGNS)


def face(text: str, final: bool) -> int | None:
    """Returns the number of characters of a face at the beginning of `text`, where a word begins; None while more text is needed
    to know."""
    word = re.match(r"\S*", text)
    reach = word.end() if word else 0
    if reach >= LONGEST_FACE:
        return 0
    if reach == len(text) and not final:
        return None if _BEGINNING.fullmatch(text) else 0
    found = _FACE.match(text[: reach + 1])
    return found.end() if found else 0


LONGEST_RULE = 400
"""The most characters of a line of marks alone; a longer one is text."""


class LineKind(Enum):
    """The kind of a line, or of its beginning."""

    TEXT = auto()
    """Only its words follow."""
    MARK = auto()
    """A quote's or a bold's mark: what follows begins the line again."""
    SIGN = auto()
    """An emoji in a bullet's place."""
    ITEM = auto()
    NUMBER = auto()
    HEADING = auto()
    ROW = auto()
    RULE = auto()
    """Nothing of it is said."""
    FENCE = auto()


@dataclass(frozen=True, slots=True)
class LineStart:
    """The kind of line, and how many characters its beginning takes."""

    kind: LineKind
    length: int = 0
    number: str = ""
    """The number of a numbered item."""


_MARKS = re.compile(r"[-*_=|:+ \t]+")
_HEADING = re.compile(r"#{1,6}(?=[ \t\n]|$)")
_NUMBER = re.compile(r"(?:(\d{1,3})[.)]|(\d)\ufe0f?\u20e3|([a-z])\))[ \t]")
_PART_OF_NUMBER = re.compile(r"\d{1,3}[.)]?|\d\ufe0f?\u20e3?|[a-z]\)?")
_FENCE = re.compile(r"(`{3,}|~{3,})([^\n`]*)(\n|$)")
_LABEL = re.compile(r"\[\^[^\]\s]{1,30}\]:[ \t]*")
_REFERENCE = re.compile(r"\[\d{1,3}\]:[^\n]*")
_BOX = re.compile(r"\[[ xX]\](?=[ \t])")
_PART_OF_LABEL = re.compile(r"\[(?:\^[^\]\s]{0,30}|\d{0,3}|[ xX]?)(?:\]:?)?")
_TEXT = LineStart(LineKind.TEXT)


def line_start(text: str, final: bool) -> LineStart | None:
    """Returns the beginning of `text`, which is not empty and begins with no white space; None while more text is needed to know
    it. `final`: no text follows."""
    first = text[0]
    if first in "-*_=|:+":
        return _marks(text, final)
    if first == "#":
        return _heading(text, final)
    if first.isdigit() or "a" <= first <= "z":
        return _number(text, final)
    if first in "`~":
        return _fence(text, final)
    if first == "[":
        return _label(text, final)
    if first == ">":
        if len(text) == 1 and not final:
            return None
        return _TEXT if text[1:2] in ("_", ".", "=") or text[1:2].isdigit() else LineStart(LineKind.MARK, 1)
    if first in BULLETS:
        if len(text) == 1 and not final:
            return None
        return LineStart(LineKind.ITEM, 1) if text[1:2].isspace() or first not in "–—·" else _TEXT
    if is_sign(first) and not is_arrow(first):
        return LineStart(LineKind.SIGN, 1)
    return _TEXT


def _marks(text: str, final: bool) -> LineStart | None:
    match = _MARKS.match(text)
    run = match.group() if match else text[0]
    if len(run) == len(text) and not final and len(run) < LONGEST_RULE:
        return None
    following = text[len(run) : len(run) + 1]
    if following in ("", "\n"):
        return LineStart(LineKind.RULE, len(run))
    if run[0] in "-*+" and run[1:2] in (" ", "\t"):
        return LineStart(LineKind.ITEM, 1)
    if run[0] == "|":
        return LineStart(LineKind.ROW, 1)
    if set(run) <= set("*_") and (following.isdigit() or following == "#"):
        return LineStart(LineKind.MARK, len(run))
    return _TEXT


def _heading(text: str, final: bool) -> LineStart | None:
    if not final and re.fullmatch(r"#{1,6}", text):
        return None
    match = _HEADING.match(text)
    return LineStart(LineKind.HEADING, match.end()) if match else _TEXT


def _number(text: str, final: bool) -> LineStart | None:
    if not final and _PART_OF_NUMBER.fullmatch(text):
        return None
    match = _NUMBER.match(text)
    return LineStart(LineKind.NUMBER, match.end() - 1, match[1] or match[2] or match[3]) if match else _TEXT


def _fence(text: str, final: bool) -> LineStart | None:
    if len(text) < 3 and text in ("`", "``", "~", "~~") and not final:
        return None
    if not text.startswith(("```", "~~~")):
        return _TEXT
    if "\n" not in text and not final and "`" not in text.lstrip("`"):
        return None
    match = _FENCE.match(text)
    return LineStart(LineKind.FENCE, match.end()) if match else _TEXT


def _label(text: str, final: bool) -> LineStart | None:
    if not final and _PART_OF_LABEL.fullmatch(text):
        return None
    if match := _LABEL.match(text) or _BOX.match(text):
        return LineStart(LineKind.MARK, match.end())
    if match := _REFERENCE.match(text):
        return LineStart(LineKind.RULE, match.end()) if final or match.end() < len(text) else None
    return _TEXT


_WORD = re.compile(r"[^\W_]+")
_ADDRESSES = ("https://", "http://", "www.", "mailto:")
_SPEAKERS = ("assistant", "ai", "bot", "agent")
_PREFIX = re.compile(r"[\s*]{0,4}(?:(?:assistant|ai|bot|agent)\**:\**|assistant\n)\s*", re.IGNORECASE)
_NAME = re.compile(r"[\s*]{0,4}([a-z]{1,9})\**:?\**", re.IGNORECASE)
_ENDED = re.compile(r"[.!?…][\"')\]*_~`”’»]*\s*\Z")
_UNLIKE_SENTENCES = (LineKind.ITEM, LineKind.NUMBER, LineKind.HEADING, LineKind.ROW, LineKind.SIGN)


class Prose:
    """One per generation."""

    def __init__(self, code: str = "", formula: Callable[[str], str] = as_written) -> None:
        """`code` is said in place of the first fenced code; `formula` reads formulas."""
        self._code_phrase = code
        self._line = LineSoFar(formula)
        self._begun = False
        self._rest = ""
        self._fence = ""
        """The mark that closes the code that is being left out."""

    def feed(self, text: str) -> str:
        """Add this piece; returns what can be said now."""
        self._rest += text.replace("\r", "")
        return self._read(final=False)

    def pause(self) -> str:
        """No more text comes for now: returns what is left of a sentence that has ended."""
        return self._read(final=True) if not self._fence and _ENDED.search(self._rest) else ""

    def finish(self) -> str:
        """No more text follows: returns the rest. The next piece begins anew."""
        said = self._read(final=True)
        line = self._line
        if not line.at_start and line.stop_due:
            line.marked = False
            line.stop()
            said += self._given()
        line.begin()
        line.last = self._fence = self._rest = ""
        return said

    def _read(self, *, final: bool) -> str:
        while self._rest:
            taken = self._step(final)
            if taken is None:
                break
            self._line.before = "\n" if self._line.at_start else self._rest[taken - 1 : taken] or self._line.before
            self._rest = self._rest[taken:]
        return self._given()

    def _given(self) -> str:
        said = "".join(self._line.out)
        self._line.out.clear()
        return said

    def _step(self, final: bool) -> int | None:
        """Say what the rest begins with; its length, or None while more must be read."""
        if not self._begun:
            return self._begin(final)
        if self._fence:
            return self._leave_out(final)
        if self._line.at_start:
            return self._begin_line(final)
        if self._line.code:
            return in_span(self._line, self._rest, final)
        return self._go_on(self._line, self._rest, final)

    def _begin(self, final: bool) -> int | None:
        """Leave out the speaker's name, where the model writes one."""
        if not final:
            if len(self._rest) <= 4 and not self._rest.strip("* \n"):
                return None
            part = _NAME.fullmatch(self._rest)
            if part and any(name.startswith(part[1].lower()) for name in _SPEAKERS):
                return None
        found = _PREFIX.match(self._rest)
        if found and found.end() == len(self._rest) and not final:
            return None
        self._begun = True
        return found.end() if found else 0

    def _begin_line(self, final: bool) -> int | None:
        line, first = self._line, self._rest[0]
        if first == "\n":
            return line.end()
        if first.isspace():
            return 1
        start = line_start(self._rest, final)
        if start is None:
            return None
        if start.kind is LineKind.FENCE:
            return self._begin_code(start.length)
        line.stop_due |= start.kind in _UNLIKE_SENTENCES
        line.row |= start.kind is LineKind.ROW
        line.at_start = start.kind is not LineKind.TEXT and start.kind is not LineKind.ROW
        if start.number:
            line.say(f"{start.number}:")
            line.space = True
        return start.length

    def _begin_code(self, length: int) -> int:
        self._fence = self._rest[0] * 3
        self._line.end()
        if self._code_phrase:
            self._line.say(self._code_phrase)
            self._line.end()
            self._code_phrase = ""
        return length

    def _leave_out(self, final: bool) -> int | None:
        code, end, _ = self._rest.partition("\n")
        if not end and not final:
            return None
        if code.strip().startswith(self._fence) and not code.strip().strip(self._fence[0]):
            self._fence = ""
        return len(code) + len(end)

    def _go_on(self, line: LineSoFar, text: str, final: bool) -> int | None:
        first = text[0]
        if first == "\n":
            return line.end()
        if first.isspace():
            line.space = True
            return 1
        if line.before.isspace() and (length := face(text, final)) != 0:
            return None if length is None else line.drop(length)
        if not line.before.isalnum() and first in "hHwWm":
            lowered = text[:8].lower()
            if lowered.startswith(_ADDRESSES):
                return _say_address(line, text, final)
            if not final and any(prefix.startswith(lowered) for prefix in _ADDRESSES):
                return None
        if word := _WORD.match(text):
            line.say(word.group())
            return word.end()
        if is_arrow(first):
            return line.drop(1, comma=True)
        if is_sign(first):
            line.dropped |= not FLAGS[0] <= first <= FLAGS[1]
            return 1
        special = SPECIAL.get(first)
        if special is not None:
            return special(line, text, final)
        line.say(first)
        return 1


def _say_address(line: LineSoFar, text: str, final: bool) -> int | None:
    found = address(text, final)
    if found is None:
        return None
    line.say(found.text)
    return found.length
