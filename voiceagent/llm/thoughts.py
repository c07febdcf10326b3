"""What a language model thinks aloud never leaves the engine: `<think>…</think>` and its like are taken out of a stream of text.
Pure; the text may be cut anywhere."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from voiceagent.errors import EngineError

log = logging.getLogger(__name__)

PAIRS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel>thought", "<channel|>"),
)
"""As the usual families write it."""
CLOSERS = frozenset(closer for _, closer in PAIRS) - {"<|end|>", "<channel|>"}
"""Those that end a thought even where nothing opened it: the prompt did."""

LEAST_OF_MARK = 4
"""Characters of a mark that are no text, where a generation ends with them."""


def begun_in(prompt: str) -> str:
    """What ends the thought that a prompt begins for the model; empty where it begins none."""
    end = prompt.rstrip()
    return next((closer for opener, closer in PAIRS if end.endswith(opener)), "")


class Thoughts:
    """One per generation."""

    def __init__(self, begun: str = "", silent: Sequence[str] = (), *, goes_on: bool = False) -> None:
        """`begun` ends the thought that the text begins in; what is in `silent` is taken out as well. Text that `goes_on` from
        words keeps the space that it begins with."""
        self._closer = begun
        self._buffer = ""
        self._silent = tuple(silent)
        self._marks = (*(opener for opener, _ in PAIRS), *CLOSERS, *self._silent)
        self._fresh = not goes_on
        """Nothing was said yet, or a thought has just ended."""
        self.said = goes_on
        self.ended = False
        """Whether a thought came to its end."""
        self.unopened = ""
        """What ended a thought that nothing had begun: what came before it was none of the answer."""

    def feed(self, text: str) -> str:
        """What of the next text is no thought."""
        self._buffer += text
        out = []
        while self._buffer:
            if self._closer:
                _, ended, after = self._buffer.partition(self._closer)
                if not ended:
                    self._buffer = self._buffer[-len(self._closer) + 1 :]
                    break
                self._closer, self._buffer, self._fresh, self.ended = "", after, True, True
                continue
            at, mark = self._next_mark()
            kept = 0 if mark else _possible(self._buffer, self._marks)
            out.append(self._said(self._buffer[: at if mark else len(self._buffer) - kept]))
            self._buffer = self._buffer[at + len(mark) :] if mark else self._buffer[len(self._buffer) - kept :]
            if not mark:
                break
            self._take(mark)
        return "".join(out)

    def finish(self) -> str:
        """What is left. Raises EngineError when the model has done nothing but think."""
        rest, self._buffer = self._buffer, ""
        return "" if self._closer or len(rest) >= LEAST_OF_MARK else self._said(rest)

    def check(self) -> None:
        """The generation is over and nothing was called. Raises EngineError when all of it was a thought without an end."""
        if self._closer and not self.said:
            raise EngineError(
                "the language model only thought and said nothing; raise llm.max_tokens, or set the option enable_thinking: false"
            )

    def _next_mark(self) -> tuple[int, str]:
        places = [(self._buffer.find(mark), -len(mark), mark) for mark in self._marks]
        at, _, mark = min((place for place in places if place[0] >= 0), default=(0, 0, ""))
        return at, mark

    def _take(self, mark: str) -> None:
        self._closer = dict(PAIRS).get(mark, "")
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
    """Whether a server's replies begin inside a thought, whose opening stands in the prompt that only the server sees: learned
    from the first that ends one which it never began."""

    def __init__(self, closer: str = "") -> None:
        """`closer`: it is known."""
        self.closer = closer
        self._sure = bool(closer)

    def learn(self, thoughts: Thoughts) -> None:
        """A reply is complete."""
        if thoughts.unopened and not self.closer:
            self.closer = thoughts.unopened
            log.warning("the server's replies begin with a thought that ends with %s: it is left out from now on", self.closer)
        elif self.closer and thoughts.ended:
            self._sure = True
        elif self.closer and not self._sure:
            self.closer = ""


def _possible(text: str, marks: Sequence[str]) -> int:
    """How many characters at the end of `text` may be the beginning of a mark."""
    longest = max(len(mark) for mark in marks) - 1
    for length in range(min(longest, len(text)), 0, -1):
        if any(mark.startswith(text[-length:]) for mark in marks):
            return length
    return 0
