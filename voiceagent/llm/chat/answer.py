"""Reads the text of a generation: removes what the model thinks aloud, and yields tool calls as calls. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.conversation.history import ToolCall
from voiceagent.llm.chat.calls_by_name import CallsByName
from voiceagent.llm.chat.thoughts import Thoughts
from voiceagent.llm.chat.tool_formats import ANY_FORMAT, ToolFormat
from voiceagent.llm.chat.tool_parser import ToolParser
from voiceagent.llm.engine import Generated, GeneratedText, ToolSchema


class Answer:
    """One per generation."""

    def __init__(self, form: ToolFormat | None, tools: Sequence[ToolSchema], begun: str = "", *, goes_on: bool = False) -> None:
        """`form` is None if the model's form of tool calls is unknown. `begun` is the mark that ends a thought which the prompt
        began. `goes_on`: the answer continues words that were said, so a space at its beginning is kept."""
        self.thoughts = Thoughts(begun, (form or ANY_FORMAT).silent, goes_on=goes_on)
        self._calls = ToolParser(form or ANY_FORMAT, tools, known=form is not None)
        self._by_name = CallsByName(tools)
        self.called = False

    def feed(self, text: str) -> list[Generated]:
        """Read more text. Raises EngineError for an unreadable call."""
        return self._noted(self._calls.feed(self.thoughts.feed(text)))

    def begin_call(self) -> list[Generated]:
        """A call begins beside the text. Returns what of the text waited for more."""
        return self._by_name.settle()

    @property
    def silent(self) -> bool:
        """True while a thought or a call is being written."""
        return self.thoughts.inside or self._calls.inside or self._by_name.inside

    def finish(self, *, called: bool = False) -> list[Generated]:
        """Read what is left. `called`: the model has called a tool beside the text. Raises EngineError for an unreadable call,
        and when the whole text was an unfinished thought."""
        left = self._noted([*self._calls.feed(self.thoughts.finish()), *self._calls.finish()])
        left += self._by_name.finish(called=called or self.called)
        self.called |= any(isinstance(piece, ToolCall) for piece in left)
        if not self.called and not called:
            self.thoughts.check()
        return [piece for piece in left if not isinstance(piece, GeneratedText) or piece.text.strip()]

    def _noted(self, pieces: list[Generated]) -> list[Generated]:
        found: list[Generated] = []
        for piece in pieces:
            found += self._by_name.feed(piece.text) if isinstance(piece, GeneratedText) else [*self._by_name.take_call(), piece]
        self.called |= any(isinstance(piece, ToolCall) for piece in found)
        return found
