"""One response of the protocol: created; then a message and tool calls, each added, filled and done; then done, once. It has at
most one message, whose text arrives clause by clause. When the reply was cut, the message keeps what was heard. A response that
asks the client to run a tool is done before the reply is (`hand_over`), perhaps before its words were heard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypedDict

import msgspec

from voiceagent.realtime.conversation import ItemList
from voiceagent.realtime.items import FunctionCallItem, Item, MessageItem, OutputAudio, ToolCallItem, ToolFailure
from voiceagent.realtime.server_events import (
    AudioPart,
    ContentPartAdded,
    ContentPartDone,
    FunctionArgumentsDelta,
    FunctionArgumentsDone,
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
    """True once its result was sent."""


@dataclass(slots=True)
class _FunctionCall:
    item: FunctionCallItem
    told: bool = False
    """True once its end was sent."""

    def progress(
        self, output: str | None, ok: bool | None, status: Literal["running", "completed", "failed", "abandoned"]
    ) -> ToolProgress:
        item = self.item
        return ToolProgress(
            item_id=item.id, call_id=item.call_id, name=item.name, arguments=item.arguments, output=output, ok=ok, status=status
        )


class _Place(TypedDict):
    response_id: str
    item_id: str
    output_index: int


class _ToolPlace(TypedDict):
    item_id: str
    output_index: int


class OpenResponse:
    """The client's view of a response. `response_id` and `item_id` stay the same for its whole life."""

    def __init__(self, conversation: ItemList, conversation_id: str) -> None:
        self.response_id = conversation.new_id("resp")
        self.item_id = conversation.new_id("item")
        self.handed_over = False
        """True when it is done for the client, which runs a tool, while the reply goes on."""
        self._conversation = conversation
        self._conversation_id = conversation_id
        self._output: list[Item] = []
        self._message_index: int | None = None
        self._text = ""
        self._heard = ""
        self._playing_since_ms: float | None = None
        self._playout_over = False
        self._tools: dict[str, _ToolCall] = {}
        self._asked: dict[str, _FunctionCall] = {}
        self._done = False

    @property
    def words(self) -> list[str]:
        """The words of its message."""
        return self._text.split()

    @property
    def asks_client(self) -> bool:
        """True when nothing is left to do except the client's tools."""
        return bool(self._asked) and not any(tool.running for tool in self._tools.values())

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

    def audible(self, at_ms: float) -> list[ServerEvent]:
        """The first frame of it was sent."""
        return [] if self._done else self._start_playing(at_ms)

    def heard(self, heard: str, at_ms: float) -> list[ServerEvent]:
        """More of the message was heard."""
        if not heard or heard == self._heard or (self._done and not self.handed_over):
            return []
        events: list[ServerEvent] = [] if self._done else self._open_message()[1]
        self._heard = heard
        events += [*self._start_playing(at_ms), Heard(item_id=self.item_id, heard=heard)]
        if self.handed_over and len(heard.split()) >= len(self.words):
            events += self._stop_playing(cleared=False)
        return events

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

    def function_called(self, call_id: str, name: str, arguments: str) -> list[ServerEvent]:
        """The client is asked to run a tool of its own for the reply."""
        if self._done or call_id in self._asked or len(self._asked) >= MAX_TOOL_CALLS:
            return []
        item = FunctionCallItem(id=self._conversation.new_id("item"), call_id=call_id, name=name, arguments=arguments)
        index = len(self._output)
        begun = msgspec.structs.replace(item, arguments="", status="in_progress")
        self._output.append(item)
        self._asked[call_id] = asked = _FunctionCall(item)
        where: _ToolPlace = {"item_id": item.id, "output_index": index}
        return [
            OutputItemAdded(response_id=self.response_id, output_index=index, item=begun),
            self._conversation.add(begun),
            FunctionArgumentsDelta(**where, response_id=self.response_id, call_id=call_id, delta=arguments),
            FunctionArgumentsDone(**where, response_id=self.response_id, call_id=call_id, name=name, arguments=arguments),
            self._conversation.done(item),
            OutputItemDone(response_id=self.response_id, output_index=index, item=item),
            asked.progress(None, None, "running"),
        ]

    def tool_ended(self, call_id: str, output: str, *, ok: bool) -> list[ServerEvent]:
        """The tool ended, perhaps after its reply."""
        asked = self._asked.get(call_id)
        if asked is not None and not asked.told:
            asked.told = True
            return [asked.progress(output, ok, "completed" if ok else "failed")]
        tool = self._tools.get(call_id)
        if tool is None or tool.told:
            return []
        tool.told = True
        error = None if ok else ToolFailure(message=output)
        events = self._close_tool(tool, msgspec.structs.replace(tool.item, output=output, error=error), failed=not ok)
        return [*events, self._progress(tool, output, ok, "completed" if ok else "failed")]

    def hand_over(self, at_ms: float) -> list[ServerEvent]:
        """Everything is said and asked. The client's answer belongs to the next response."""
        self._done = self.handed_over = True
        events = self._close_message("completed", self._heard, "", at_ms)
        events.append(ResponseDone(response=self._response("completed")))
        if self._heard and len(self._heard.split()) >= len(self.words):
            events += self._stop_playing(cleared=False)
        return events

    def ended(self, status: str, heard: str, unheard: str, at_ms: float) -> list[ServerEvent]:
        """The reply is over. `status` is one of `actions.ReplyEnded`; a second end says nothing."""
        if self.handed_over:
            return self._ended_late(status, heard, unheard, at_ms)
        if self._done:
            return []
        events: list[ServerEvent] = []
        if not self._text and (heard or unheard):
            events += self.text(" ".join(filter(None, (heard, unheard))))
        if heard:
            events += self._start_playing(at_ms)
        final: Status = "completed" if status == "completed" else "failed" if status == "failed" else "cancelled"
        if final != "completed":
            events += self._stop_playing(cleared=True)
        events += self._abandon()
        for tool in self._tools.values():
            if tool.running:
                error = ToolFailure(message="The reply ended before the tool did.")
                events += self._close_tool(tool, msgspec.structs.replace(tool.item, error=error), failed=True)
                events.append(self._progress(tool, None, None, "abandoned"))
        events += self._close_message(final, heard, unheard, at_ms)
        self._done = True
        events.append(ResponseDone(response=self._response(final, _details(status, final))))
        return [*events, *self._stop_playing(cleared=False)]

    def _ended_late(self, status: str, heard: str, unheard: str, at_ms: float) -> list[ServerEvent]:
        """The reply is over, and the client was told before that this response is. Its audio ends, complete or cut."""
        events = [*self.heard(heard, at_ms), *self._abandon()]
        if status != "completed" and unheard:
            played_ms = 0.0 if self._playing_since_ms is None else max(0.0, at_ms - self._playing_since_ms)
            events += self._stop_playing(cleared=True)
            events.append(Heard(item_id=self.item_id, heard=heard, unheard=unheard))
            events.append(ItemTruncated(item_id=self.item_id, audio_end_ms=round(played_ms)))
            content = (OutputAudio(transcript=heard),)
            self._conversation.replace(MessageItem(id=self.item_id, role="assistant", status="incomplete", content=content))
        events += self._stop_playing(cleared=False)
        self.handed_over = False
        return events

    def _abandon(self) -> list[ServerEvent]:
        waiting = [asked for asked in self._asked.values() if not asked.told]
        return [asked.progress(None, None, "abandoned") for asked in waiting]

    def _stop_playing(self, *, cleared: bool) -> list[ServerEvent]:
        if self._playing_since_ms is None or self._playout_over:
            return []
        self._playout_over = True
        stopped = PlayoutCleared if cleared else PlayoutFinished
        return [stopped(response_id=self.response_id)]

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
        status: Literal["completed", "incomplete"] = "completed" if whole else "incomplete"
        kept = self._text if self.handed_over else heard
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
