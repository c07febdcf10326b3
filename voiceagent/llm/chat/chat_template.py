"""A model's chat template. It turns messages into the text of a prompt, in the shape that the template needs, and finds the form
in which the model writes tool calls. Loading finds out what the template cannot do."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.rules import ANY_TOOL
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.llm.chat.template_shape import ARGUMENTS, TOOL, TOOLS, plain_shape, takes_tools, tool_shape, written_call
from voiceagent.llm.chat.thoughts import begun_in
from voiceagent.llm.chat.tool_formats import BY_NAME, FORMATS, ToolFormat
from voiceagent.llm.chat.tool_parser import ToolParser
from voiceagent.llm.engine import ToolSchema

TEMPLATE_FILE, CONFIG_FILE = "chat_template.jinja", "tokenizer_config.json"
WITH_TOOLS = "tool_use"
"""The name of a model's template for tools, if it has several templates."""
SHOWN_CHARACTERS = 60
_RENDERING = (TemplateError, TypeError, ValueError, LookupError, AttributeError, RecursionError)
"""Errors that a template may raise for unexpected input."""


class ChatTemplate:
    """The chat template of one model."""

    def __init__(
        self, folder: Path, options: Mapping[str, object], controls: Collection[str] = frozenset(), tool_format: str = ""
    ) -> None:
        """`options` are further variables of the template. `controls` are the model's control tokens. Raises ModelError, and
        ConfigError for an unknown `tool_format`."""
        if tool_format and tool_format not in BY_NAME:
            raise ConfigError(f"tool_format: there is no form {tool_format!r:.40}; expected one of {', '.join(BY_NAME)}")
        config = _config(folder)
        self._source, texts = _templates(folder, config)
        environment = _environment()
        try:
            self._templates = {name: environment.from_string(text) for name, text in texts.items()}
        except TemplateError as error:
            raise ModelError(f"{folder}: its chat template is broken ({error}); run voiceagent models verify") from error
        text = "\n".join(texts.values())
        self._options = {**_special_tokens(config), **options}
        if "tools_in_user_message" in text:  # else an agent that speaks first would be taken for the caller
            self._options.setdefault("tools_in_user_message", False)
        try:
            self._shape = plain_shape(self._rendered)
        except EngineError as error:
            raise ModelError(f"{self._source}: {error}; take a model that is made for conversations") from error
        self.begun = begun_in(self._rendered(self._shape.fit((Message("user", "Hello."),)), []))
        """The mark that ends a thought which every prompt begins. Empty if prompts begin none."""
        self.form: ToolFormat | None = None
        """The form in which the model writes tool calls. None if it cannot be given tools."""
        self.call = ""
        """A tool call as the template writes it, with its surroundings. Empty if the model cannot be given tools."""
        self.no_tools = self._learn_tools(text, {*controls, *_special_tokens(config).values()}, tool_format)
        """The reason why the model cannot be given tools. Empty if it can."""

    def opening(self, tool: str) -> str:
        """The beginning of a call, with the tool's name; without it for ANY_TOOL. It goes no further, because the name is often a
        token of its own, and what follows it is none. Empty if the template does not show it."""
        head, named, _ = self.call.partition(TOOL)
        if not named or not self.form or any(str(value) in head for value in ARGUMENTS.values()):
            return ""
        marks = [mark.opener for mark in self.form.marks] + (["{", "["] if self.form.bare else [])
        begins = min((at for mark in marks if (at := self.call.find(mark)) >= 0), default=len(head) + 1)
        if begins > len(head):
            return ""
        begins -= self.call[:begins].endswith(" ")  # the space before a word is part of its token
        return head[begins:] + ("" if tool == ANY_TOOL else tool)

    def text(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> str:
        """The prompt, up to where the assistant's words begin. Raises EngineError."""
        if tools and self.no_tools:
            raise EngineError(self.no_tools)
        return self._rendered(self._shape.fit(messages), list(tools))

    def _rendered(self, messages: list[dict[str, object]], tools: list[ToolSchema]) -> str:
        template = self._templates.get(WITH_TOOLS if tools else "", self._templates[""])
        try:
            return template.render(messages=messages, tools=tools or None, add_generation_prompt=True, **self._options)
        except _RENDERING as error:
            raise EngineError(f"the model's chat template refuses the conversation: {error}") from error

    def _learn_tools(self, template: str, controls: Collection[str], tool_format: str) -> str:
        """Find out how tools are given and called. Returns why they cannot be, or an empty text."""
        if not takes_tools(self._shape, self._rendered):
            return f"{self._source}: this chat template has no place for tools; take a model that has, or an agent without tools"
        try:
            shape = tool_shape(self._shape, self._rendered)
            call = written_call(shape, self._rendered)
        except EngineError as error:
            return f"{self._source}: this chat template cannot be given tool calls: {error}"
        form = BY_NAME[tool_format] if tool_format else _form_of(call, template, controls)
        if form is None:
            shown = " ".join(call.split())[:SHOWN_CHARACTERS]
            return (
                f"{self._source}: this chat template writes tool calls in a form that is not known here ({shown!r}); "
                f"known are {', '.join(BY_NAME)}: name one with tool_format, take another model, or an agent without tools"
            )
        self._shape, self.form, self.call = shape, form, call
        return ""


def _form_of(call: str, template: str, controls: Collection[str]) -> ToolFormat | None:
    """The form that can read the call which the template wrote, else the form that the template describes in words."""
    read = next((form for form in FORMATS if _reads(form, call, controls)), None)
    told = (form for form in FORMATS if form.told_by and all(sign in template for sign in form.told_by))
    return read or next(told, None)


def _reads(form: ToolFormat, call: str, controls: Collection[str]) -> bool:
    """True if the form finds the call. The text may be cut at any control token that could have ended the generation."""
    around = [control for control in controls if control and control not in "".join(form.control)]
    ends = sorted({at for control in around for at in _places(call, control)} | {len(call)})
    return any(_found(form, call[:end]) for end in ends)


def _places(text: str, part: str) -> list[int]:
    places, at = [], text.find(part)
    while at >= 0:
        places.append(at)
        at = text.find(part, at + 1)
    return places


def _found(form: ToolFormat, text: str) -> bool:
    parser = ToolParser(form, TOOLS)
    try:
        pieces = [*parser.feed(text), *parser.finish()]
    except EngineError:
        return False
    calls = [(piece.name, json.loads(piece.arguments)) for piece in pieces if isinstance(piece, ToolCall)]
    return calls == [(TOOL, ARGUMENTS)]


class _Generation(Extension):
    """`{% generation %}…{% endgeneration %}` marks the assistant's words for training. Here only its contents are rendered."""

    tags = {"generation"}  # noqa: RUF012 - Jinja requires this form

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _environment() -> ImmutableSandboxedEnvironment:
    """Set up as in Hugging Face's transformers."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation], autoescape=False
    )
    environment.filters["tojson"] = _to_json
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = time.strftime
    return environment


def _to_json(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _config(folder: Path) -> dict[str, object]:
    """The tokenizer's settings. Empty if there are none. Raises ModelError."""
    file = folder / CONFIG_FILE
    try:
        config = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise ModelError(f"{file}: cannot be read ({error}); run voiceagent models verify") from error
    return config if isinstance(config, dict) else {}


def _special_tokens(config: Mapping[str, object]) -> dict[str, str]:
    """`bos_token`, `eos_token` and so on, which templates write."""
    named = {name: value for name, value in config.items() if name.endswith("_token")}
    texts = {name: value.get("content") if isinstance(value, dict) else value for name, value in named.items()}
    return {name: text for name, text in texts.items() if isinstance(text, str)}


def _templates(folder: Path, config: Mapping[str, object]) -> tuple[Path, dict[str, str]]:
    """The template's file, and its texts by name. The default one has the name ""; a separate one for tools has its own."""
    file = folder / TEMPLATE_FILE
    try:
        if file.is_file():
            return file, {"": file.read_text(encoding="utf-8")}
    except (OSError, ValueError) as error:
        raise ModelError(f"{file}: cannot be read ({error}); run voiceagent models verify") from error
    template = config.get("chat_template")
    if isinstance(template, list):
        named = {str(one.get("name")): one.get("template") for one in template if isinstance(one, dict)}
        chosen = {"": named.get("default", named.get(WITH_TOOLS)), WITH_TOOLS: named.get(WITH_TOOLS)}
        texts = {name: text for name, text in chosen.items() if isinstance(text, str)}
    else:
        texts = {"": template} if isinstance(template, str) else {}
    if "" not in texts:
        raise ModelError(f"{folder}: names no chat template; expected {file.name}, or `chat_template` in {CONFIG_FILE}")
    return folder / CONFIG_FILE, texts
