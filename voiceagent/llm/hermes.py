"""Hermes-style tool calls in a stream of text: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Text passes as it comes;
a call is given out only when it is complete. Pure; the text may be cut anywhere."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable

from voiceagent.conversation.history import ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.engine import Generated, GeneratedText

OPEN, CLOSE = "<tool_call>", "</tool_call>"
MAX_CALL_CHARACTERS = 20_000


def random_call_id() -> str:
    """An id for a tool call."""
    return f"call_{secrets.token_hex(8)}"


class HermesParser:
    """One per generation."""

    def __init__(self, new_call_id: Callable[[], str] = random_call_id) -> None:
        self._new_call_id = new_call_id
        self._buffer = ""
        self._inside = False

    def feed(self, text: str) -> list[Generated]:
        """Take the next text. Raises EngineError for a call that is not what it should be."""
        self._buffer += text
        found: list[Generated] = []
        while True:
            tag = CLOSE if self._inside else OPEN
            before, present, after = self._buffer.partition(tag)
            if not present:
                break
            self._buffer = after
            if self._inside:
                found.append(self._call(before))
            elif before.strip():
                found.append(GeneratedText(before))
            self._inside = not self._inside
        if self._inside:
            if len(self._buffer) > MAX_CALL_CHARACTERS:
                raise EngineError(f"the language model wrote a tool call of over {MAX_CALL_CHARACTERS} characters")
        else:
            kept = _possible_tag(self._buffer)
            text, self._buffer = self._buffer[: len(self._buffer) - kept], self._buffer[len(self._buffer) - kept :]
            if text:
                found.append(GeneratedText(text))
        return found

    def finish(self) -> list[Generated]:
        """The generation is over: what is left. A call whose closing tag is missing counts when its JSON is complete. Raises
        EngineError when it is not."""
        rest, self._buffer = self._buffer, ""
        if self._inside:
            self._inside = False
            return [self._call(rest)]
        return [GeneratedText(rest)] if rest else []

    def _call(self, text: str) -> ToolCall:
        try:
            data = json.loads(text)
            name, arguments = data["name"], data.get("arguments", {})
            written = json.dumps(arguments, ensure_ascii=False)
            written.encode()  # half a surrogate pair is no character
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise EngineError(f"the language model wrote a tool call of {len(text)} characters that cannot be read") from error
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise EngineError(f"the language model wrote a tool call of {len(text)} characters without a name and arguments")
        return ToolCall(self._new_call_id(), name, written)


def _possible_tag(text: str) -> int:
    """How many characters at the end of `text` may be the beginning of a tag, the white space before it included."""
    for length in range(min(len(OPEN) - 1, len(text)), 0, -1):
        if OPEN.startswith(text[-length:]):
            return length + len(text[:-length]) - len(text[:-length].rstrip())
    return len(text) - len(text.rstrip())
