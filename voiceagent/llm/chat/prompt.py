"""Messages to token ids, and token ids to text, with a model's own chat template and tokenizer. They are in Hugging Face's files:
`tokenizer.json`, and `chat_template.jinja` or `tokenizer_config.json`."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace
from tokenizers import Tokenizer

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.rules import ANY_TOOL
from voiceagent.errors import ModelError
from voiceagent.llm.chat.calls_by_name import CallsByName
from voiceagent.llm.chat.chat_template import ChatTemplate
from voiceagent.llm.chat.thoughts import PAIRS, Thoughts
from voiceagent.llm.chat.tool_formats import ANY_FORMAT, ToolFormat
from voiceagent.llm.chat.tool_parser import ToolParser
from voiceagent.llm.engine import Generated, GeneratedText, ToolSchema, Unfinished


class Answer:
    """Reads the text of a generation: removes what the model thinks aloud, and yields tool calls as calls. One per generation."""

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


ENDINGS = ("<|eom_id|>", "<|call|>")
"""Control tokens after which the model waits for a tool's result."""
WORDS_END = "\ue000"
"""A private-use character. It is put after the caller's words to find their end in the template's text."""


class ChatPrompt:
    """The prompt format of one model."""

    def __init__(self, folder: Path, template_options: Mapping[str, object] | None = None, tool_format: str = "") -> None:
        """`template_options` are further variables of the template, such as `enable_thinking`. `tool_format` names the form of
        tool calls, if the template does not show it. Raises ModelError, and ConfigError for an unknown form."""
        self.tokenizer = _tokenizer(folder)
        added = self.tokenizer.get_added_tokens_decoder()
        self._controls = {token: added_token.content for token, added_token in added.items() if added_token.special}
        self.template = ChatTemplate(folder, template_options or {}, frozenset(self._controls.values()), tool_format)
        marks = (*(mark for pair in PAIRS for mark in pair), *(self.template.form.control if self.template.form else ()))
        self._told_ids = frozenset(token for token, content in self._controls.items() if any(content in mark for mark in marks))
        hidden = [re.escape(content) for token, content in self._controls.items() if token not in self._told_ids]
        self._hidden = re.compile("|".join(hidden) or "(?!)")
        self.stop_ids = frozenset(token for token, content in self._controls.items() if content in ENDINGS)
        """Tokens that end a generation with a tool call."""

    @property
    def form(self) -> ToolFormat | None:
        """The form in which the model writes tool calls. None if it writes none."""
        return self.template.form

    @property
    def no_tools(self) -> str:
        """The reason why the model cannot be given tools. Empty if it can."""
        return self.template.no_tools

    @property
    def no_forcing(self) -> str:
        """The reason why the model cannot be made to call a tool. Empty if it can."""
        return "" if self.template.opening(ANY_TOOL) else "its chat template does not show how a tool call begins"

    def opening(self, messages: Sequence[Message], must_call: str, mark: str = "") -> str:
        """The beginning of an answer that calls a tool, or nothing if none must be called: the end of a thought that the prompt
        began, and the beginning of the call, or `mark` alone."""
        if not must_call:
            return ""
        call = mark or self.template.opening(must_call)
        return call if _goes_on(messages) or not self.template.begun else f"{self.template.begun}\n\n{call}"

    @property
    def hidden_ids(self) -> frozenset[int]:
        """Control tokens that do not belong to an answer's text."""
        return frozenset(self._controls) - self._told_ids

    def hidden(self, text: str) -> str:
        """An answer's text without the control tokens that do not belong to it."""
        return self._hidden.sub("", text) if self.tells_controls else text

    @property
    def tells_controls(self) -> bool:
        """True if some control tokens belong to an answer: the marks of calls or thoughts."""
        return bool(self._told_ids)

    def answer(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Answer:
        """A reader for the answer to a prompt."""
        goes_on = _goes_on(messages)
        return Answer(self.template.form, tools, "" if goes_on else self.template.begun, goes_on=goes_on)

    def text(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
        """The prompt as text, up to where the assistant's words begin or go on. Raises EngineError."""
        if not _goes_on(messages):
            return self.template.text(messages, tools)
        *messages, unfinished = messages
        prompt, begun = self.template.text(messages, tools), self.template.begun
        said = unfinished.content.rstrip()  # the space before a word is part of its token
        return f"{prompt}{begun}\n\n{said}" if begun else prompt + said

    def open_text(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
        """The prompt up to the last character of the last message, as if the message went on. Empty if the template hides that
        place. Raises EngineError."""
        *before, last = messages
        marked = self.template.text([*before, replace(last, content=last.content + WORDS_END)], tools)
        return marked[: max(0, marked.rfind(WORDS_END))]

    @functools.cached_property
    def turn_end_ids(self) -> frozenset[int]:
        """The token with which the template ends the caller's words."""
        asked = [Message("user", WORDS_END)]
        tail = self.template.text(asked, []).rpartition(WORDS_END)[2]
        return frozenset(self.encode(tail)[0][:1])

    def ids(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """The prompt as token ids. Raises EngineError."""
        return self.encode(self.text(messages, tools))[0]

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The token ids of a prompt's text, or of its end from a control token on. Also the places of its control tokens, each as
        a character and the index of its id."""
        encoding = self.tokenizer.encode_batch([text], add_special_tokens=False)[
            0
        ]  # `encode` would keep other threads from running
        ids: list[int] = encoding.ids
        offsets = encoding.offsets
        return ids, [(offsets[index][0], index) for index, token in enumerate(ids) if token in self._controls]


class Detokenizer:
    """Turns token ids into text, piece by piece. An incomplete character is held back. Only control tokens that mark calls and
    thoughts are written."""

    def __init__(self, prompt: ChatPrompt) -> None:
        self._tokenizer = prompt.tokenizer
        self._hidden = prompt.hidden_ids
        self._ids: list[int] = []
        self._given = ""

    def add(self, token: int) -> str:
        """The text that became complete with this token."""
        if token in self._hidden:
            return ""
        self._ids.append(token)
        text: str = self._tokenizer.decode(self._ids, skip_special_tokens=False)
        if text.endswith("\ufffd"):
            return ""
        piece, self._given = text[len(self._given) :], text
        return piece

    def finish(self) -> str:
        """The rest of the text, with incomplete characters."""
        text: str = self._tokenizer.decode(self._ids, skip_special_tokens=False)
        return text[len(self._given) :]


def _goes_on(messages: Sequence[Message]) -> bool:
    return bool(messages) and isinstance(messages[-1], Unfinished)


def _tokenizer(folder: Path) -> Tokenizer:
    file = folder / "tokenizer.json"
    try:
        return Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror}); check it with: voiceagent models verify") from error
    except Exception as error:  # the tokenizers package raises a bare Exception
        raise ModelError(f"{file}: is not a tokenizer ({error}); check it with: voiceagent models verify") from error
