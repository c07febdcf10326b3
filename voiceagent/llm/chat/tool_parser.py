"""Finds tool calls in a stream of text, in any form that models write. Text passes at once. A call is yielded when it is
complete, and nothing that may be a call passes as text. Pure. The text may be cut anywhere."""

from __future__ import annotations

import json
import logging
import re
import secrets
from collections.abc import Callable, Sequence

from voiceagent.conversation.history import ToolCall
from voiceagent.errors import EngineError
from voiceagent.llm.chat.call_texts import UNREADABLE, Calls, Schemas, balanced, json_calls, python_calls
from voiceagent.llm.chat.tool_formats import CallMarks, ToolFormat
from voiceagent.llm.engine import Generated, GeneratedText, Lull, ToolSchema

log = logging.getLogger(__name__)

MAX_CALL_CHARACTERS = 20_000
MAX_CALLS = 16
"""Most calls of one generation."""
_JSON_BEGINS = re.compile(r"\[?\s*\{\s*\"(?:name|function|type|tool_name|parameters|arguments)\"\s*:")
_PYTHON_BEGINS = re.compile(r"\[\s*[A-Za-z_][\w.]{0,80}\(")
_OPENS = re.compile(r"[\[{]")
LEAST_OF_MARK = 4
"""Fewest characters of a mark at a generation's end that count as a mark and not as text."""
LONGEST_BEGINNING = 120
"""Most characters read to find out what a bracket begins."""


def random_call_id() -> str:
    """An id for a tool call."""
    return f"call_{secrets.token_hex(8)}"


class ToolParser:
    """One per generation."""

    def __init__(
        self,
        form: ToolFormat,
        tools: Sequence[ToolSchema] = (),
        new_call_id: Callable[[], str] = random_call_id,
        *,
        known: bool = True,
    ) -> None:
        """`known`: the form is the model's own. Else a call without marks counts only if it names one of `tools`."""
        self._form = form
        self._schemas = {tool["function"]["name"]: tool["function"].get("parameters") or {} for tool in tools}
        self._new_call_id = new_call_id
        self._known = known
        self._buffer = ""
        self._inside: CallMarks | None = None
        self._after = self._last = "\n"
        """The last characters that passed: the last one that is no space, and the last one."""
        self._calls = 0
        self._in_bare = False
        """True while a call without marks is being written."""
        self._said = False
        self._between = False
        """True after a call without marks. The separator between it and the next one is no text."""

    @property
    def inside(self) -> bool:
        """True while a call is being written."""
        return self._inside is not None or self._in_bare

    def feed(self, text: str) -> list[Generated]:
        """Read more text. Raises EngineError for an unreadable call."""
        self._buffer += text
        return self._read(final=False)

    def finish(self) -> list[Generated]:
        """Read what is left at the end. A call without its closing mark counts if it is complete. Raises EngineError if it is
        not."""
        found = self._read(final=True)
        rest, self._buffer = self._buffer, ""
        if self._inside is not None:
            marks, self._inside = self._inside, None
            return [*found, *self._made(rest, marks.read)]
        if self._begins_call(rest.strip()):
            log.warning("the language model broke off at the beginning of a tool call: %d characters are left out", len(rest))
            return found
        return [*found, GeneratedText(rest)] if rest else found

    def _begins_call(self, rest: str) -> bool:
        """True if the rest is the beginning of a call."""
        mark = _possible_mark(rest, self._form.marks) >= LEAST_OF_MARK
        return mark or (len(rest) >= LEAST_OF_MARK and rest[0] in "[{" and _may_begin(rest, self._form.bare))

    def _read(self, *, final: bool) -> list[Generated]:
        found: list[Generated] = []
        while self._buffer:
            if self._inside is not None:
                closed = self._close(found)
                if not closed:
                    break
                continue
            if not self._open(found, final):
                break
        return found

    def _close(self, found: list[Generated]) -> bool:
        """Read a call to its end. Returns False while the end has not come."""
        marks = self._inside
        assert marks is not None
        before, present, after = self._buffer.partition(marks.closer) if marks.closer else (self._buffer, "", "")
        if not present:
            if len(self._buffer) > MAX_CALL_CHARACTERS:
                raise EngineError(f"the language model wrote a tool call of over {MAX_CALL_CHARACTERS} characters")
            return False
        self._buffer, self._inside = after, None
        found += self._made(before, marks.read)
        self._after = self._last = "\n"
        return True

    def _open(self, found: list[Generated], final: bool) -> bool:
        """Pass on the text before what may be a call. Returns False while more text is needed."""
        at, marks = self._next_mark()
        bare = self._next_bare(at)
        if bare is not None:
            space = bare - len(self._buffer[:bare].rstrip())
            self._pass(found, bare - space)
            length = self._bare_length(self._buffer[space:], final)
            return length is not None and self._take_bare(found, space, length)
        if marks is not None:
            self._pass(found, at if self._buffer[:at].strip() else 0)
            self._buffer = self._buffer.partition(marks.opener)[2]
            self._inside = marks
            self._begin_call(found)
            return True
        kept = _possible_mark(self._buffer, self._form.marks)
        self._pass(found, len(self._buffer) - kept)
        return False

    def _next_mark(self) -> tuple[int, CallMarks | None]:
        places = [(self._buffer.find(marks.opener), marks) for marks in self._form.marks]
        return min(
            ((at, marks) for at, marks in places if at >= 0), key=lambda place: place[0], default=(len(self._buffer), None)
        )

    def _next_bare(self, before: int) -> int | None:
        """The place of the first bracket that may begin a call without marks."""
        if not self._form.bare:
            return None
        for match in _OPENS.finditer(self._buffer, 0, before):
            at = match.start()
            json_here = "json" in self._form.bare and (self._buffer[:at].rstrip(" \t")[-1:] or self._after) in "\n;>"
            python_here = "python" in self._form.bare and match[0] == "[" and (self._buffer[:at] or self._last)[-1].isspace()
            if json_here or python_here:
                return at
        return None

    def _bare_length(self, text: str, final: bool) -> int | None:
        """The length of the call at the beginning of the text. 0 if it is no call. None while that is unknown."""
        head = text[:LONGEST_BEGINNING]
        begins = ("json" in self._form.bare and _JSON_BEGINS.match(head)) or (
            "python" in self._form.bare and _PYTHON_BEGINS.match(head)
        )
        if not begins:
            partial = len(text) < LONGEST_BEGINNING and _may_begin(text, self._form.bare)
            return None if partial and (not final or len(text) >= LEAST_OF_MARK) else 0
        length = balanced(text)
        self._in_bare = not length
        if length:
            return length
        if final:
            raise EngineError(f"the language model wrote a tool call of {len(text)} characters that never ends")
        if len(text) > MAX_CALL_CHARACTERS:
            raise EngineError(f"the language model wrote a tool call of over {MAX_CALL_CHARACTERS} characters")
        return None

    def _take_bare(self, found: list[Generated], space: int, length: int) -> bool:
        text = self._buffer[space : space + length]
        calls = self._bare_calls(text) if length else None
        if calls is None:
            self._pass(found, space + max(1, length))
        else:
            self._buffer = self._buffer[space + length :]
            found += self._named(calls, text)
            self._after, self._last, self._between = ";", " ", True
        return bool(self._buffer)

    def _bare_calls(self, text: str) -> Calls | None:
        """The calls. None if the text is no call."""
        has_arguments = any(f'"{key}"' in text for key in ("parameters", "arguments"))
        read = python_calls if _PYTHON_BEGINS.match(text) and "python" in self._form.bare else json_calls
        try:
            calls = read(text, self._schemas)
        except UNREADABLE as error:
            if not self._known or (read is json_calls and not has_arguments):
                return None
            raise _unreadable(text) from error
        if read is json_calls and not has_arguments:
            return None
        return calls if self._known or all(name in self._schemas for name, _ in calls) else None

    def _begin_call(self, found: list[Generated]) -> None:
        """The text before a call is complete."""
        if self._said:
            found.append(Lull(writes_call=True))

    def _made(self, text: str, read: Callable[[str, Schemas], Calls]) -> list[ToolCall]:
        try:
            return self._named(read(text, self._schemas), text)
        except UNREADABLE as error:
            raise _unreadable(text) from error

    def _named(self, calls: Calls, text: str) -> list[ToolCall]:
        self._calls += len(calls)
        if self._calls > MAX_CALLS:
            raise EngineError(f"the language model asked for more than {MAX_CALLS} tools at once")
        made = []
        for name, arguments in calls:
            try:
                written = json.dumps(arguments, ensure_ascii=False)
                (name + written).encode()  # half a surrogate pair is no character
            except UNREADABLE as error:
                raise _unreadable(text) from error
            made.append(ToolCall(self._new_call_id(), name, written))
        return made

    def _pass(self, found: list[Generated], length: int) -> None:
        text, self._buffer = self._buffer[:length], self._buffer[length:]
        if self._between:
            text = text.lstrip(" ;,\n")
        if not text:
            return
        self._between = False
        self._said |= bool(text.strip())
        self._after = text.rstrip(" \t")[-1:] or self._after
        self._last = text[-1]
        found.append(GeneratedText(text))


def _unreadable(text: str) -> EngineError:
    return EngineError(f"the language model wrote a tool call of {len(text)} characters that cannot be read")


def _possible_mark(text: str, marks: Sequence[CallMarks]) -> int:
    """The number of characters at the end of `text` that may be the beginning of a mark, with the white space before it."""
    kept = 0
    for mark in marks:
        for length in range(min(len(mark.opener) - 1, len(text)), kept, -1):
            if mark.opener.startswith(text[-length:]):
                kept = length
                break
    return kept + len(text[: len(text) - kept]) - len(text[: len(text) - kept].rstrip())


def _may_begin(text: str, bare: str) -> bool:
    """True if the text may become the beginning of a call."""
    if "json" in bare and re.fullmatch(r"\[?\s*(?:\{\s*(?:\"[a-z_]{0,12}\"?\s*)?)?", text):
        return True
    return "python" in bare and re.fullmatch(r"\[\s*(?:[A-Za-z_][\w.]{0,80})?", text) is not None
