"""The OpenAI Realtime session of one call. It turns the turn engine's notices into protocol events, and the client's events into
requests for the turn engine. Pure: no I/O, no clock. The owner of the leg passes times in and sends what comes out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from voiceagent.conversation import actions
from voiceagent.conversation.events import Event, ReplyCancelled, ReplyRequested, TextReceived
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import Stage, TurnReport
from voiceagent.realtime import client_events as client
from voiceagent.realtime.client_events import ClientEventError
from voiceagent.realtime.conversation import ItemList, NewId, random_id
from voiceagent.realtime.fixed_settings import FixedSettings, refusal_of_fixed
from voiceagent.realtime.items import FunctionOutputItem, InputText, Item, MessageItem, ToolCallItem
from voiceagent.realtime.reply import OpenReply
from voiceagent.realtime.server_events import (
    CallEnded,
    ErrorDetails,
    ErrorEvent,
    ItemDone,
    ItemRetrieved,
    ItemTruncated,
    NotUnderstood,
    ResponseDone,
    ServerEvent,
    SessionCreated,
    SessionUpdated,
)
from voiceagent.realtime.settings import OfferTools, SessionSettings, no_client_tools
from voiceagent.realtime.turn import turn_measured
from voiceagent.realtime.utterance import ClientUtterance

REMEMBERED = 64
"""The number of utterances and replies that are remembered, so that late and repeated events are recognised."""

FOLLOW_UP_MS = 3000.0
"""The time for which a `response.create` counts as a follow-up to a tool. Clients ask for a response after each tool, whoever ran
it; the official ones wait until the response has ended, and then ask at once. The response that they ask for comes anyway."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class EventOutcome:
    """The effects of a client event."""

    events: tuple[Event, ...] = ()
    """Events for the turn engine, in order."""
    replies: tuple[JsonObject, ...] = ()
    """Events for the client, in order."""
    instructions: str | None = None
    """The agent's new instructions, when the client changed them."""
    tool_results: tuple[tuple[str, str], ...] = ()
    """The results of the client's tools, by the model's call id."""
    changes_tools: bool = False
    """True when the client offered other tools."""
    reduces_noise: bool | None = None
    """True or false when the client turned noise suppression on or off; else None."""
    was_asked: bool = False
    """True when the client has asked for a reply to its typed message already."""

    @property
    def is_work(self) -> bool:
        """True when the language model is involved."""
        return (bool(self.events) and not self.was_asked) or self.instructions is not None or self.changes_tools


class RealtimeSession:
    """The session of one call. Times are milliseconds on the call's clock."""

    def __init__(
        self,
        call_id: str,
        *,
        agent: str = "",
        instructions: str = "",
        new_id: NewId = random_id,
        tools: Sequence[JsonObject] = (),
        offer_tools: OfferTools = no_client_tools,
        fixed: Collection[str] = (),
    ) -> None:
        """`tools` are those that the client runs itself; `offer_tools` replaces them. `fixed` are settings that the client may
        not change, by their paths."""
        self._fixed = FixedSettings(fixed)
        session_id = new_id("sess")
        self.settings = SessionSettings(
            call_id, agent=agent, instructions=instructions, session_id=session_id, tools=tools, offer_tools=offer_tools
        )
        self._new_id = new_id
        self._conversation = ItemList(new_id)
        self._conversation_id = new_id("conv")
        self._utterances: OrderedDict[int, ClientUtterance] = OrderedDict()
        self._replies: OrderedDict[int, OpenReply] = OrderedDict()
        self._open: int | None = None
        self._typed = False
        self._asked: OrderedDict[str, None] = OrderedDict()
        self._follow_ups = 0
        self._follow_up_until_ms = 0.0
        self._ended = False

    def start(self, asked: JsonObject | None = None) -> list[JsonObject]:
        """The first events of the call. `asked` are changes that the client has asked for already; they must be valid."""
        refused = self.settings.update(asked) if asked else None
        events: list[ServerEvent] = [SessionCreated(session=self.settings.session)]
        if refused is not None:
            events.append(ErrorEvent(error=refused))
        return self._send(events)

    def on_notice(self, notice: actions.Notice, at_ms: float) -> list[JsonObject]:
        """Returns the client's events for a notice; none after `on_end`."""
        if self._ended:
            return []
        events = self._notice(notice, at_ms)
        for event in events:
            if isinstance(event, ItemDone) and isinstance(event.item, ToolCallItem):
                self._expect_follow_up(at_ms)
            elif isinstance(event, ResponseDone):
                self._follow_up_until_ms = at_ms + FOLLOW_UP_MS
        return self._send(events)

    def on_turn(self, report: TurnReport, limits_ms: Mapping[Stage, float], missed: Collection[Stage] = ()) -> list[JsonObject]:
        """The waterfall of a turn against its limits. A stage without a limit is never missed."""
        return [] if self._ended else self._send([turn_measured(report, limits_ms, missed)])

    def on_end(self, reason: str, at_ms: float) -> list[JsonObject]:
        """The call is over: everything open ends, then the client is told why. A second call says nothing."""
        if self._ended:
            return []
        events: list[ServerEvent] = []
        if self._open is not None:
            events += self._notice(actions.ReplyEnded(self._open, "cancelled", "", ""), at_ms)
        self._ended = True
        return self._send([*events, CallEnded(reason=reason)])

    def on_client(self, text: str, at_ms: float) -> EventOutcome:
        """Take one text message of the client. It never raises, whatever a client sends: it answers with an `error` event."""
        if self._ended:
            return EventOutcome()
        try:
            return self._client(client.decode(text), at_ms)
        except ClientEventError as error:
            details = ErrorDetails(
                type="invalid_request_error", code=error.code, message=str(error), param=error.param, event_id=error.event_id
            )
            return EventOutcome(replies=tuple(self._send([ErrorEvent(error=details)])))

    def too_many_events(self) -> list[JsonObject]:
        """The error for a client whose events are not read."""
        message = "Too many events, or too many bytes of them: this one was not read; send fewer, or the call ends."
        return self._send([ErrorEvent(error=ErrorDetails("invalid_request_error", "rate_limit_exceeded", message))])

    def _notice(self, notice: actions.Notice, at_ms: float) -> list[ServerEvent]:
        match notice:
            case actions.CallerStarted(utterance_id, onset_ms):
                return self._utterance(utterance_id, onset_ms)[1]
            case actions.CallerPartial(utterance_id, stable, unstable):
                utterance, events = self._utterance(utterance_id, at_ms)
                return events + utterance.partial(stable, unstable)
            case actions.CallerStopped(utterance_id, speech_end_ms):
                utterance, events = self._utterance(utterance_id, speech_end_ms)
                return events + utterance.stopped(speech_end_ms)
            case actions.CallerFinal(utterance_id, text):
                utterance, events = self._utterance(utterance_id, at_ms)
                return events + utterance.final(text, at_ms)
            case actions.NotUnderstood(utterance_id, times, answer):
                return [NotUnderstood(item_id=self._utterance(utterance_id, at_ms)[0].item_id, times=times, answer=answer)]
            case actions.ReplyStarted(reply_id):
                return self._reply(reply_id, at_ms)[1]
            case actions.ReplyText(reply_id, _, text):
                reply, events = self._reply(reply_id, at_ms)
                return events + reply.text(text)
            case actions.ReplyHeard(reply_id, heard):
                reply, events = self._reply(reply_id, at_ms)
                return events + reply.heard(heard, at_ms)
            case actions.ToolStarted(reply_id, call_id, name, arguments):
                reply, events = self._reply(reply_id, at_ms)
                if self.settings.is_clients_tool(name):
                    _remember(self._asked, call_id, None)
                    return events + reply.function_called(call_id, name, arguments, at_ms)
                return events + reply.tool_started(call_id, name, arguments)
            case actions.ToolEnded(reply_id, call_id, _, output, ok):
                return known.tool_ended(call_id, output, at_ms, ok=ok) if (known := self._replies.get(reply_id)) else []
            case actions.ReplyEnded(reply_id, status, heard, unheard):
                if not heard and reply_id not in self._replies:
                    return []
                reply, events = self._reply(reply_id, at_ms)
                self._open = None if self._open == reply_id else self._open
                return events + reply.ended(status, heard, unheard, at_ms)
            case actions.Failure(code, message):
                return [ErrorEvent(error=ErrorDetails(type="server_error", code=code, message=message))]
        return []

    def _client(self, event: client.ClientEvent, at_ms: float) -> EventOutcome:
        match event:
            case client.SessionUpdate():
                return self._update(event)
            case client.ItemCreate():
                return self._create(event, at_ms)
            case client.ItemRetrieve(item_id=item_id):
                return self._answer(ItemRetrieved(item=self._known(item_id, event)))
            case client.ItemTruncate(item_id=item_id, audio_end_ms=end_ms, content_index=index):
                item = self._known(item_id, event)
                if not isinstance(item, MessageItem) or item.role != "assistant":
                    raise _refused(
                        event, f"The item {item_id} is not a message of the agent; only those are truncated.", "item_id"
                    )
                return self._answer(ItemTruncated(item_id=item_id, audio_end_ms=end_ms, content_index=index))
            case client.ItemDelete():
                raise _refused(event, "What was said cannot be taken out of a call; start a new call instead.", "type")
            case client.ResponseCreate() if self._follow_ups and (self._open is not None or at_ms <= self._follow_up_until_ms):
                return self._follow_up()
            case client.ResponseCreate():
                if self._open is not None and not self._typed:
                    raise _refused(
                        event,
                        "The agent is already replying; wait for response.done, or send response.cancel first.",
                        code="conversation_already_has_active_response",
                    )
                was_asked, self._typed = self._typed, False
                return EventOutcome(events=(ReplyRequested(at_ms),), was_asked=was_asked)
            case client.ResponseCancel() | client.PlayoutClear():
                return self._cancel(event, at_ms)
            case client.AudioAppend():
                raise _refused(event, "Audio comes over the WebRTC audio track of this call; do not send it as events.", "type")
            case client.AudioCommit() | client.AudioClear():
                raise _refused(event, "The server's voice activity detection ends each utterance; send no buffer events.", "type")
        return EventOutcome()

    def _update(self, event: client.SessionUpdate) -> EventOutcome:
        before, reduced_noise = self.settings.instructions, self.settings.reduces_noise
        changes, fixed = self._fixed.without_fixed(event.session, self.settings.session)
        refused = self.settings.update(changes, event.event_id)
        events: list[ServerEvent] = [SessionUpdated(session=self.settings.session)]
        if refused is not None:
            events.append(ErrorEvent(error=refused))
        if fixed:
            events.append(ErrorEvent(error=refusal_of_fixed(fixed, f"session.{fixed[0]}", event.event_id)))
        now = self.settings.instructions
        changes_tools = changes.get("tools") is not None
        instructions = None if now == before else now
        reduces_noise = None if self.settings.reduces_noise == reduced_noise else self.settings.reduces_noise
        replies = tuple(self._send(events))
        return EventOutcome(replies=replies, instructions=instructions, changes_tools=changes_tools, reduces_noise=reduces_noise)

    def _create(self, event: client.ItemCreate, at_ms: float) -> EventOutcome:
        item_id = event.item.id or self._new_id("item")
        if self._conversation.get(item_id) is not None:
            raise _refused(event, f"There is an item {item_id} already; leave `id` out or choose another.", "item.id")
        if isinstance(event.item, client.FunctionOutput):
            return self._function_output(item_id, event.item, at_ms)
        text = " ".join(part.text.strip() for part in event.item.content).strip()
        if not text:
            raise _refused(event, "The message holds no text; expected at least one word.", "item.content")
        if len(text) > client.MAX_TEXT_CHARACTERS:
            raise _refused(
                event,
                f"The message has {len(text)} characters, at most {client.MAX_TEXT_CHARACTERS} are accepted; shorten it.",
                "item.content",
            )
        content = tuple(InputText(text=part.text) for part in event.item.content)
        item = MessageItem(id=item_id, role="user", status="completed", content=content)
        self._typed = True
        self._follow_ups = 0
        replies = self._send([self._conversation.add(item), self._conversation.done(item)])
        return EventOutcome(events=(TextReceived(at_ms, text),), replies=tuple(replies))

    def _function_output(self, item_id: str, given: client.FunctionOutput, at_ms: float) -> EventOutcome:
        item = FunctionOutputItem(id=item_id, call_id=given.call_id, output=given.output)
        replies = tuple(self._send([self._conversation.add(item), self._conversation.done(item)]))
        if given.call_id not in self._asked:
            return EventOutcome(replies=replies)
        self._expect_follow_up(at_ms)
        return EventOutcome(replies=replies, tool_results=((given.call_id, given.output),))

    def _expect_follow_up(self, at_ms: float) -> None:
        self._follow_ups = min(self._follow_ups + 1, REMEMBERED)
        self._follow_up_until_ms = at_ms + FOLLOW_UP_MS

    def _follow_up(self) -> EventOutcome:
        """A client asks for the reply that follows a tool. If that reply has come already, a response without output says so,
        because some clients ask for nothing more until they get a response."""
        self._follow_ups -= 1
        if self._open is not None:
            return EventOutcome()
        empty = OpenReply(self._conversation, self._conversation_id)
        return self._answer(*empty.created(), *empty.ended("completed", "", "", 0.0))

    def _cancel(self, event: client.ClientEvent, at_ms: float) -> EventOutcome:
        reply = None if self._open is None else self._replies.get(self._open)
        asked_for = event.response_id if isinstance(event, client.ResponseCancel) else None
        if reply is None or (asked_for is not None and asked_for not in reply.response_ids):
            if isinstance(event, client.PlayoutClear):
                return EventOutcome()
            raise _refused(event, "Cancellation failed: no active response found.", code="response_cancel_not_active")
        if reply.cancel_requested:
            return EventOutcome()
        reply.cancel_requested = True
        return EventOutcome(events=(ReplyCancelled(at_ms),))

    def _utterance(self, utterance_id: int, onset_ms: float) -> tuple[ClientUtterance, list[ServerEvent]]:
        known = self._utterances.get(utterance_id)
        if known is not None:
            return known, []
        utterance = ClientUtterance(self._conversation, onset_ms)
        _remember(self._utterances, utterance_id, utterance)
        return utterance, utterance.started()

    def _reply(self, reply_id: int, at_ms: float) -> tuple[OpenReply, list[ServerEvent]]:
        known = self._replies.get(reply_id)
        if known is not None:
            return known, []
        events: list[ServerEvent] = []
        if self._open is not None:
            events += self._notice(actions.ReplyEnded(self._open, "cancelled", "", ""), at_ms)
        reply = OpenReply(self._conversation, self._conversation_id)
        _remember(self._replies, reply_id, reply)
        self._open = reply_id
        self._typed = False
        self._follow_ups = 0
        return reply, events + reply.created()

    def _known(self, item_id: str, event: client.ClientEvent) -> Item:
        item = self._conversation.get(item_id)
        if item is None:
            raise _refused(event, f"There is no item {item_id[:64]!r} in this call.", "item_id", code="item_not_found")
        return item

    def _answer(self, *events: ServerEvent) -> EventOutcome:
        return EventOutcome(replies=tuple(self._send(events)))

    def _send(self, events: Collection[ServerEvent]) -> list[JsonObject]:
        return [{**msgspec.to_builtins(event), "event_id": self._new_id("event")} for event in events]


def _remember(known: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    known[key] = value
    while len(known) > REMEMBERED:
        known.popitem(last=False)


def _refused(
    event: client.ClientEvent, message: str, param: str | None = None, *, code: str = "invalid_value"
) -> ClientEventError:
    return ClientEventError(message, code=code, param=param, event_id=event.event_id)
