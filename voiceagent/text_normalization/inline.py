"""One line of what is said, as it grows, and the constructs inside it. Each function says what the line goes on with, and how
many characters that took; None while more text is needed to know it. Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from voiceagent.text_normalization.formulas import is_command
from voiceagent.text_normalization.markup import angle, bracketed, citation, link_target, raised, span, struck

_CLOSERS = "\"'”’)]*»"
_STOPS = ".!?…:;,—–-"
_NO_SPACE_BEFORE = ".,!?;:…)"
_KEPT = 8
"""Characters of the said text that are looked at again."""


class LineSoFar:
    """Takes the words, and keeps what is known of their line: spaces, commas and full stops stand where a person would pause."""

    def __init__(self, formula: Callable[[str], str]) -> None:
        """`formula` reads a formula."""
        self.formula = formula
        self.out: list[str] = []
        """The text that can be given out."""
        self.last = ""
        """The end of the said text."""
        self.stop_due = False
        """The line is no sentence, so it gets a full stop at its end."""
        self.begin()

    def begin(self) -> None:
        """A new line."""
        self.at_start = True
        self.before = "\n"
        """The character before the current one."""
        self.space = self.comma = self.dropped = self.marked = False
        self.row = self.stop_due = False
        self.brackets = 0
        self.code = 0
        """Number of backticks that opened the current code."""

    def say(self, text: str) -> None:
        """Say these characters, after a space or comma that is due."""
        pause = self.dropped and self.space and self.last[-1:].isalnum() and text[0].isupper()
        if (self.comma or pause) and self.last and self.last[-1] not in "\n(" + _STOPS and text[0] not in _STOPS:
            self.out.append(",")
            self.space = True
        if self.space and self.last[-1:] not in ("", "\n") and not (self.dropped and text[0] in _NO_SPACE_BEFORE):
            self.out.append(" ")
        self.space = self.comma = self.dropped = self.marked = False
        self.out.append(text)
        self.last = (self.last + text)[-_KEPT:]

    def drop(self, length: int, *, comma: bool = False) -> int:
        """Leave out characters that are no word; a pause may stand for them."""
        self.dropped = True
        self.comma |= comma
        return length

    def end(self) -> int:
        """The line ends; white space counts as one character."""
        self.stop()
        if self.last not in ("", "\n"):
            self.out.append("\n")
            self.last = "\n"
        self.begin()
        return 1

    def stop(self) -> None:
        """Give it its full stop where it needs one."""
        said = self.last.rstrip(_CLOSERS)
        if (self.stop_due or self.marked) and self.last.strip() and (not said or said[-1] not in _STOPS):
            self.out.append(".")


LONGEST_FORMULA = 500
LONGEST_IN_LINE = 120
"""The most characters of a formula between single dollar signs, which may be money."""
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{1,6}|#[xX][0-9A-Fa-f]{1,6});")
_PART_OF_ENTITY = re.compile(r"&(?:#?[A-Za-z0-9]{0,8})")
_COMMAND = re.compile(r"\\([A-Za-z]+)")


def in_span(line: LineSoFar, text: str, final: bool) -> int | None:
    """Between backticks nothing is markup."""
    if text[0] == "`":
        run = len(text) - len(text.lstrip("`"))
        if run == len(text) and not final:
            return None
        line.code = 0 if run == line.code else line.code
        return run
    if text[0] == "\n":
        return line.end()
    if text[0].isspace():
        line.space = True
    else:
        line.say(text[0])
    return 1


def _emphasis(line: LineSoFar, text: str, final: bool) -> int | None:
    mark = text[0]
    run = len(text) - len(text.lstrip(mark))
    if run == len(text) and not final:
        return None
    before, after = line.before, text[run : run + 1]
    alone = before.isspace() and (not after or after.isspace()) and line.last[-1:] != "\n"
    product = (run == 1 and alone) or (before.isdigit() and after.isdigit())
    within = before.isalnum() and after.isalnum()
    if product if mark == "*" else within:
        line.say(text[:run])
    elif run > 1:
        line.marked = True
    return run


def _tilde(line: LineSoFar, text: str, final: bool) -> int | None:
    found = struck(text, final) if text != "~" or final else None
    if found is None:
        return None
    if found.length:
        return line.drop(found.length)
    if not text.startswith("~~"):
        line.say("~")
        return 1
    return 2


def _backticks(line: LineSoFar, text: str, final: bool) -> int | None:
    run = len(text) - len(text.lstrip("`"))
    if run == len(text) and not final:
        return None
    line.code = run
    return run


def _open_bracket(line: LineSoFar, text: str, final: bool) -> int | None:
    found = citation(text, final)
    if found is None:
        return None
    if found.length:
        return line.drop(found.length)
    if line.before.isalnum():
        line.say("[")
    else:
        line.brackets += 1
    return 1


def _close_bracket(line: LineSoFar, text: str, final: bool) -> int | None:
    if not line.brackets:
        line.say("]")
        return 1
    found = link_target(text, final)
    if found is None:
        return None
    line.brackets -= 1
    return found.length


def _exclamation(line: LineSoFar, text: str, final: bool) -> int | None:
    if len(text) == 1 and not final:
        return None
    if text[1:2] != "[":
        line.say("!")
    return 1


def _less_than(line: LineSoFar, text: str, final: bool) -> int | None:
    high = raised(text, final)
    if high is None:
        return None
    if high.length:
        if not line.last[-3:].isalpha() or len(line.last) < 3:
            line.space = True
            _formula_said(line, f"^{{{high.text}}}", 0)
        return high.length
    found = angle(text, final)
    if found is None:
        return None
    if found.breaks:
        line.end()
        line.stop_due = found.item
        return found.length
    if found.text:
        line.say(found.text)
    line.comma |= found.comma
    return found.length


def _ampersand(line: LineSoFar, text: str, final: bool) -> int | None:
    if not final and _PART_OF_ENTITY.fullmatch(text):
        return None
    found = _ENTITY.match(text)
    said = html.unescape(found.group()) if found else "&"
    if said.isspace():
        line.space = True
    else:
        line.say(said)
    return found.end() if found else 1


def _backslash(line: LineSoFar, text: str, final: bool) -> int | None:
    if len(text) == 1:
        return 1 if final else None
    if text[1] in "([":
        return _between(line, text, 2, {"(": "\\)", "[": "\\]"}[text[1]], LONGEST_FORMULA, final)
    command = _COMMAND.match(text)
    if command is None:
        if text[1] == "\n":
            return 1
        if text[1] not in "*`~#>|":
            line.say(text[1])
        return 2
    if command.end() == len(text) and not final:
        return None
    length = command.end()
    while text[length : length + 1] == "{":
        group = bracketed(text[length:], "{", "}", final)
        if group is None:
            return None
        length += group
    if length == len(text) and not final:
        return None
    if length == command.end() and not is_command(command[1]):
        line.say("\\")
        return 1
    return _formula_said(line, text[:length], length)


def _dollar(line: LineSoFar, text: str, final: bool) -> int | None:
    if len(text) == 1 and not final:
        return None
    if text[1:2] == "$":
        return _between(line, text, 2, "$$", LONGEST_FORMULA, final)
    found = span(text, final, LONGEST_IN_LINE)
    if found is None:
        return None
    if not found.length:
        line.say("$")
        return 1
    return _formula_said(line, found.text, found.length)


def _between(line: LineSoFar, text: str, opened: int, closer: str, most: int, final: bool) -> int | None:
    end = text.find(closer, opened)
    if end < 0:
        if not final and len(text) < most:
            return None
        return opened
    return _formula_said(line, text[opened:end], end + len(closer))


def _formula_said(line: LineSoFar, formula: str, length: int) -> int:
    said = line.formula(formula)
    if said:
        line.say(said)
    return length


def _pipe(line: LineSoFar, text: str, final: bool) -> int | None:
    if len(text) == 1 and not final:
        return None
    if text[1:2] == "|":
        return 2
    if line.row or (line.before.isspace() and text[1:2].isspace()):
        line.stop_due = True
        return line.drop(1, comma=True)
    line.say("|")
    return 1


def _hyphen(line: LineSoFar, text: str, final: bool) -> int | None:
    if not line.before.isspace():
        line.say(text[0])
        return 1
    if len(text) == 1 and not final:
        return None
    if text[1:2] == ">":
        return line.drop(2, comma=True)
    run = len(text) - len(text.lstrip("-"))
    if run == len(text) and not final:
        return None
    if run > 1 and text[run : run + 1].isspace():
        line.say("–")
        return run
    line.say(text[0])
    return 1


def _greater_than(line: LineSoFar, text: str, final: bool) -> int | None:
    if len(text) < 3 and not final and line.before.isspace():
        return None
    step = line.before.isspace() and line.last[-3:].isalpha() and len(line.last) > 2
    if step and text[1:2].isspace() and (text[2:3].isupper() or text[2:3] == "*"):
        return line.drop(1, comma=True)
    line.say(">")
    return 1


def _bullet(line: LineSoFar, text: str, final: bool) -> int | None:
    return line.drop(1, comma=True)


def _hash(line: LineSoFar, text: str, final: bool) -> int | None:
    if len(text) == 1 and not final:
        return None
    if not (text[1:2].isalpha() and not line.before.isalnum()):
        line.say("#")
    return 1


def _source(line: LineSoFar, text: str, final: bool) -> int | None:
    length = bracketed(text, "【", "】", final)
    return None if length is None else line.drop(length)


SPECIAL: dict[str, Callable[[LineSoFar, str, bool], int | None]] = {
    "*": _emphasis,
    "_": _emphasis,
    "~": _tilde,
    "`": _backticks,
    "[": _open_bracket,
    "]": _close_bracket,
    "!": _exclamation,
    "<": _less_than,
    ">": _greater_than,
    "&": _ampersand,
    "\\": _backslash,
    "$": _dollar,
    "|": _pipe,
    "-": _hyphen,
    "=": _hyphen,
    "•": _bullet,
    "#": _hash,
    "【": _source,
}
