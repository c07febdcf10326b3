"""The items of a conversation: messages and tool calls, as a client sees them."""

from __future__ import annotations

from typing import Literal, cast, get_args

import msgspec

from voiceagent.json_types import JsonObject

OUR_LABEL = "voiceagent"
"""The label of this server's own tools."""
ItemStatus = Literal["in_progress", "completed", "incomplete"]


class InputText(msgspec.Struct, frozen=True):
    """Text that the client wrote: typed by the caller, or for the agent."""

    text: str


class InputAudio(msgspec.Struct, frozen=True):
    """Speech of the caller; `transcript` is None until the final decode."""

    transcript: str | None = None


class OutputAudio(msgspec.Struct, frozen=True):
    """Speech of the agent, as text."""

    transcript: str


class OutputText(msgspec.Struct, frozen=True):
    """Text of the agent that is not spoken."""

    text: str


class MessageItem(msgspec.Struct, frozen=True):
    """Something the caller or the agent said or typed, or a line for the agent."""

    id: str
    role: Literal["user", "assistant", "system"]
    status: ItemStatus
    content: tuple[InputText | InputAudio | OutputAudio | OutputText, ...]
    object: str = "realtime.item"


class ToolFailure(msgspec.Struct, frozen=True):
    """The reason why a tool failed."""

    message: str


class ToolCallItem(msgspec.Struct, frozen=True):
    """A tool that the SERVER runs. The protocol's name for that is an MCP call. A `function_call` item would ask the client to
    run the tool, and ordinary clients do so as soon as they see one."""

    id: str
    name: str
    arguments: str
    """A JSON object as text."""
    output: str | None = None
    error: ToolFailure | None = None
    status: ItemStatus = "in_progress"
    server_label: str = OUR_LABEL
    approval_request_id: str | None = None


class FunctionCallItem(msgspec.Struct, frozen=True):
    """A tool that the CLIENT must run: one that it offered itself. It answers with a `function_call_output`."""

    id: str
    call_id: str
    name: str
    arguments: str
    """A JSON object as text."""
    status: ItemStatus = "completed"
    object: str = "realtime.item"


class FunctionOutputItem(msgspec.Struct, frozen=True):
    """A tool's result that the client sent."""

    id: str
    call_id: str
    output: str
    status: ItemStatus = "completed"
    object: str = "realtime.item"


class ListedToolsItem(msgspec.Struct, frozen=True):
    """The tools of an MCP server that the client named; none until they were read."""

    id: str
    server_label: str
    tools: tuple[JsonObject, ...] = ()


class ApprovalRequestItem(msgspec.Struct, frozen=True):
    """The question whether a tool of the client's MCP server may run."""

    id: str
    server_label: str
    name: str
    arguments: str
    """A JSON object as text."""


class ApprovalItem(msgspec.Struct, frozen=True):
    """The client's answer to that question."""

    id: str
    approval_request_id: str
    approve: bool
    reason: str | None = None


McpItem = ListedToolsItem | ApprovalRequestItem | ApprovalItem
"""Items that are no part of what the language model reads."""
Item = MessageItem | ToolCallItem | FunctionCallItem | FunctionOutputItem | McpItem


def packed(item: Item) -> JsonObject:
    """The item as JSON that `unpacked` reads."""
    fields: JsonObject = {"is": type(item).__name__, **msgspec.to_builtins(item)}
    if isinstance(item, MessageItem):
        fields["content"] = [{"is": type(part).__name__, **msgspec.to_builtins(part)} for part in item.content]
    return fields


def unpacked(given: JsonObject) -> Item:
    """The item that was packed."""
    fields = {name: value for name, value in given.items() if name != "is"}
    if given["is"] == MessageItem.__name__:
        parts = cast(list[JsonObject], given["content"])
        fields["content"] = tuple(msgspec.convert(part, _KINDS[str(part["is"])]) for part in parts)
        return MessageItem(**fields)
    item: Item = msgspec.convert(fields, _KINDS[str(given["is"])])
    return item


_KINDS = {kind.__name__: kind for kind in (*get_args(Item), InputText, InputAudio, OutputAudio, OutputText)}
