"""The settings of one response: those of the session, with what the client asked for in their place."""

from __future__ import annotations

from msgspec import Struct

from voiceagent.conversation.rules import ANY_TOOL, ReplyRules
from voiceagent.json_types import JsonObject
from voiceagent.realtime.client_events import NewItem
from voiceagent.realtime.settings import ClientSettings, ToolChoice


class ItemReference(Struct, frozen=True):
    """An item of the conversation, as part of a response's input."""

    id: str


class ResponseSettings(Struct, frozen=True):
    """The wishes of a client for a response."""

    instructions: str | None = None
    """None: the session's."""
    text_only: bool = False
    max_tokens: int | None = None
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool | None = None
    tools: tuple[JsonObject, ...] | None = None
    """The client's tools of this response. None: the session's."""
    is_detached: bool = False
    """True when the response is no part of the conversation."""
    input: tuple[NewItem | ItemReference, ...] | None = None
    """The items that the response answers in place of the conversation. None: the conversation."""
    metadata: JsonObject | None = None


def reply_rules(
    session: ClientSettings, wanted: ResponseSettings | None = None, names: tuple[str, ...] | None = None
) -> ReplyRules:
    """The turn engine's rules for replies, or for one. `names` are the client's tools of the response, where they are not the
    session's."""
    own = session if wanted is None else wanted
    choice = own.tool_choice
    return ReplyRules(
        own.text_only,
        own.max_tokens or 0,
        choice != "none",
        choice["name"] if isinstance(choice, dict) else ANY_TOOL if choice == "required" else "",
        own.parallel_tool_calls is False,
        names,
    )
