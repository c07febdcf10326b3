"""A generation's text on its way out of an engine: without what the model thinks aloud, its tool calls as calls. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.conversation.history import ToolCall
from voiceagent.llm.engine import Generated, GeneratedText, ToolSchema
from voiceagent.llm.thoughts import Thoughts
from voiceagent.llm.tool_formats import ANY_FORMAT, ToolFormat
from voiceagent.llm.tool_parser import ToolParser


class Answer:
    """One per generation."""

    def __init__(self, form: ToolFormat | None, tools: Sequence[ToolSchema], begun: str = "", *, goes_on: bool = False) -> None:
        """`form` is None where the model's form is not known; `begun` ends the thought that the prompt began; `goes_on` where the
        answer goes on from words that were said: the space that it begins with stands between two of them."""
        self.thoughts = Thoughts(begun, form.silent if form else (), goes_on=goes_on)
        self._calls = ToolParser(form or ANY_FORMAT, tools, known=form is not None)
        self.called = False

    def feed(self, text: str) -> list[Generated]:
        """What the next text gives. Raises EngineError for a call that cannot be read."""
        return self._noted(self._calls.feed(self.thoughts.feed(text)))

    def finish(self) -> list[Generated]:
        """What is left. Raises EngineError for a call that cannot be read, and where all was a thought without an end."""
        left = [*self._calls.feed(self.thoughts.finish()), *self._calls.finish()]
        self.thoughts.check()
        return self._noted([piece for piece in left if not isinstance(piece, GeneratedText) or piece.text.strip()])

    def _noted(self, pieces: list[Generated]) -> list[Generated]:
        self.called |= any(isinstance(piece, ToolCall) for piece in pieces)
        return pieces
