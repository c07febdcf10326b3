"""Removes what a language model thinks aloud, `<think>…</think>` and similar marks, from a stream of text. Pure. The text may be
cut anywhere."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from voiceagent.errors import EngineError

log = logging.getLogger(__name__)

PAIRS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<thoughts>", "</thoughts>"),
    ("<analysis>", "</analysis>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel>thought", "<channel|>"),
)
"""The marks of the usual model families."""
NEXT_MESSAGE = {"<|channel|>analysis<|message|>": ("<|start|>", "<|channel|>", "<|return|>")}
"""Marks that end a thought and belong to what follows it."""
BARE_OPENER, BARE_CLOSERS = "analysis", ("assistantfinal", "assistantcommentary")
"""A Harmony thought whose marks a server removed: `analysisThe user … assistantfinalIt is noon.` It only begins an answer."""
CLOSERS = frozenset(closer for _, closer in PAIRS) - {"<|end|>", "<channel|>"}
"""Marks that end a thought even if the text did not open one, because the prompt did."""

LEAST_OF_MARK = 4
"""Fewest characters of a mark at a generation's end that count as a mark and not as text."""


def begun_in(prompt: str) -> str:
    """The mark that ends a thought which the prompt begins for the model. Empty if it begins none."""
    end = prompt.rstrip()
    return next((closer for opener, closer in PAIRS if end.endswith(opener)), "")


class Thoughts:
    """One per generation."""

    def __init__(self, begun: str = "", silent: Sequence[str] = (), *, goes_on: bool = False) -> None:
        """`begun` ends the thought in which the text begins. The marks in `silent` are removed as well. Text that `goes_on` from
        earlier words keeps a space at its beginning."""
        self._closer = begun
        self._ends: tuple[str, ...] = (begun,) if begun else ()
        """The marks that end the current thought: `_closer`, and those that are not part of it."""
        self._buffer = ""
        self._silent = tuple(silent)
        self._marks = (*(opener for opener, _ in PAIRS), *CLOSERS, *self._silent)
        self._may_be_bare = not begun and not goes_on
        self._fresh = not goes_on
        """True before the first text and right after a thought."""
        self.said = goes_on
        self.ended = False
        """True once a thought has ended."""
        self.unopened = ""
        """The mark that ended a thought which nothing had begun. The text before it was not part of the answer."""

    def feed(self, text: str) -> str:
        """The part of the new text that is no thought."""
        self._buffer += text
        out: list[str] = []
        if self._may_be_bare and not self._read_bare_opener():
            return ""
        while self._buffer:
            if self._ends:
                if not self._end_thought():
                    break
                continue
            at, mark = self._next_mark(self._marks)
            kept = 0 if mark else _possible(self._buffer, self._marks)
            out.append(self._said(self._buffer[: at if mark else len(self._buffer) - kept]))
            self._buffer = self._buffer[at + len(mark) :] if mark else self._buffer[len(self._buffer) - kept :]
            if not mark:
                break
            self._take(mark)
        return "".join(out)

    @property
    def inside(self) -> bool:
        """True while the text is in a thought."""
        return bool(self._ends)

    def _read_bare_opener(self) -> bool:
        """Read the beginning of a thought without marks, if the answer begins with one. Returns False while that is unknown."""
        begun = self._buffer.lstrip()
        if len(begun) <= len(BARE_OPENER) and BARE_OPENER.startswith(begun):
            return False
        self._may_be_bare = False
        if re.match(rf"{BARE_OPENER}[A-Z\"'\n]", begun):
            self._ends = BARE_CLOSERS
            self._closer, self._buffer = BARE_CLOSERS[0], begun[len(BARE_OPENER) :]
        return True

    def _end_thought(self) -> bool:
        """Leave out the thought up to its end. Returns False while the end has not come."""
        at, mark = self._next_mark(self._ends)
        if not mark:
            self._buffer = self._buffer[-max(map(len, self._ends)) + 1 :]
            return False
        self._buffer = self._buffer[at + (len(mark) if mark == self._closer else 0) :]
        self._closer, self._ends, self._fresh, self.ended = "", (), True, True
        return True

    def finish(self) -> str:
        """The rest of the text. Empty inside a thought."""
        rest, self._buffer = self._buffer, ""
        return "" if self.inside or len(rest) >= LEAST_OF_MARK else self._said(rest)

    def check(self) -> None:
        """The generation is over, without a tool call. Raises EngineError when all of it was an unfinished thought."""
        if self.inside:
            self.check_said()

    def check_said(self) -> None:
        """The model has thought, and the generation is over, without a tool call. Raises EngineError when nothing was said."""
        if not self.said:
            raise EngineError(
                "the language model only thought and said nothing; raise llm.max_tokens, or set the option enable_thinking: false"
            )

    def _next_mark(self, marks: Sequence[str]) -> tuple[int, str]:
        folded = _folded(self._buffer)
        places = [(folded.find(mark.lower()), -len(mark), mark) for mark in marks]
        at, _, mark = min((place for place in places if place[0] >= 0), default=(0, 0, ""))
        return at, mark

    def _take(self, mark: str) -> None:
        self._closer = dict(PAIRS).get(mark, "")
        self._ends = (self._closer, *NEXT_MESSAGE.get(mark, ())) if self._closer else ()
        if not self._closer and mark in CLOSERS:
            self._fresh = True
            self.unopened = mark

    def _said(self, text: str) -> str:
        if self._fresh:
            text = text.lstrip()
            self._fresh = not text
        self.said |= bool(text.strip())
        return text


class BegunThoughts:
    """Learns whether a server's replies begin inside a thought that its own prompt opened, from the first reply that ends a
    thought without beginning it."""

    def __init__(self, closer: str = "") -> None:
        """`closer` is given if it is known."""
        self.closer = closer
        self._sure = bool(closer)

    def learn(self, thoughts: Thoughts) -> None:
        """Learn from a complete reply."""
        if thoughts.unopened and not self.closer:
            self.closer = thoughts.unopened
            log.warning("the server's replies begin with a thought that ends with %s: it is left out from now on", self.closer)
        elif self.closer and thoughts.ended:
            self._sure = True
        elif self.closer and not self._sure:
            self.closer = ""


def _possible(text: str, marks: Sequence[str]) -> int:
    """The number of characters at the end of `text` that may be the beginning of a mark."""
    longest = max(len(mark) for mark in marks) - 1
    folded = _folded(text)
    for length in range(min(longest, len(text)), 0, -1):
        if any(mark.lower().startswith(folded[-length:]) for mark in marks):
            return length
    return 0


def _folded(text: str) -> str:
    """In small letters, if that changes no length: models write `<Think>` too."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text
