"""Turns what a language model writes into what a person would read out: Markdown, HTML, LaTeX and emoji become words, commas and
line ends. Text may come in pieces that are cut anywhere. It goes out as soon as it is known not to be markup. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable

from voiceagent.text_normalization.formulas import as_written
from voiceagent.text_normalization.inline import SPECIAL, LineSoFar, in_span
from voiceagent.text_normalization.line_starts import FLAGS, LineKind, face, is_arrow, is_sign, line_start
from voiceagent.text_normalization.markup import address

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
