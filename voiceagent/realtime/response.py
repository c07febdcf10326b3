"""One response of the protocol: created; then a message and tool calls, each added, filled and done; then done, once. It has at
most one message, whose text arrives clause by clause. When the reply was cut, the message keeps what was heard. A response that
asks the client to run a tool is done before the reply is (`hand_over`), perhaps before its words were heard."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy as copy_of
from dataclasses import dataclass
from typing import Literal, TypedDict

import msgspec

from voiceagent.json_types import JsonObject
from voiceagent.realtime.conversation import ItemList
from voiceagent.realtime.items import (
    OUR_LABEL,
    ApprovalRequestItem,
    FunctionCallItem,
    Item,
    MessageItem,
    OutputAudio,
    OutputText,
    ToolCallItem,
    ToolFailure,
)
from voiceagent.realtime.server_events import (
    AudioPart,
    ContentPartAdded,
    ContentPartDone,
    FunctionArgumentsDelta,
    FunctionArgumentsDone,
    Heard,
    ItemTruncated,
    OutputAudioDelta,
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
    ResponseUsage,
    ServerEvent,
    TextPart,
    ToolArgumentsDelta,
    ToolArgumentsDone,
    ToolCompleted,
    ToolFailed,
    ToolProgress,
    TranscriptDelta,
    TranscriptDone,
    WrittenDelta,
    WrittenDone,
)

MAX_TOOL_CALLS = 64

Status = Literal["in_progress", "completed", "cancelled", "failed", "incomplete"]
_FINAL: Mapping[str, Status] = {"completed": "completed", "failed": "failed", "incomplete": "incomplete"}
"""The final status by that of the reply. Any other is cancelled."""


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
    call_id: str
    item: FunctionCallItem | ApprovalRequestItem
    told: bool = False
    """True once its end was sent."""

    def progress(
        self, output: str | None, ok: bool | None, status: Literal["running", "completed", "failed", "abandoned"]
    ) -> ToolProgress:
        item = self.item
        return ToolProgress(
            item_id=item.id,
            call_id=self.call_id,
            name=item.name,
            arguments=item.arguments,
            output=output,
            ok=ok,
            status=status,
        )


class _Place(TypedDict):
    response_id: str
    item_id: str
    output_index: int


class _ToolPlace(TypedDict):
    item_id: str
    output_index: int


class ResponseShape(msgspec.Struct, frozen=True):
    """The form of a reply's responses."""

    text_only: bool = False
    is_detached: bool = False
    """True when it is no part of the conversation."""
    metadata: JsonObject | None = None
    max_tokens: int | None = None
    by_events: bool = False
    """True when its audio goes by events, and the client plays it by itself."""


class OpenResponse:
    """The client's view of a response. `response_id` and `item_id` stay the same for its whole life."""

    def __init__(self, conversation: ItemList, conversation_id: str, shape: ResponseShape) -> None:
        self.usage: ResponseUsage | None = None
        self.truncated_ms: int | None = None
        """The audio that the client says it has played."""
        self._shape = shape
        self._sent_ms = 0.0
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
        self._played_ms = 0.0
        self._playout_over = False
        self._tools: dict[str, _ToolCall] = {}
        self._asked: dict[str, _FunctionCall] = {}
        self._done = False

    def copied(self, conversation: ItemList) -> OpenResponse:
        """A copy, whose items are those of this copied conversation."""
        copy = copy_of(self)
        copy._conversation, copy._output = conversation, list(self._output)
        copy._tools = {call_id: copy_of(tool) for call_id, tool in self._tools.items()}
        copy._asked = {call_id: copy_of(asked) for call_id, asked in self._asked.items()}
        return copy

    @property
    def words(self) -> list[str]:
        """The words of its message."""
        return self._text.split()

    @property
    def heard_words(self) -> str:
        """The words of its message that were heard so far."""
        return self._heard

    @property
    def asks_client(self) -> bool:
        """True when nothing is left to do except the client's tools."""
        return bool(self._asked) and not any(tool.running for tool in self._tools.values())

    @property
    def audio_ms(self) -> float:
        """The length of its message's audio that was sent."""
        return self._sent_ms if self._shape.by_events else self._played_ms

    @property
    def is_open(self) -> bool:
        """True while the client was not told that it is done."""
        return not self._done

    @property
    def has_speech(self) -> bool:
        """True when its message is spoken."""
        return self._message_index is not None and not self._shape.text_only

    @property
    def is_sent(self) -> bool:
        """True when all audio of its message so far was sent to the client."""
        return not self._shape.by_events or not self.has_speech or len(self._heard.split()) >= len(self.words)

    def has(self, item_id: str) -> bool:
        """True when the item is its message."""
        return self._message_index is not None and item_id == self.item_id

    @property
    def item_ids(self) -> tuple[str, ...]:
        """Its items so far."""
        return tuple(item.id for item in self._output)

    def tool_call_of(self, item_id: str) -> str:
        """The language model's id of the tool call that an item is; empty if it is none."""
        calls: list[_ToolCall | _FunctionCall] = [*self._tools.values(), *self._asked.values()]
        return next((call.call_id for call in calls if call.item.id == item_id), "")

    def audio(self, delta: str, duration_ms: float) -> list[ServerEvent]:
        """More audio of its message, in base64."""
        if self._done:
            return []
        index, events = self._open_message()
        self._sent_ms += duration_ms
        return [*events, OutputAudioDelta(**self._inside(index), delta=delta)]

    def corrected(self, heard: str, audio_end_ms: int) -> list[ServerEvent]:
        """The client has played less of the message, which is over, than was taken for heard."""
        content = (OutputAudio(transcript=heard),)
        self._conversation.replace(MessageItem(id=self.item_id, role="assistant", status="incomplete", content=content))
        return [ItemTruncated(item_id=self.item_id, audio_end_ms=audio_end_ms), Heard(item_id=self.item_id, heard=heard)]

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
        inside = self._inside(index)
        events.append(WrittenDelta(**inside, delta=delta) if self._shape.text_only else TranscriptDelta(**inside, delta=delta))
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
        self._played_until(at_ms)
        events += [*self._start_playing(at_ms), Heard(item_id=self.item_id, heard=heard)]
        if self.handed_over and len(heard.split()) >= len(self.words):
            events += self._stop_playing(cleared=False)
        return events

    def tool_started(
        self, call_id: str, name: str, arguments: str, label: str = OUR_LABEL, request_id: str | None = None
    ) -> list[ServerEvent]:
        """The server runs a tool for the reply: its own, or one of a client's MCP server of this label, perhaps after the client
        has answered the request for an approval."""
        if self._done or call_id in self._tools or len(self._tools) >= MAX_TOOL_CALLS:
            return []
        item = ToolCallItem(
            id=self._conversation.new_id("item"),
            name=name,
            arguments=arguments,
            server_label=label,
            approval_request_id=request_id,
        )
        tool = _ToolCall(call_id, item, len(self._output))
        self._tools[call_id] = tool
        self._output.append(item)
        where: _ToolPlace = {"item_id": item.id, "output_index": tool.output_index}
        return [
            OutputItemAdded(response_id=self.response_id, output_index=tool.output_index, item=item),
            *self._joined(item),
            ToolArgumentsDelta(**where, response_id=self.response_id, delta=arguments),
            ToolArgumentsDone(**where, response_id=self.response_id, arguments=arguments),
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
        self._asked[call_id] = asked = _FunctionCall(call_id, item)
        where: _ToolPlace = {"item_id": item.id, "output_index": index}
        return [
            OutputItemAdded(response_id=self.response_id, output_index=index, item=begun),
            *self._joined(begun),
            FunctionArgumentsDelta(**where, response_id=self.response_id, call_id=call_id, delta=arguments),
            FunctionArgumentsDone(**where, response_id=self.response_id, call_id=call_id, name=name, arguments=arguments),
            *self._completed(item),
            OutputItemDone(response_id=self.response_id, output_index=index, item=item),
            asked.progress(None, None, "running"),
        ]

    def approval_asked(self, call_id: str, item: ApprovalRequestItem) -> list[ServerEvent]:
        """The client is asked whether a tool may run."""
        if self._done or call_id in self._asked or len(self._asked) >= MAX_TOOL_CALLS:
            return []
        index = len(self._output)
        self._output.append(item)
        self._asked[call_id] = _FunctionCall(call_id, item)
        return [
            OutputItemAdded(response_id=self.response_id, output_index=index, item=item),
            *self._joined(item),
            *self._completed(item),
            OutputItemDone(response_id=self.response_id, output_index=index, item=item),
        ]

    def approved(self, call_id: str) -> None:
        """The client lets the tool run; what comes of it belongs to another item."""
        if call_id in self._asked:
            self._asked[call_id].told = True

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
        ended = msgspec.structs.replace(tool.item, output=output, error=error, status="completed" if ok else "incomplete")
        events = self._close_tool(tool, ended, failed=not ok)
        return [*events, self._progress(tool, output, ok, "completed" if ok else "failed")]

    def hand_over(self, at_ms: float) -> list[ServerEvent]:
        """Everything is said and asked. The client's answer belongs to the next response."""
        self._done = self.handed_over = True
        events = self._close_message("completed", self._heard, "", at_ms)
        events.append(ResponseDone(response=self._response("completed")))
        if self._heard and len(self._heard.split()) >= len(self.words):
            events += self._stop_playing(cleared=False)
        return events

    def ended(self, status: str, heard: str, unheard: str, at_ms: float, failure: str = "") -> list[ServerEvent]:
        """The reply is over. `status` is one of `actions.ReplyEnded`, and `failure` is the code of what failed; a second end says
        nothing."""
        if self.handed_over:
            return self._ended_late(status, heard, unheard, at_ms)
        if self._done:
            return []
        self._played_until(at_ms)
        events: list[ServerEvent] = []
        if not self._text and (heard or unheard):
            events += self.text(" ".join(filter(None, (heard, unheard))))
        if heard:
            events += self._start_playing(at_ms)
        final = _FINAL.get(status, "cancelled")
        if final not in ("completed", "incomplete"):
            events += self._stop_playing(cleared=True)
        events += self._abandon()
        for tool in self._tools.values():
            if tool.running:
                error = ToolFailure(message="The reply ended before the tool did.")
                ended = msgspec.structs.replace(tool.item, error=error, status="incomplete")
                events += self._close_tool(tool, ended, failed=True)
                events.append(self._progress(tool, None, None, "abandoned"))
        events += self._close_message(final, heard, unheard, at_ms)
        self._done = True
        events.append(ResponseDone(response=self._response(final, _details(status, final, failure))))
        return [*events, *self._stop_playing(cleared=False)]

    def _ended_late(self, status: str, heard: str, unheard: str, at_ms: float) -> list[ServerEvent]:
        """The reply is over, and the client was told before that this response is. Its audio ends, complete or cut."""
        self._played_until(at_ms)
        events = [*self.heard(heard, at_ms), *self._abandon()]
        if status != "completed" and unheard and self.has_speech:
            events += self._stop_playing(cleared=True)
            events.append(Heard(item_id=self.item_id, heard=heard, unheard=unheard))
            events.append(self._truncated(at_ms))
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
        return [] if self._shape.by_events else [stopped(response_id=self.response_id)]

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
            *self._joined(item),
            ContentPartAdded(**self._inside(index), part=self._part("")),
        ]

    def _played_until(self, at_ms: float) -> None:
        if self._playing_since_ms is not None:
            self._played_ms = max(self._played_ms, at_ms - self._playing_since_ms)

    def _start_playing(self, at_ms: float) -> list[ServerEvent]:
        if self._playing_since_ms is not None or self._shape.text_only:
            return []
        self._playing_since_ms = at_ms
        return [] if self._shape.by_events else [PlayoutStarted(response_id=self.response_id)]

    def _close_message(self, final: Status, heard: str, unheard: str, at_ms: float) -> list[ServerEvent]:
        if self._message_index is None:
            return []
        status: Literal["completed", "incomplete"] = "completed" if final == "completed" else "incomplete"
        kept = self._text if self.handed_over else heard
        spoken = not self._shape.text_only
        content = OutputAudio(transcript=kept) if spoken else OutputText(text=kept)
        item = MessageItem(id=self.item_id, role="assistant", status=status, content=(content,))
        self._output[self._message_index] = item
        inside = self._inside(self._message_index)
        events: list[ServerEvent] = [Heard(item_id=self.item_id, heard=heard, unheard=unheard)]
        if spoken:
            events += [OutputAudioDone(**inside), TranscriptDone(**inside, transcript=self._text)]
        else:
            events.append(WrittenDone(**inside, text=self._text))
        events += [
            ContentPartDone(**inside, part=self._part(self._text)),
            *self._completed(item),
            OutputItemDone(response_id=self.response_id, output_index=self._message_index, item=item),
        ]
        if final not in ("completed", "incomplete") and spoken:
            events.append(self._truncated(at_ms))
        return events

    def _truncated(self, at_ms: float) -> ItemTruncated:
        played_ms = 0.0 if self._playing_since_ms is None else max(0.0, at_ms - self._playing_since_ms)
        return ItemTruncated(
            item_id=self.item_id, audio_end_ms=round(played_ms) if self.truncated_ms is None else self.truncated_ms
        )

    def _part(self, text: str) -> AudioPart | TextPart:
        return TextPart(text=text) if self._shape.text_only else AudioPart(transcript=text)

    def _joined(self, item: Item) -> list[ServerEvent]:
        """The item's event in the conversation, if it is a part of that."""
        return [] if self._shape.is_detached else [self._conversation.add(item)]

    def _completed(self, item: Item) -> list[ServerEvent]:
        return [] if self._shape.is_detached else [self._conversation.done(item)]

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
            *self._completed(item),
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
            conversation_id=None if self._shape.is_detached else self._conversation_id,
            output_modalities=("text",) if self._shape.text_only else ("audio",),
            usage=self.usage if status != "in_progress" else None,
            metadata=self._shape.metadata,
            max_output_tokens="inf" if self._shape.max_tokens is None else self._shape.max_tokens,
        )


def _details(status: str, final: Status, failure: str) -> ResponseStatusDetails | None:
    if final == "completed":
        return None
    if final == "incomplete":
        return ResponseStatusDetails(type="incomplete", reason="max_output_tokens")
    if final == "failed":
        return ResponseStatusDetails(type="failed", error={"type": "server_error", "code": failure or "reply_failed"})
    reason: Literal["turn_detected", "client_cancelled"] = "turn_detected" if status == "interrupted" else "client_cancelled"
    return ResponseStatusDetails(type="cancelled", reason=reason)
