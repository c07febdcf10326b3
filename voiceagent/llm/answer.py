"""Reads the text of a generation: removes what the model thinks aloud, and yields tool calls as calls. Pure."""

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
        """`form` is None if the model's form of tool calls is unknown. `begun` is the mark that ends a thought which the prompt
        began. `goes_on`: the answer continues words that were said, so a space at its beginning is kept."""
        self.thoughts = Thoughts(begun, (form or ANY_FORMAT).silent, goes_on=goes_on)
        self._calls = ToolParser(form or ANY_FORMAT, tools, known=form is not None)
        self.called = False

    def feed(self, text: str) -> list[Generated]:
        """Read more text. Raises EngineError for an unreadable call."""
        return self._noted(self._calls.feed(self.thoughts.feed(text)))

    @property
    def silent(self) -> bool:
        """Whether a thought or a call is being written."""
        return self.thoughts.inside or self._calls.inside

    def finish(self) -> list[Generated]:
        """Read what is left. Raises EngineError for an unreadable call, and when the whole text was an unfinished thought."""
        left = [*self._calls.feed(self.thoughts.finish()), *self._calls.finish()]
        if not any(isinstance(piece, ToolCall) for piece in left):
            self.thoughts.check()
        return self._noted([piece for piece in left if not isinstance(piece, GeneratedText) or piece.text.strip()])

    def _noted(self, pieces: list[Generated]) -> list[Generated]:
        self.called |= any(isinstance(piece, ToolCall) for piece in pieces)
        return pieces
