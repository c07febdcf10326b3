"""One line of what is said, as it grows: spaces, commas and full stops stand where a person would pause. Pure."""

from __future__ import annotations

from collections.abc import Callable

_CLOSERS = "\"'”’)]*»"
_STOPS = ".!?…:;,—–-"
_NO_SPACE_BEFORE = ".,!?;:…)"
_KEPT = 8
"""Characters of the said text that are looked at again."""


class LineSoFar:
    """Takes the words, and keeps what is known of their line."""

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
