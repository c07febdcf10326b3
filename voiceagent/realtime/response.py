"""One reply as protocol events: created → a message and tool calls, each added, filled and done → done, once. A reply has
at most one message; its text arrives clause by clause, and when the reply was cut the message keeps what was heard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

import msgspec

from voiceagent.realtime.conversation import Conversation
from voiceagent.realtime.items import Item, MessageItem, OutputAudio, ToolCallItem, ToolError
from voiceagent.realtime.server_events import (
    AudioPart,
    ContentPartAdded,
    ContentPartDone,
    Heard,
    ItemTruncated,
    OutputAudioDone,
    OutputItemAdded,
    OutputItemDone,
    PlayoutCleared,
    PlayoutFinished,
    PlayoutStarted,
    Response,
    ResponseCreated,
    ResponseDone,
    ResponseStatusDetails,
    ServerEvent,
    ToolArgumentsDelta,
    ToolArgumentsDone,
    ToolCompleted,
    ToolFailed,
    ToolInProgress,
    ToolProgress,
    TranscriptDelta,
    TranscriptDone,
)

MAX_TOOL_CALLS = 64

Status = Literal["in_progress", "completed", "cancelled", "failed"]


@dataclass(slots=True)
class _ToolCall:
    call_id: str
    item: ToolCallItem
    output_index: int
    running: bool = True
    told: bool = False
    """Its result was sent."""


class _Place(TypedDict):
    response_id: str
    item_id: str
    output_index: int


class _ToolPlace(TypedDict):
    item_id: str
    output_index: int


class OpenResponse:
    """What the client has been told of a reply. `response_id` and `item_id` stay the same for its whole life."""

    def __init__(self, conversation: Conversation, conversation_id: str) -> None:
        self.response_id = conversation.new_id("resp")
        self.item_id = conversation.new_id("item")
        self.cancel_requested = False
        self._conversation = conversation
        self._conversation_id = conversation_id
        self._output: list[Item] = []
        self._message_index: int | None = None
        self._text = ""
        self._playing_since_ms: float | None = None
        self._tools: dict[str, _ToolCall] = {}
        self._done = False

    def created(self) -> list[ServerEvent]:
        """The reply began."""
        return [ResponseCreated(response=self._response("in_progress"))]

    def text(self, clause: str) -> list[ServerEvent]:
        """A clause was handed to synthesis."""
        if self._done or not clause:
            return []
        index, events = self._open_message()
        delta = clause if not self._text else " " + clause.lstrip()
        self._text += delta
        events.append(TranscriptDelta(**self._inside(index), delta=delta))
        return events

    def heard(self, heard: str, at_ms: float) -> list[ServerEvent]:
        """More of the reply was heard."""
        if self._done or not heard:
            return []
        _, events = self._open_message()
        return [*events, *self._start_playing(at_ms), Heard(item_id=self.item_id, heard=heard)]

    def tool_started(self, call_id: str, name: str, arguments: str) -> list[ServerEvent]:
        """The server runs a tool for the reply."""
        if self._done or call_id in self._tools or len(self._tools) >= MAX_TOOL_CALLS:
            return []
        item = ToolCallItem(id=self._conversation.new_id("item"), name=name, arguments=arguments)
        tool = _ToolCall(call_id, item, len(self._output))
        self._tools[call_id] = tool
        self._output.append(item)
        where: _ToolPlace = {"item_id": item.id, "output_index": tool.output_index}
        return [
            OutputItemAdded(response_id=self.response_id, output_index=tool.output_index, item=item),
            self._conversation.add(item),
            ToolArgumentsDelta(**where, response_id=self.response_id, delta=arguments),
            ToolArgumentsDone(**where, response_id=self.response_id, arguments=arguments),
            ToolInProgress(**where),
            self._progress(tool, None, None, "running"),
        ]

    def tool_ended(self, call_id: str, output: str, *, ok: bool) -> list[ServerEvent]:
        """The tool ended, perhaps after its reply did."""
        tool = self._tools.get(call_id)
        if tool is None or tool.told:
            return []
        tool.told = True
        error = None if ok else ToolError(message=output)
        events = self._close_tool(tool, msgspec.structs.replace(tool.item, output=output, error=error), failed=not ok)
        return [*events, self._progress(tool, output, ok, "completed" if ok else "failed")]

    def ended(self, status: str, heard: str, unheard: str, at_ms: float) -> list[ServerEvent]:
        """The reply is over. `status` is one of `actions.ReplyEnded`; a second end says nothing."""
        if self._done:
            return []
        events: list[ServerEvent] = []
        if not self._text and (heard or unheard):
            events += self.text(" ".join(filter(None, (heard, unheard))))
        if heard:
            events += self._start_playing(at_ms)
        final: Status = "completed" if status == "completed" else "failed" if status == "failed" else "cancelled"
        if final != "completed" and self._playing_since_ms is not None:
            events.append(PlayoutCleared(response_id=self.response_id))
        for tool in self._tools.values():
            if tool.running:
                error = ToolError(message="The reply ended before the tool did.")
                events += self._close_tool(tool, msgspec.structs.replace(tool.item, error=error), failed=True)
                events.append(self._progress(tool, None, None, "abandoned"))
        events += self._close_message(final, heard, unheard, at_ms)
        self._done = True
        events.append(ResponseDone(response=self._response(final, _details(status, final))))
        if final == "completed" and self._playing_since_ms is not None:
            events.append(PlayoutFinished(response_id=self.response_id))
        return events

    def _inside(self, index: int) -> _Place:
        return {"response_id": self.response_id, "item_id": self.item_id, "output_index": index}

    def _open_message(self) -> tuple[int, list[ServerEvent]]:
        if self._message_index is not None:
            return self._message_index, []
        index = self._message_index = len(self._output)
        item = MessageItem(id=self.item_id, role="assistant", status="in_progress", content=())
        self._output.append(item)
        return index, [
            OutputItemAdded(response_id=self.response_id, output_index=index, item=item),
            self._conversation.add(item),
            ContentPartAdded(**self._inside(index), part=AudioPart(transcript="")),
        ]

    def _start_playing(self, at_ms: float) -> list[ServerEvent]:
        if self._playing_since_ms is not None:
            return []
        self._playing_since_ms = at_ms
        return [PlayoutStarted(response_id=self.response_id)]

    def _close_message(self, final: Status, heard: str, unheard: str, at_ms: float) -> list[ServerEvent]:
        if self._message_index is None:
            return []
        whole = final == "completed"
        kept = self._text if whole else heard
        status: Literal["completed", "incomplete"] = "completed" if whole else "incomplete"
        item = MessageItem(id=self.item_id, role="assistant", status=status, content=(OutputAudio(transcript=kept),))
        self._output[self._message_index] = item
        inside = self._inside(self._message_index)
        events: list[ServerEvent] = [
            Heard(item_id=self.item_id, heard=heard, unheard=unheard),
            OutputAudioDone(**inside),
            TranscriptDone(**inside, transcript=self._text),
            ContentPartDone(**inside, part=AudioPart(transcript=self._text)),
            self._conversation.done(item),
            OutputItemDone(response_id=self.response_id, output_index=self._message_index, item=item),
        ]
        if not whole:
            played_ms = 0.0 if self._playing_since_ms is None else max(0.0, at_ms - self._playing_since_ms)
            events.append(ItemTruncated(item_id=self.item_id, audio_end_ms=round(played_ms)))
        return events

    def _close_tool(self, tool: _ToolCall, item: ToolCallItem, *, failed: bool) -> list[ServerEvent]:
        tool.item = item
        if not tool.running:
            self._conversation.replace(item)
            return []
        tool.running = False
        self._output[tool.output_index] = item
        ended = ToolFailed if failed else ToolCompleted
        return [
            ended(item_id=item.id, output_index=tool.output_index),
            self._conversation.done(item),
            OutputItemDone(response_id=self.response_id, output_index=tool.output_index, item=item),
        ]

    def _progress(
        self, tool: _ToolCall, output: str | None, ok: bool | None, status: Literal["running", "completed", "failed", "abandoned"]
    ) -> ToolProgress:
        item = tool.item
        return ToolProgress(
            item_id=item.id,
            call_id=tool.call_id,
            name=item.name,
            arguments=item.arguments,
            output=output,
            ok=ok,
            status=status,
        )

    def _response(self, status: Status, details: ResponseStatusDetails | None = None) -> Response:
        return Response(
            id=self.response_id,
            status=status,
            output=tuple(self._output),
            status_details=details,
            conversation_id=self._conversation_id,
        )


def _details(status: str, final: Status) -> ResponseStatusDetails | None:
    if final == "completed":
        return None
    if final == "failed":
        return ResponseStatusDetails(type="failed", error={"type": "server_error", "code": "reply_failed"})
    reason: Literal["turn_detected", "client_cancelled"] = "turn_detected" if status == "interrupted" else "client_cancelled"
    return ResponseStatusDetails(type="cancelled", reason=reason)
