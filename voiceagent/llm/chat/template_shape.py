"""The shape in which a chat template takes messages. It is found once, by rendering small conversations. Templates refuse
different things: a role `system`, an agent that speaks first, several calls at once. Worse, some leave things out without an
error."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.errors import EngineError
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
    """Changes that messages need for a template."""

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
