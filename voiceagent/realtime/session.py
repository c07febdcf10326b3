"""The client's session of one call. It turns the turn engine's notices into events for the client, and the client's events into
requests for the turn engine. It knows no name of the wire: a dialect reads and writes. Pure: no I/O, no clock. The owner of the
leg passes times in and sends what comes out."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy as copy_of
from dataclasses import dataclass
from typing import Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from voiceagent.conversation import actions
from voiceagent.conversation.caller_turn import key_of_utterance
from voiceagent.conversation.events import (
    Event,
    HistoryAdded,
    HistoryRemoved,
    ReplyCancelled,
    ReplyRequested,
    ReplyTruncated,
    TextReceived,
)
from voiceagent.conversation.handover import earlier_key
from voiceagent.conversation.history import Message
from voiceagent.conversation.reply_lifecycle import key_of_reply
from voiceagent.conversation.rules import ReplyWish
from voiceagent.errors import ProtocolError
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import Stage, TurnReport
from voiceagent.realtime import client_events as client
from voiceagent.realtime.added_items import as_message, joined, new_item, new_message, text_of
from voiceagent.realtime.client_events import ClientEventError
from voiceagent.realtime.conversation import FIRST, ItemList, NewId, random_id
from voiceagent.realtime.dialect import Dialect
from voiceagent.realtime.fixed_settings import FixedSettings, refusal_of_fixed, settings_named
from voiceagent.realtime.items import (
    ApprovalItem,
    ApprovalRequestItem,
    FunctionCallItem,
    FunctionOutputItem,
    InputAudio,
    Item,
    ListedToolsItem,
    MessageItem,
    ToolCallItem,
    packed,
    unpacked,
)
from voiceagent.realtime.openai_realtime import OPENAI
from voiceagent.realtime.reply import OpenReply
from voiceagent.realtime.response import ResponseShape
from voiceagent.realtime.response_settings import ItemReference, ResponseSettings, reply_rules
from voiceagent.realtime.server_events import (
    AudioCleared,
    AudioCommitted,
    CallEnded,
    ConnectionReplaced,
    ErrorDetails,
    ErrorEvent,
    HandedOff,
    IdleTimeout,
    ItemDeleted,
    ItemDone,
    ItemRetrieved,
    KeyReceived,
    NotUnderstood,
    OutputAudioDelta,
    PromptDetails,
    RateLimit,
    RateLimitsUpdated,
    RecordingChanged,
    ResponseDone,
    ResponseUsage,
    ResumeOffered,
    ServerDrains,
    ServerEvent,
    ServiceDegraded,
    SessionCreated,
    SessionUpdated,
    StepEntered,
    TokenDetails,
    ToolsListed,
    ToolsListing,
    ToolsUnlisted,
    ValueChanged,
)
from voiceagent.realtime.settings import (
    ClientSettings,
    OfferTools,
    SessionFacts,
    SessionSettings,
    TurnDetection,
    no_client_tools,
)
from voiceagent.realtime.turn import turn_measured
from voiceagent.realtime.utterance import ClientUtterance

FRAME_MS = 20.0
"""A truncation may be this far behind the end of an item's audio: clients round."""
ServerOf = Callable[[str], tuple[str, bool] | None]
"""Gives the label of the client's MCP server that has a tool, and true when the client must approve the tool's run. None for any
other tool."""
RateLimits = Callable[[float], tuple[RateLimit, ...]]
"""Gives the client's limits at a time, in milliseconds on the call's clock."""
REMEMBERED = 64
"""The number of utterances and replies that are remembered, so that late and repeated events are recognised."""

MAX_RECENT = 1024
"""The number of events back that a client may have missed."""
RECENT_COPIED = 256
"""The number of them that a copy has: those of the last seconds."""
NOT_REPEATED = (SessionCreated, ResumeOffered, ConnectionReplaced, OutputAudioDelta)
"""Events that are of one connection. Audio that was not heard comes again by itself."""

OF_THE_CLIENT = ("hangup", "closed")
"""The reasons of a call's end that are no failure of the reply that it cuts."""

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
    settings: ClientSettings | None = None
    """The session's settings, when the client changed some."""
    tool_results: tuple[tuple[str, str], ...] = ()
    """The results of the client's tools, by the model's call id."""
    approvals: tuple[tuple[str, bool, str], ...] = ()
    """The client's answers to requests for an approval: the model's call id, whether it is given, and the reason."""
    changes_tools: bool = False
    """True when the client offered other tools."""
    reduces_noise: bool | None = None
    """True or false when the client turned noise suppression on or off; else None."""
    was_asked: bool = False
    """True when the client has asked for a reply to its typed message already."""
    buffer: BufferRequest | None = None
    """The client ends, or clears, the open utterance."""

    @property
    def is_work(self) -> bool:
        """True when the language model is involved."""
        return (bool(self.events) and not self.was_asked) or self.instructions is not None or self.changes_tools


@dataclass(frozen=True, slots=True)
class BufferRequest:
    """A client's request about the open utterance."""

    wish: Literal["commit", "clear"]
    event_id: str | None


class LeftSession(Struct, frozen=True):
    """A session that a server has left, for another one to go on with."""

    settings: ClientSettings
    session_id: str
    conversation_id: str
    has_spoken: bool
    items: tuple[JsonObject, ...]
    keys: dict[str, str]
    """The turn engine's names for what the items are."""
    recent: tuple[tuple[str, JsonObject | None], ...]
    audio_ends: dict[str, tuple[int, int, float]]
    missed: int
    """The number of events since the client's connection was lost."""


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
        offer_response_tools: OfferTools = no_client_tools,
        turn_detection: TurnDetection | None = None,
        rate_limits: RateLimits | None = None,
        server_of: ServerOf = lambda name: None,
        dialect: Dialect = OPENAI,
        fixed: Collection[str] = (),
    ) -> None:
        """`tools` are those that the client runs itself; `offer_tools` replaces them, and `offer_response_tools` takes those of
        one response. `turn_detection` is the agent's own. `fixed` are settings that the client may not change, by their paths."""
        self._fixed = FixedSettings(fixed)
        facts = SessionFacts(call_id, new_id("sess"), agent)
        began = ClientSettings(instructions=instructions, tools=tuple(tools), turn_detection=turn_detection or TurnDetection())
        self.settings = SessionSettings(facts, began, dialect.read_session, offer_tools=offer_tools)
        self._dialect = dialect
        self._offer_response_tools = offer_response_tools
        self._rate_limits = rate_limits
        self._server_of = server_of
        self._approvals: OrderedDict[str, tuple[int, str, ApprovalRequestItem]] = OrderedDict()
        """The open requests for an approval, by item: the reply, and the language model's call."""
        self._new_id = new_id
        self._conversation = ItemList(new_id)
        self._conversation_id = new_id("conv")
        self._utterances: OrderedDict[int, ClientUtterance] = OrderedDict()
        self._replies: OrderedDict[int, OpenReply] = OrderedDict()
        self._open: int | None = None
        self._typed = False
        self._asked: OrderedDict[str, None] = OrderedDict()
        self._wished: OrderedDict[str, ResponseSettings] = OrderedDict()
        self._pending: str | None = None
        """The response that was asked for and has not begun."""
        self._truncated: OrderedDict[int, tuple[str, int]] = OrderedDict()
        """The item of a reply that was truncated after the reply's end, and where."""
        self._keys: OrderedDict[str, str] = OrderedDict()
        """The turn engine's names for what the client added, by item."""
        self._follow_ups = 0
        self._follow_up_until_ms = 0.0
        self._ended = False
        self._recent: deque[tuple[str, JsonObject | None]] = deque(maxlen=MAX_RECENT)
        """The last events that were sent, by their ids. None: one that is not repeated."""
        self._audio_ends: OrderedDict[str, tuple[int, int, float]] = OrderedDict()
        """The ends of the audio in them, by their ids."""
        self._sent_count = self._missed_from = 0
        self._is_lost = False
        self.is_copy = False
        """True for one that `as_if_lost` has made."""

    def left(self) -> LeftSession:
        """Leave the session: returns it for another server, and sends nothing more."""
        self._ended = True
        items = self._conversation.items
        return LeftSession(
            settings=self.settings.current,
            session_id=self.settings.facts.session_id,
            conversation_id=self._conversation_id,
            has_spoken=self.settings.facts.has_spoken,
            items=tuple(map(packed, items)),
            keys=self._keys_of({item.id for item in items}),
            recent=tuple(self._recent),
            audio_ends=dict(self._audio_ends),
            missed=self._sent_count - self._missed_from if self._is_lost else 0,
        )

    def _keys_of(self, item_ids: Collection[str]) -> dict[str, str]:
        """The turn engine's names for what these items are. See `_key`."""
        found = {item_id: key_of_reply(number) for number, reply in self._replies.items() for item_id in reply.item_ids}
        found |= {utterance.item_id: key_of_utterance(number) for number, utterance in self._utterances.items()}
        return {item_id: key for item_id, key in (found | self._keys).items() if item_id in item_ids}

    def as_if_lost(self) -> RealtimeSession:
        """A copy, as if the client's connection were lost now. What becomes of the one changes nothing in the other. It has the
        last `RECENT_COPIED` events, and those that the client has missed."""
        copy = copy_of(self)
        copy.is_copy, copy.settings = True, copy_of(self.settings)
        items = copy._conversation = self._conversation.copied()
        copy._utterances = OrderedDict((n, one if one.is_over else one.copied(items)) for n, one in self._utterances.items())
        copy._replies = OrderedDict((n, one if one.is_over else one.copied(items)) for n, one in self._replies.items())
        copy._keys, copy._wished, copy._asked = self._keys.copy(), self._wished.copy(), self._asked.copy()
        copy._approvals, copy._truncated = self._approvals.copy(), self._truncated.copy()
        if not self._is_lost:
            copy.lost()
        recent = list(self._recent)[-max(RECENT_COPIED, self._sent_count - copy._missed_from) :]
        copy._recent = deque(recent, maxlen=MAX_RECENT)
        copy._audio_ends = OrderedDict((one, end) for one, _ in recent if (end := self._audio_ends.get(one)) is not None)
        return copy

    def go_on(self, left: LeftSession) -> None:
        """Take the place of a session at another server. Call it in place of `start`."""
        self.settings.current = replace(left.settings, tools=self.settings.current.tools)
        self.settings.facts = replace(self.settings.facts, session_id=left.session_id, has_spoken=left.has_spoken)
        self._conversation_id = left.conversation_id
        for item in left.items:
            self._conversation.add(unpacked(item))
        self._keys.update((item_id, earlier_key(key)) for item_id, key in left.keys.items())
        self._recent.extend(left.recent)
        self._audio_ends.update(left.audio_ends)
        self._sent_count = left.missed

    def start(self, asked: JsonObject | None = None) -> list[JsonObject]:
        """The first events of the call. `asked` are changes that the client has asked for already; they must be valid."""
        refused = self.settings.update(asked) if asked else None
        events: list[ServerEvent] = [SessionCreated(session=self._shown())]
        if refused is not None:
            events.append(ErrorEvent(error=refused))
        return self._send(events)

    def joined(self) -> list[JsonObject]:
        """The first events for somebody who joins the running call."""
        return self._send([SessionCreated(session=self._shown())])

    def resumable(self, token: str, timeout_ms: float) -> JsonObject:
        """The event that tells the client how it takes the call up again."""
        return self._send([ResumeOffered(token=token, timeout_s=timeout_ms / 1000)])[0]

    def replaced(self) -> JsonObject:
        """The event for a client whose call another connection takes over."""
        return self._send([ConnectionReplaced()])[0]

    def draining(self, timeout_s: float) -> list[JsonObject]:
        """The events for a client whose server is about to end."""
        return [] if self._ended else self._send([ServerDrains(timeout_s=timeout_s)])

    def lost(self) -> None:
        """The client gets no more events, until it is back."""
        self._missed_from, self._is_lost = self._sent_count, True

    def resumed(self, after: str, token: str, timeout_ms: float) -> list[JsonObject]:
        """The first events for a client that is back. `after` is the id of the last event that it got. If that is not given, or
        not known any more, the client is taken to have got all until the loss."""
        self._is_lost = False
        recent = list(self._recent)
        place = next((place for place, (event_id, _) in enumerate(recent) if event_id == after), None)
        first = len(recent) - (self._sent_count - self._missed_from) if place is None else place + 1
        missed = [event for _, event in recent[max(0, first) :] if event is not None]
        return [*self.joined(), self.resumable(token, timeout_ms), *missed]

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

    def on_audio(self, end: tuple[int, int, float], clause: int, delta: str, duration_ms: float) -> list[JsonObject]:
        """Returns the client's events for audio of a reply, in base64, where audio goes by events. `end` is the reply, the clause
        and the ms of it at the end of the audio."""
        reply = self._replies.get(end[0])
        if self._ended or reply is None:
            return []
        events = self._send(reply.audio(clause, delta, duration_ms))
        if events and end[1] >= 0:
            self._audio_ends[str(events[-1].get("event_id"))] = end
            while len(self._audio_ends) > MAX_RECENT:
                self._audio_ends.popitem(last=False)
        return events

    def audio_got(self, after: str) -> tuple[int, int, float] | None:
        """The end of the audio that a client has got whose last event was `after`. None: it is not known, or it got all."""
        ids = [event_id for event_id, _ in self._recent]
        if after not in ids:
            return None
        place = ids.index(after) + 1
        got, missed = (
            [self._audio_ends[event_id] for event_id in some if event_id in self._audio_ends]
            for some in (ids[:place], ids[place:])
        )
        if not missed:
            return None
        return got[-1] if got else (missed[0][0], 0, 0.0)

    def on_turn(self, report: TurnReport, limits_ms: Mapping[Stage, float], missed: Collection[Stage] = ()) -> list[JsonObject]:
        """The waterfall of a turn against its limits. A stage without a limit is never missed."""
        return [] if self._ended else self._send([turn_measured(report, limits_ms, missed)])

    def on_end(self, reason: str, at_ms: float) -> list[JsonObject]:
        """The call is over: everything open ends, then the client is told why. A second call says nothing."""
        if self._ended:
            return []
        events: list[ServerEvent] = []
        if self._open is not None:
            reply = self._replies[self._open]
            reply.failure = reply.failure or reason
            status = "cancelled" if reason in OF_THE_CLIENT else "failed"
            events += self._notice(actions.ReplyEnded(self._open, status, reply.heard_words, ""), at_ms)
        self._ended = True
        return self._send([*events, CallEnded(reason=reason)])

    def on_client(self, text: str, at_ms: float) -> EventOutcome:
        """Take one text message of the client. It never raises, whatever a client sends: it answers with an error event."""
        if self._ended:
            return EventOutcome()
        try:
            return self._client(self._dialect.decode(text), at_ms)
        except ClientEventError as error:
            details = ErrorDetails(
                type="invalid_request_error", code=error.code, message=str(error), param=error.param, event_id=error.event_id
            )
            return EventOutcome(replies=tuple(self._send([ErrorEvent(error=details)])))

    def too_many_events(self) -> list[JsonObject]:
        """The error for a client whose events are not read."""
        message = "Too many events, or too many bytes of them: this one was not read; send fewer, or the call ends."
        return self._send([ErrorEvent(error=ErrorDetails("invalid_request_error", "rate_limit_exceeded", message))])

    def nothing_to_commit(self, event_id: str | None) -> list[JsonObject]:
        """The error for a client that ends an utterance of which there is no audio."""
        message = "The audio buffer is empty, or holds less than 100 ms; append audio before you commit it."
        details = ErrorDetails("invalid_request_error", "input_audio_buffer_commit_empty", message, None, event_id)
        return self._send([ErrorEvent(error=details)])

    def key_received(self, key: str, at_s: float) -> list[JsonObject]:
        """The caller pressed a key of their telephone, at a time in seconds since 1970."""
        return [] if self._ended else self._send([KeyReceived(event=key, received_at=int(at_s))])

    def handed_off(self, agent: str, instructions: str, detection: TurnDetection | None, *, summary: bool) -> list[JsonObject]:
        """Another agent goes on, with these instructions. `detection` is its own turn detection. None: the client has set one."""
        current = self.settings.current
        now = replace(current, instructions=instructions, turn_detection=detection or current.turn_detection)
        self.settings.current = now
        self.settings.facts = replace(self.settings.facts, agent=agent)
        return [] if self._ended else self._send([HandedOff(agent=agent, summary=summary)])

    def recording_changed(self, *, is_recorded: bool) -> list[JsonObject]:
        """The call is recorded from now on, or no more."""
        self.settings.facts = replace(self.settings.facts, is_recorded=is_recorded)
        return [] if self._ended else self._send([RecordingChanged(recording=is_recorded)])

    def buffer_cleared(self) -> list[JsonObject]:
        """The open utterance was forgotten."""
        return self._send([AudioCleared()])

    def _notice(self, notice: actions.Notice, at_ms: float) -> list[ServerEvent]:
        match notice:
            case actions.CallerStarted(utterance_id, onset_ms):
                return self._utterance(utterance_id, onset_ms)[1]
            case actions.CallerCommitted(utterance_id, onset_ms):
                return self._utterance(utterance_id, onset_ms)[0].committed(at_ms)
            case actions.CallerPartial(utterance_id, stable, unstable):
                utterance, events = self._utterance(utterance_id, at_ms)
                return events + utterance.partial(stable, unstable)
            case actions.CallerStopped(utterance_id, speech_end_ms):
                utterance, events = self._utterance(utterance_id, speech_end_ms)
                return events + utterance.stopped(speech_end_ms)
            case actions.CallerFinal(utterance_id, text):
                utterance, events = self._utterance(utterance_id, at_ms)
                return events + utterance.final(text, at_ms)
            case actions.StepChanged(name):
                return [StepEntered(step=name)]
            case actions.Degraded(degradations):
                return [ServiceDegraded(degradations=degradations)]
            case actions.ValueCollected(name, stage, value):
                return [ValueChanged(name=name, stage=stage, value=value)]
            case actions.CallerIdle(since_ms):
                return self._idle(since_ms, at_ms)
            case actions.NotUnderstood(utterance_id, times, answer):
                utterance, events = self._utterance(utterance_id, at_ms)
                return [*events, NotUnderstood(item_id=utterance.item_id, times=times, answer=answer)]
            case actions.ReplyStarted(reply_id, _, key, text_only, is_detached):
                return self._started(reply_id, key, at_ms, text_only=text_only, is_detached=is_detached)
            case actions.ReplyText(reply_id, clause, text):
                reply, events = self._reply(reply_id, at_ms)
                return events + reply.text(clause, text)
            case actions.ReplyHeard(reply_id, heard):
                reply, events = self._reply(reply_id, at_ms)
                self.settings.note_speech()
                return events + reply.heard(heard, at_ms)
            case actions.ToolStarted(reply_id, call_id, name, arguments):
                reply, events = self._reply(reply_id, at_ms)
                if self.settings.is_clients_tool(name) or name in self._response_tools(reply_id):
                    _remember(self._asked, call_id, None)
                    return events + reply.function_called(call_id, name, arguments, at_ms)
                if (server := self._server_of(name)) is not None:
                    return events + self._called_at(server, reply_id, call_id, name, arguments, at_ms)
                return events + reply.tool_started(call_id, name, arguments)
            case actions.ToolEnded(reply_id, call_id, _, output, ok):
                return known.tool_ended(call_id, output, at_ms, ok=ok) if (known := self._replies.get(reply_id)) else []
            case actions.ReplyCounted(reply_id, prompt_tokens, tokens, cached):
                if reply_id in self._replies:
                    self._replies[reply_id].counted(_usage(prompt_tokens, tokens, cached))
                return []
            case actions.ReplyCorrected(reply_id, heard, played_ms):
                return self._corrected(reply_id, heard, played_ms)
            case actions.ReplyEnded(reply_id, status, heard, unheard):
                if not heard and reply_id not in self._replies:
                    return []
                reply, events = self._reply(reply_id, at_ms)
                self._open = None if self._open == reply_id else self._open
                return events + reply.ended(status, heard, unheard, at_ms)
            case actions.Failure(code, message):
                self._pending = None
                if self._open is not None:
                    self._replies[self._open].failure = code
                return [ErrorEvent(error=ErrorDetails(type="server_error", code=code, message=message))]
        return []

    def _called_at(
        self, server: tuple[str, bool], reply_id: int, call_id: str, name: str, arguments: str, at_ms: float
    ) -> list[ServerEvent]:
        """A tool of a client's MCP server runs, or waits for the client's approval."""
        label, must_ask = server
        reply = self._replies[reply_id]
        if not must_ask:
            return reply.tool_started(call_id, name, arguments, label)
        request = ApprovalRequestItem(self._new_id("mcpr"), label, name, arguments)
        _remember(self._approvals, request.id, (reply_id, call_id, request))
        return reply.approval_asked(call_id, request, at_ms)

    def tools_listing(self, label: str) -> tuple[str, list[JsonObject]]:
        """The tools of a client's MCP server are being read. Returns the id of the list's item."""
        item = ListedToolsItem(self._new_id("mcpl"), label)
        return item.id, self._send([self._conversation.add(item), ToolsListing(item_id=item.id)])

    def tools_listed(self, item_id: str, label: str, tools: Sequence[JsonObject], failure: str = "") -> list[JsonObject]:
        """They were read, or cannot be, for a reason that the client is told."""
        if self._ended:
            return []
        item = ListedToolsItem(item_id, label, tuple(tools))
        if not failure:
            return self._send([ToolsListed(item_id=item_id), self._conversation.done(item)])
        message = f"The tools of the MCP server {label} cannot be read: {failure}."
        error = ErrorDetails("server_error", "mcp_list_tools_failed", message, "session.tools")
        return self._send([ToolsUnlisted(item_id=item_id), self._conversation.done(item), ErrorEvent(error=error)])

    def _idle(self, since_ms: float, at_ms: float) -> list[ServerEvent]:
        item = MessageItem(id=self._new_id("item"), role="user", status="completed", content=(InputAudio(transcript=""),))
        times = {"audio_start_ms": round(since_ms), "audio_end_ms": round(at_ms)}
        return [
            IdleTimeout(item_id=item.id, **times),
            AudioCommitted(item_id=item.id, previous_item_id=self._conversation.last_id),
            self._conversation.add(item),
            self._conversation.done(item),
        ]

    def _client(self, event: client.ClientEvent, at_ms: float) -> EventOutcome:
        match event:
            case client.SessionUpdate():
                return self._update(event, at_ms)
            case client.ItemCreate():
                return self._create(event, at_ms)
            case client.ItemRetrieve(item_id=item_id):
                return self._answer(ItemRetrieved(item=self._known(item_id, event)))
            case client.ItemTruncate():
                return self._truncate(event, at_ms)
            case client.ItemDelete():
                return self._delete(event, at_ms)
            case client.ResponseCreate():
                return self._respond(event, at_ms)
            case client.ResponseCancel() | client.PlayoutClear():
                return self._cancel(event, at_ms)
            case client.AudioAppend():
                if self.settings.facts.takes_audio:
                    raise _refused(event, "audio is not base64 of whole samples in the session's format.", "audio")
                raise _unsupported(
                    event, "Audio comes over the WebRTC audio track of this call; do not send it as events.", "type"
                )
            case client.AudioCommit():
                return EventOutcome(buffer=BufferRequest("commit", event.event_id))
            case client.AudioClear():
                return EventOutcome(buffer=BufferRequest("clear", event.event_id))
        return EventOutcome()

    def _respond(self, event: client.ResponseCreate, at_ms: float) -> EventOutcome:
        if self.settings.current.transcribes_only:
            raise _unsupported(event, "This session only transcribes; there are no responses in it.", "type")
        wanted = self._dialect.read_response(self.settings.current, self.settings.facts, event.response, event.event_id)
        open_reply = None if self._open is None else self._replies[self._open]
        if self._follow_ups and not event.response and self._is_follow_up(open_reply, at_ms):
            return self._follow_up()
        if open_reply is not None or self._pending is not None:
            raise _refused(
                event,
                "The agent is already replying; wait for response.done, or send response.cancel first.",
                code="conversation_already_has_active_response",
            )
        if fixed := self._fixed.among(settings_named(event.response)):
            raise _refused(
                event, f"response.{fixed} is fixed by this call's client secret.", f"response.{fixed}", code="setting_fixed"
            )
        wish = self._wish(event, wanted) if event.response else ReplyWish()
        self._pending = wish.key
        was_asked, self._typed = self._typed and not wanted.input, False
        return EventOutcome(events=(ReplyRequested(at_ms, wish),), was_asked=was_asked)

    def _is_follow_up(self, open_reply: OpenReply | None, at_ms: float) -> bool:
        if open_reply is None or open_reply.was_approved:
            return at_ms <= self._follow_up_until_ms
        return open_reply.follows_client_tool

    def _wish(self, event: client.ResponseCreate, wanted: ResponseSettings) -> ReplyWish:
        """The turn engine's form of what a client asks of a response. Raises ClientEventError."""
        names: tuple[str, ...] | None = None
        if wanted.tools is not None:
            try:
                names = tuple(str(tool["name"]) for tool in self._offer_response_tools(list(wanted.tools)))
            except ProtocolError as error:
                raise _refused(event, str(error), "response.tools", code="invalid_tools") from error
        answered = None if wanted.input is None else tuple(self._message(one, event) for one in wanted.input)
        key = self._new_id("wish")
        _remember(self._wished, key, wanted)
        rules = reply_rules(self.settings.current, wanted, names)
        return ReplyWish(key, wanted.instructions, rules, wanted.is_detached, answered)

    def _message(self, given: client.NewItem | ItemReference, event: client.ClientEvent) -> Message:
        """The message of an item in a response's input."""
        if isinstance(given, ItemReference):
            try:
                return as_message(self._known(given.id, event))
            except ValueError as error:
                raise _refused(
                    event, f"The item {given.id[:64]} is nothing that a response answers: {error}.", "item_id"
                ) from error
        if isinstance(given, client.NewMessage) and given.role == "system" and self._fixed.among(("instructions",)):
            raise _refused(
                event, "The instructions are fixed by this call's client secret.", "response.input", code="setting_fixed"
            )
        return new_message(given)

    def _truncate(self, event: client.ItemTruncate, at_ms: float) -> EventOutcome:
        item = self._known(event.item_id, event)
        found = ((number, reply) for number, reply in self._replies.items() if reply.message(item.id) is not None)
        reply_id, reply = next(found, (None, None))
        response = None if reply is None else reply.message(item.id)
        if reply_id is None or reply is None or response is None:
            raise _refused(event, f"The item {item.id} is not speech of the agent; only that is truncated.", "item_id")
        if event.audio_end_ms > response.audio_ms + FRAME_MS:
            raise _refused(
                event,
                f"audio_end_ms is {event.audio_end_ms}, and the item has {response.audio_ms:.0f} ms of audio; give at most that.",
                "audio_end_ms",
            )
        truncated = ReplyTruncated(at_ms, reply_id, reply.audio_before_ms(item.id) + event.audio_end_ms)
        if not reply.is_over:
            response.truncated_ms = event.audio_end_ms
            return EventOutcome(events=(truncated,), was_asked=True)
        if reply_id != max(self._replies):
            raise _refused(event, f"The item {item.id} is not of the last response; only that is truncated.", "item_id")
        _remember(self._truncated, reply_id, (item.id, event.audio_end_ms))
        return EventOutcome(events=(truncated,), was_asked=True)

    def _corrected(self, reply_id: int, heard: str, played_ms: float) -> list[ServerEvent]:
        reply = self._replies.get(reply_id)
        if reply is None:
            return []
        item_id, end_ms = self._truncated.pop(reply_id, (reply.last_item_id, round(played_ms)))
        response = reply.message(item_id)
        return [] if response is None else response.corrected(heard, end_ms)

    def _delete(self, event: client.ItemDelete, at_ms: float) -> EventOutcome:
        item = self._known(event.item_id, event)
        reply = next((reply for reply in self._replies.values() if reply.holds(item.id)), None)
        if reply is not None and not reply.is_over:
            raise _refused(event, f"The item {item.id} belongs to the response that runs; cancel that first.", "item_id")
        if isinstance(item, ToolCallItem) and item.status == "in_progress":
            raise _refused(event, f"The tool call {item.id} still runs; wait for its end.", "item_id")
        key, text = self._key(item.id), text_of(item)
        tool_call_id = "" if reply is None else reply.tool_call_of(item.id)
        self._conversation.remove(item.id)
        removed = () if key is None else (HistoryRemoved(at_ms, key, text, tool_call_id),)
        return EventOutcome(events=removed, replies=tuple(self._send([ItemDeleted(item_id=item.id)])), was_asked=True)

    def _key(self, item_id: str) -> str | None:
        """The turn engine's name for what an item is."""
        if item_id in self._keys:
            return self._keys[item_id]
        for number, utterance in self._utterances.items():
            if utterance.item_id == item_id:
                return key_of_utterance(number)
        return next((key_of_reply(number) for number, reply in self._replies.items() if reply.holds(item_id)), None)

    def _update(self, event: client.SessionUpdate, at_ms: float) -> EventOutcome:
        before = self.settings.current
        changes, fixed = self._fixed.without_fixed(event.session, self._shown())
        refused = self.settings.update(changes, event.event_id)
        events: list[ServerEvent] = [SessionUpdated(session=self._shown())]
        if refused is not None:
            events.append(ErrorEvent(error=refused))
        if fixed:
            events.append(ErrorEvent(error=refusal_of_fixed(fixed, f"session.{fixed[0]}", event.event_id)))
        now = self.settings.current
        is_silenced = now.transcribes_only and not before.transcribes_only and self._open is not None
        return EventOutcome(
            events=(ReplyCancelled(at_ms),) if is_silenced else (),
            was_asked=True,
            replies=tuple(self._send(events)),
            instructions=None if now.instructions == before.instructions else now.instructions,
            settings=None if now == before else now,
            changes_tools=changes.get("tools") is not None,
            reduces_noise=None
            if (now.noise_reduction is None) == (before.noise_reduction is None)
            else now.noise_reduction is not None,
        )

    def _create(self, event: client.ItemCreate, at_ms: float) -> EventOutcome:
        item_id = event.item.id or self._new_id("item")
        if self._conversation.get(item_id) is not None:
            raise _refused(event, f"There is an item {item_id} already; leave `id` out or choose another.", "item.id")
        behind = event.previous_item_id
        if behind is not None and behind != FIRST and self._conversation.get(behind) is None:
            raise _refused(event, f"There is no item {behind[:64]!r} in this call.", "previous_item_id", code="item_not_found")
        place = None if behind is None or self._conversation.is_last(behind) else behind
        given = event.item
        if isinstance(given, client.NewFunctionOutput) and given.call_id in self._asked:
            return self._function_output(item_id, given, place, at_ms)
        if isinstance(given, client.NewApproval):
            return self._approval(item_id, given, event, at_ms)
        if isinstance(given, client.NewMessage):
            self._check_text(given, event)
        elif isinstance(given, client.NewFunctionOutput) and not self._is_call(given.call_id):
            raise _refused(
                event, f"No tool was called with the id {given.call_id[:64]!r}.", "item.call_id", code="call_not_found"
            )
        item = new_item(given, item_id, self._new_id)
        _remember(self._keys, item_id, item_id)
        added = self._conversation.add(item, place)
        replies = tuple(self._send([added, self._conversation.done(item)]))
        if place is None and isinstance(given, client.NewMessage) and given.role == "user":
            self._typed = True
            self._follow_ups = 0
            return EventOutcome(events=(TextReceived(at_ms, joined(given.texts), key=item_id),), replies=replies)
        put_behind = None if place is None else "" if place == FIRST else self._key_at(place)
        message = as_message(item)
        return EventOutcome(events=(HistoryAdded(at_ms, message, item_id, put_behind),), replies=replies)

    def _approval(self, item_id: str, given: client.NewApproval, event: client.ClientEvent, at_ms: float) -> EventOutcome:
        """The answer to a request for an approval."""
        asked = self._approvals.pop(given.request_id, None)
        if asked is None:
            message = f"No approval is waited for under the id {given.request_id[:64]!r}."
            raise _refused(event, message, "item.approval_request_id", code="item_not_found")
        reply_id, call_id, request = asked
        item = ApprovalItem(item_id, given.request_id, given.is_given, given.reason or None)
        events: list[ServerEvent] = [self._conversation.add(item), self._conversation.done(item)]
        if given.is_given and (reply := self._replies.get(reply_id)) is not None:
            events += reply.tool_started(call_id, request.name, request.arguments, request.server_label, request.id)
        self._expect_follow_up(at_ms)
        return EventOutcome(replies=tuple(self._send(events)), approvals=((call_id, given.is_given, given.reason),))

    def _key_at(self, item_id: str) -> str:
        """The name of an item, or of the nearest one before it that has a name. Empty: there is none."""
        while item_id != FIRST:
            key = self._key(item_id)
            if key is not None:
                return key
            item_id = self._conversation.before(item_id)
        return ""

    def _check_text(self, given: client.NewMessage, event: client.ItemCreate) -> None:
        if given.role == "system" and self._fixed.among(("instructions",)):
            raise _refused(event, "The instructions are fixed by this call's client secret.", "item.role", code="setting_fixed")
        text = joined(given.texts)
        if not text:
            raise _refused(event, "The message holds no text; expected at least one word.", "item.content")
        if len(text) > client.MAX_TEXT_CHARACTERS:
            raise _refused(
                event,
                f"The message has {len(text)} characters, at most {client.MAX_TEXT_CHARACTERS} are accepted; shorten it.",
                "item.content",
            )

    def _is_call(self, call_id: str) -> bool:
        """True when an item of the client is such a tool call."""
        items = (self._conversation.get(item_id) for item_id in self._keys)
        return any(isinstance(item, FunctionCallItem) and item.call_id == call_id for item in items)

    def _function_output(self, item_id: str, given: client.NewFunctionOutput, place: str | None, at_ms: float) -> EventOutcome:
        item = FunctionOutputItem(id=item_id, call_id=given.call_id, output=given.output)
        replies = tuple(self._send([self._conversation.add(item, place), self._conversation.done(item)]))
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
        if reply is None and self._pending is not None and asked_for is None:
            self._pending = None
            return EventOutcome(events=(ReplyCancelled(at_ms),))
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
        is_told = self.settings.current.transcription is not None
        utterance = ClientUtterance(self._conversation, onset_ms, is_told=is_told)
        _remember(self._utterances, utterance_id, utterance)
        return utterance, utterance.started()

    def _started(self, reply_id: int, key: str, at_ms: float, *, text_only: bool, is_detached: bool) -> list[ServerEvent]:
        wanted = self._wished.get(key, ResponseSettings(max_tokens=self.settings.current.max_tokens))
        shape = ResponseShape(text_only, is_detached, wanted.metadata, wanted.max_tokens, self.settings.facts.takes_audio)
        return self._reply(reply_id, at_ms, shape, key)[1]

    def _reply(
        self, reply_id: int, at_ms: float, shape: ResponseShape | None = None, key: str = ""
    ) -> tuple[OpenReply, list[ServerEvent]]:
        known = self._replies.get(reply_id)
        if known is not None:
            return known, []
        events: list[ServerEvent] = []
        if self._open is not None:
            events += self._notice(actions.ReplyEnded(self._open, "cancelled", "", ""), at_ms)
        shape = shape or ResponseShape(by_events=self.settings.facts.takes_audio)
        reply = OpenReply(self._conversation, self._conversation_id, shape)
        reply.key = key
        _remember(self._replies, reply_id, reply)
        self._open = reply_id
        self._typed = False
        self._pending = None
        self._follow_ups = 0
        events += reply.created()
        if self._rate_limits is not None:
            events.append(RateLimitsUpdated(rate_limits=self._rate_limits(at_ms)))
        return reply, events

    def _response_tools(self, reply_id: int) -> tuple[str, ...]:
        """The names of the client's tools of one response."""
        reply = self._replies.get(reply_id)
        wanted = None if reply is None else self._wished.get(reply.key)
        return () if wanted is None or wanted.tools is None else tuple(str(tool.get("name")) for tool in wanted.tools)

    def _known(self, item_id: str, event: client.ClientEvent) -> Item:
        item = self._conversation.get(item_id)
        if item is None:
            raise _refused(event, f"There is no item {item_id[:64]!r} in this call.", "item_id", code="item_not_found")
        return item

    def _answer(self, *events: ServerEvent) -> EventOutcome:
        return EventOutcome(replies=tuple(self._send(events)))

    def _send(self, events: Collection[ServerEvent]) -> list[JsonObject]:
        written = [self._dialect.encode(event, self._new_id("event")) for event in events]
        for event, one in zip(events, written, strict=True):
            self._recent.append((str(one.get("event_id")), None if isinstance(event, NOT_REPEATED) else one))
        self._sent_count += len(written)
        return written

    def _shown(self) -> JsonObject:
        return self._dialect.write_session(self.settings.current, self.settings.facts)


def _remember(known: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    known[key] = value
    while len(known) > REMEMBERED:
        known.popitem(last=False)


def _refused(
    event: client.ClientEvent, message: str, param: str | None = None, *, code: str = "invalid_value"
) -> ClientEventError:
    return ClientEventError(message, code=code, param=param, event_id=event.event_id)


def _unsupported(event: client.ClientEvent, message: str, param: str) -> ClientEventError:
    return _refused(event, message, param, code="unsupported")


def _usage(prompt_tokens: int, tokens: int, cached: int | None) -> ResponseUsage:
    read, written = PromptDetails(prompt_tokens, cached_tokens=cached), TokenDetails(tokens)
    return ResponseUsage(prompt_tokens, tokens, prompt_tokens + tokens, read, written)
