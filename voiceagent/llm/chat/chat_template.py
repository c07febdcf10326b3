"""A model's chat template. It turns messages into the text of a prompt, in the shape that the template needs, and finds the form
in which the model writes tool calls. Loading finds out what the template cannot do."""

from __future__ import annotations

import hashlib
import itertools
import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment
from msgspec import Struct
from msgspec.structs import replace

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.rules import ANY_TOOL
from voiceagent.errors import ConfigError, EngineError, ModelError
from voiceagent.llm.chat.thoughts import begun_in
from voiceagent.llm.chat.tool_formats import BY_NAME, FORMATS, ToolFormat
from voiceagent.llm.chat.tool_parser import ToolParser
from voiceagent.llm.engine import ToolSchema
from voiceagent.untrusted_json import read_json

Rendered = Callable[[list[dict[str, object]], list[ToolSchema]], str]
"""Renders messages and tools with the template. Raises EngineError."""
ID_CHARACTERS = 9
"""The length of a tool call's id, for templates that require one, such as Mistral's."""
TOOL = "probe_lookup"
ARGUMENTS = {"place": "Ankersund"}
TOOLS: list[ToolSchema] = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "description": "Looks something up.",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string", "description": "Where."}},
                "required": ["place"],
            },
        },
    }
]


class TemplateShape(Struct, frozen=True):
    """Changes that messages need for a template. They are found once, by rendering small conversations. Templates refuse
    different things: a role `system`, an agent that speaks first, several calls at once. Worse, some leave things out without an
    error."""

    system: bool = True
    """There is a role for instructions. Else they stand before the caller's first words."""
    alternates: bool = False
    """The caller speaks first, and no speaker comes twice in a row."""
    arguments_as_text: bool = False
    no_content: str | None = ""
    """The content of a message that only has calls."""
    calls_alone: bool = False
    """Words beside calls would be lost, so they get a message of their own."""
    one_call: bool = False
    """A message may have only one call."""
    short_ids: bool = False
    tool_role: str = "tool"

    def fit(self, messages: Sequence[Message]) -> list[dict[str, object]]:
        """The messages in the template's shape."""
        names = {call.call_id: call.name for message in messages for call in message.tool_calls}
        fitted = [data for message in self._split(messages) for data in [self._data(message, names)]]
        if not self.system:
            fitted = _system_merged(fitted)
        return _alternating(fitted) if self.alternates else fitted

    def _split(self, messages: Sequence[Message]) -> list[Message]:
        """One call per message, each followed by its result. Words that would be lost get a message of their own."""
        if not self.one_call and not self.calls_alone:
            return list(messages)
        results = {message.tool_call_id: message for message in messages if message.role == "tool"}
        split: list[Message] = []
        placed: set[str] = set()
        for message in messages:
            if message.role == "tool" and message.tool_call_id in placed:
                continue
            if not message.tool_calls:
                split.append(message)
                continue
            if message.content and self.calls_alone:
                split.append(replace(message, tool_calls=()))
                message = replace(message, content="")
            if not self.one_call or len(message.tool_calls) == 1:
                split.append(message)
                continue
            for number, call in enumerate(message.tool_calls):
                split.append(replace(message, content=message.content if not number else "", tool_calls=(call,)))
                if call.call_id in results:
                    split.append(results[call.call_id])
                    placed.add(call.call_id)
        return split

    def _data(self, message: Message, names: dict[str, str]) -> dict[str, object]:
        data: dict[str, object] = {"role": message.role, "content": message.prompted}
        if message.tool_calls:
            data["content"] = message.prompted or self.no_content
            data["tool_calls"] = [
                {
                    "type": "function",
                    "id": self._id(call.call_id),
                    "function": {"name": call.name, "arguments": self._arguments(call)},
                }
                for call in message.tool_calls
            ]
        if message.role == "tool":
            data["role"] = self.tool_role
            data["tool_call_id"] = self._id(message.tool_call_id)
            data["name"] = names.get(message.tool_call_id, "")
        return data

    def _arguments(self, call: ToolCall) -> object:
        return call.arguments if self.arguments_as_text else _object(call.arguments)

    def _id(self, call_id: str) -> str:
        return hashlib.sha256(call_id.encode()).hexdigest()[:ID_CHARACTERS] if self.short_ids else call_id


def _object(text: str) -> object:
    try:
        return read_json(text)
    except ValueError:
        return {}


def _system_merged(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    if not messages or messages[0]["role"] != "system":
        return messages
    instructions, rest = messages[0]["content"], messages[1:]
    if rest and rest[0]["role"] == "user":
        return [{**rest[0], "content": f"{instructions}\n\n{rest[0]['content']}".strip()}, *rest[1:]]
    return [{"role": "user", "content": instructions}, *rest]


def _alternating(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    """Join the words of the same speaker, and put an empty message of the caller first if the agent spoke first."""
    first = 1 if messages and messages[0]["role"] == "system" else 0
    fitted = messages[:first]
    for data in messages[first:]:
        before = fitted[-1] if len(fitted) > first else None
        if before is None and data["role"] == "assistant":
            fitted.append({"role": "user", "content": ""})
        elif before is not None and _joins(before, data):
            fitted[-1] = {**data, "content": f"{before['content']}\n{data['content']}".strip()}
            continue
        fitted.append(data)
    return fitted


def _joins(before: dict[str, object], data: dict[str, object]) -> bool:
    return bool(
        before["role"] == data["role"] and data["role"] != "tool" and not before.get("tool_calls") and not data.get("tool_calls")
    )


# --- finding it ---

_SYSTEM, _ASKED = Message("system", "Probe instructions."), Message("user", "Probe question.")
_SAID, _AGAIN = Message("assistant", "Probe answer."), Message("user", "Probe reply.")
_GREETED = Message("assistant", "Probe greeting.")
_CALL = ToolCall("probe_call_1", TOOL, '{"place": "Ankersund"}')
_SECOND = ToolCall("probe_call_2", TOOL, '{"place": "Bellmoor"}')
_RESULT, _OTHER_RESULT = (
    Message("tool", "ProbeResultOne", tool_call_id=_CALL.call_id),
    Message("tool", "ProbeResultTwo", tool_call_id=_SECOND.call_id),
)


def _shows(
    shape: TemplateShape, render: Rendered, messages: Sequence[Message], tools: list[ToolSchema], wanted: Sequence[str]
) -> str:
    """The reason why the template cannot render the conversation. Empty if it can."""
    try:
        text = render(shape.fit(messages), tools)
    except EngineError as error:
        return str(error)
    missing = [one for one in wanted if one not in text]
    return f"it leaves out what was said ({missing[0]})" if missing else ""


def plain_shape(render: Rendered) -> TemplateShape:
    """The shape of conversations without tools. Raises EngineError when the template takes none."""
    why = ""
    talk = (_SYSTEM, _ASKED, _SAID, _AGAIN)
    greeted = (_SYSTEM, _GREETED, _ASKED, _SAID, _GREETED, _AGAIN, _ASKED)
    for system, alternates in itertools.product((True, False), (False, True)):
        shape = TemplateShape(system=system, alternates=alternates)
        why = _shows(shape, render, talk, [], [message.content for message in talk])
        why = why or _shows(shape, render, greeted, [], [message.content for message in greeted])
        if not why:
            return shape
    raise EngineError(why)


def takes_tools(shape: TemplateShape, render: Rendered) -> bool:
    """True if tools are written into the prompt at all."""
    return not _shows(shape, render, (_SYSTEM, _ASKED), TOOLS, [TOOL])


def tool_shape(plain: TemplateShape, render: Rendered) -> TemplateShape:
    """The shape of conversations with tools. Raises EngineError when the template takes none."""
    why = ""
    called = (_SYSTEM, _ASKED, Message("assistant", "", (_CALL,)), _RESULT, _SAID, _AGAIN)
    wanted = ["Ankersund", "ProbeResultOne", _SAID.content, _AGAIN.content]
    choices = itertools.product((False, True), ("", None), (False, True), ("tool", "ipython"))
    for as_text, no_content, short_ids, role in choices:
        shape = replace(plain, arguments_as_text=as_text, no_content=no_content, short_ids=short_ids, tool_role=role)
        failed = _shows(shape, render, called, TOOLS, wanted)
        if not failed:
            return _with_several(shape, render)
        why = why or failed
    raise EngineError(why)


def _with_several(shape: TemplateShape, render: Rendered) -> TemplateShape:
    beside = (_SYSTEM, _ASKED, Message("assistant", "Probe words.", (_CALL,)), _RESULT, _SAID, _AGAIN)
    if _shows(shape, render, beside, TOOLS, ["Ankersund", "ProbeResultOne"]):
        shape = replace(shape, calls_alone=True)
    several = (_SYSTEM, _ASKED, Message("assistant", "", (_CALL, _SECOND)), _RESULT, _OTHER_RESULT, _SAID, _AGAIN)
    if _shows(shape, render, several, TOOLS, ["Ankersund", "Bellmoor", "ProbeResultOne", "ProbeResultTwo"]):
        shape = replace(shape, one_call=True)
    return shape


def written_call(shape: TemplateShape, render: Rendered) -> str:
    """The text that the template adds to a prompt for a call of the agent's."""
    asked = render(shape.fit((_SYSTEM, _ASKED)), TOOLS)
    called = render(shape.fit((_SYSTEM, _ASKED, Message("assistant", "", (_CALL,)), _RESULT)), TOOLS)
    at = next(
        (index for index, (one, other) in enumerate(zip(asked, called, strict=False)) if one != other),
        min(len(asked), len(called)),
    )
    end = called.find("ProbeResultOne")
    return called[min(at, called.find("Ankersund")) : end if end > 0 else None]


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
