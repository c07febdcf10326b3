"""Items that a client adds: as items of the conversation, and as messages for the language model. Pure."""

from __future__ import annotations

from voiceagent.conversation.history import Message, ToolCall
from voiceagent.realtime.client_events import NewApproval, NewFunctionCall, NewItem, NewMessage
from voiceagent.realtime.conversation import NewId
from voiceagent.realtime.items import (
    ApprovalItem,
    FunctionCallItem,
    FunctionOutputItem,
    InputAudio,
    InputText,
    Item,
    McpItem,
    MessageItem,
    OutputAudio,
    OutputText,
    ToolCallItem,
)


def joined(texts: tuple[str, ...]) -> str:
    """The text of a message's parts."""
    return " ".join(part.strip() for part in texts).strip()


def new_item(given: NewItem, item_id: str, new_id: NewId) -> Item:
    """The item of a conversation that a client's is."""
    if isinstance(given, NewMessage):
        speech, writing = (OutputAudio, OutputText) if given.role == "assistant" else (InputAudio, InputText)
        content = tuple((speech if number in given.spoken else writing)(text) for number, text in enumerate(given.texts))
        return MessageItem(id=item_id, role=given.role, status="completed", content=content)
    if isinstance(given, NewApproval):
        return ApprovalItem(item_id, given.request_id, given.is_given, given.reason or None)
    if isinstance(given, NewFunctionCall):
        call_id = given.call_id or new_id("call")
        return FunctionCallItem(id=item_id, call_id=call_id, name=given.name, arguments=given.arguments)
    return FunctionOutputItem(id=item_id, call_id=given.call_id, output=given.output)


def new_message(given: NewItem) -> Message:
    """The message that a client's item is."""
    return as_message(new_item(given, "", lambda prefix: prefix))


def as_message(item: Item) -> Message:
    """The message that an item is. Raises ValueError for an item that the language model does not read."""
    if isinstance(item, McpItem):
        raise ValueError("the item is about MCP, and no message")
    if isinstance(item, MessageItem):
        return Message(item.role, text_of(item))
    if isinstance(item, FunctionOutputItem):
        return Message("tool", item.output, tool_call_id=item.call_id)
    call_id = item.id if isinstance(item, ToolCallItem) else item.call_id
    return Message("assistant", "", (ToolCall(call_id, item.name, item.arguments),))


def text_of(item: Item) -> str:
    """The words of an item."""
    if not isinstance(item, MessageItem):
        return ""
    words = (getattr(part, "text", None) or getattr(part, "transcript", None) or "" for part in item.content)
    return " ".join(" ".join(words).split())
