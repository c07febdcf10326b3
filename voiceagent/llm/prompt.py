"""Messages to token ids: a model's own chat template and tokenizer, as Hugging Face keeps them (`tokenizer.json`, and
`chat_template.jinja` or `tokenizer_config.json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import msgspec
from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer

from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError, ModelError
from voiceagent.llm.engine import ToolSchema, Unfinished


def template_message(message: Message) -> dict[str, Any]:
    """A message as chat templates expect it: the arguments of tool calls as objects."""
    data: dict[str, Any] = {"role": message.role, "content": message.prompted}
    if message.tool_calls:
        data["tool_calls"] = [
            {"type": "function", "id": call.call_id, "function": {"name": call.name, "arguments": _object(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        data["tool_call_id"] = message.tool_call_id
    return data


def _object(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}


class ChatPrompt:
    """The prompt format of one model."""

    def __init__(self, folder: Path, template_options: Mapping[str, Any] | None = None) -> None:
        """`template_options` are further variables of the template, such as `enable_thinking`. Raises ModelError."""
        self.tokenizer = _tokenizer(folder)
        added = self.tokenizer.get_added_tokens_decoder()
        self._control_ids = frozenset(token for token, added_token in added.items() if added_token.special)
        self._options = dict(template_options or {})
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"], autoescape=False
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _refuse
        try:
            self._template = environment.from_string(_template_text(folder))
        except TemplateError as error:
            raise ModelError(f"{folder}: its chat template is broken ({error}); run voiceagent models verify") from error

    def text(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
        """The prompt as text, up to where the assistant's words begin, or go on. Raises EngineError."""
        said = ""
        if messages and isinstance(messages[-1], Unfinished):
            *messages, unfinished = messages
            said = unfinished.content.rstrip()  # the space before a word is part of its token
        try:
            prompt: str = self._template.render(
                messages=[template_message(message) for message in messages],
                tools=list(tools) or None,
                add_generation_prompt=True,
                **self._options,
            )
            return prompt + said
        except TemplateError as error:
            raise EngineError(f"the model's chat template refuses the conversation: {error}") from error

    def ids(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> list[int]:
        """The prompt as token ids. Raises EngineError."""
        return self.encode(self.text(messages, tools))[0]

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """A prompt's text, or its end from a control token on, as token ids; and where control tokens stand in it, each by its
        character and by the index of its id."""
        encoding = self.tokenizer.encode_batch([text], add_special_tokens=False)[
            0
        ]  # `encode` would keep other threads from running
        ids: list[int] = encoding.ids
        offsets = encoding.offsets
        return ids, [(offsets[index][0], index) for index, token in enumerate(ids) if token in self._control_ids]


class Detokenizer:
    """Token ids to text, a piece at a time; a character that is not complete yet is held back."""

    def __init__(self, prompt: ChatPrompt) -> None:
        self._tokenizer = prompt.tokenizer
        self._ids: list[int] = []
        self._given = ""

    def add(self, token: int) -> str:
        """The text that became complete with the token."""
        self._ids.append(token)
        text: str = self._tokenizer.decode(self._ids, skip_special_tokens=True)
        if text.endswith("\ufffd"):
            return ""
        piece, self._given = text[len(self._given) :], text
        return piece

    def finish(self) -> str:
        """What is left, whole characters or not."""
        text: str = self._tokenizer.decode(self._ids, skip_special_tokens=True)
        return text[len(self._given) :]


def _to_json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _tokenizer(folder: Path) -> Tokenizer:
    file = folder / "tokenizer.json"
    try:
        return Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelError(f"{file}: cannot be read ({error.strerror}); check it with: voiceagent models verify") from error
    except Exception as error:  # the tokenizers package raises a bare Exception
        raise ModelError(f"{file}: is not a tokenizer ({error}); check it with: voiceagent models verify") from error


def _template_text(folder: Path) -> str:
    file = folder / "chat_template.jinja"
    config = folder / "tokenizer_config.json"
    try:
        if file.is_file():
            return file.read_text(encoding="utf-8")
        template = json.loads(config.read_text(encoding="utf-8")).get("chat_template")
    except (OSError, ValueError, AttributeError) as error:
        raise ModelError(f"{folder}: holds no readable chat template ({error}); expected {file.name} or {config.name}") from error
    if not isinstance(template, str):
        raise ModelError(f"{config}: names no chat template; expected `chat_template` in it, or {file.name} beside it")
    return template
