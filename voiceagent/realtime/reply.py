"""One reply of the agent as responses of the protocol. A reply is usually one response. When the client is asked to run a tool,
the protocol wants the response to be done. What the agent then says is another response, which the client may ask for but need
not. Where audio goes by events, a response is done only when its audio was sent; what follows waits for that."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy as copy_of

from voiceagent.realtime.conversation import ItemList
from voiceagent.realtime.items import OUR_LABEL, ApprovalRequestItem
from voiceagent.realtime.response import OpenResponse, ResponseShape
from voiceagent.realtime.server_events import ResponseUsage, ServerEvent

MAX_RESPONSES = 64
MAX_HELD = 1024
"""The most pieces of a reply that wait until its last response is done."""
Told = list[ServerEvent]


class OpenReply:
    """The client's view of a reply."""

    def __init__(self, conversation: ItemList, conversation_id: str, shape: ResponseShape | None = None) -> None:
        self.cancel_requested = False
        self.key = ""
        """The client's wish that it fulfils."""
        self.failure = ""
        """The code of what has failed in it."""
        self.was_approved = False
        """True once the client has approved a tool's run, and the next response has begun by that."""
        self.shape = shape or ResponseShape()
        self._conversation = conversation
        self._conversation_id = conversation_id
        self._responses = [self._new_response()]
        self._by_clause: dict[int, OpenResponse] = {}
        self._held: list[Callable[[OpenReply], Told]] = []
        self._over = False

    def copied(self, conversation: ItemList) -> OpenReply:
        """A copy, whose items are those of this copied conversation."""
        copy = copy_of(self)
        copied = {id(response): response.copied(conversation) for response in self._responses}
        copy._conversation, copy._held, copy._responses = conversation, list(self._held), list(copied.values())
        copy._by_clause = {clause: copied[id(response)] for clause, response in self._by_clause.items()}
        return copy

    def _new_response(self) -> OpenResponse:
        return OpenResponse(self._conversation, self._conversation_id, self.shape)

    @property
    def item_ids(self) -> tuple[str, ...]:
        """Its items so far."""
        return tuple(item_id for response in self._responses for item_id in response.item_ids)

    @property
    def response_ids(self) -> tuple[str, ...]:
        """Its responses, in order."""
        return tuple(response.response_id for response in self._responses)

    @property
    def is_handed_over(self) -> bool:
        """True while the client runs a tool, and has been told that the response is done."""
        return self._last.handed_over

    @property
    def follows_client_tool(self) -> bool:
        """True from the moment the client runs a tool: what is said then is what it asks for by a `response.create`."""
        return self.is_handed_over or len(self._responses) > 1

    @property
    def is_over(self) -> bool:
        """True once it has ended."""
        return self._over

    @property
    def heard_words(self) -> str:
        """Its words that were heard so far."""
        return " ".join(filter(None, (response.heard_words for response in self._responses)))

    def holds(self, item_id: str) -> bool:
        """True when the item is one of its items."""
        return any(item_id in response.item_ids for response in self._responses)

    def tool_call_of(self, item_id: str) -> str:
        """The language model's id of the tool call that an item is; empty if it is none."""
        return next(filter(None, (response.tool_call_of(item_id) for response in self._responses)), "")

    def message(self, item_id: str) -> OpenResponse | None:
        """The response whose spoken message the item is."""
        return next((one for one in self._responses if one.has(item_id) and one.has_speech), None)

    @property
    def last_item_id(self) -> str:
        """Its last message."""
        return self._last.item_id

    def audio_before_ms(self, item_id: str) -> float:
        """The length of the audio of its earlier messages."""
        before_ms = 0.0
        for response in self._responses:
            if response.has(item_id):
                break
            before_ms += response.audio_ms
        return before_ms

    @property
    def _last(self) -> OpenResponse:
        return self._responses[-1]

    def created(self) -> list[ServerEvent]:
        """The reply began."""
        return self._last.created()

    def counted(self, usage: ResponseUsage) -> None:
        """Note the tokens that it took."""
        self._last.usage = usage

    def text(self, clause: int, text: str) -> list[ServerEvent]:
        """A clause was handed to synthesis."""
        if not text or self._over:
            return []
        if self._must_wait:
            return self._hold(lambda reply: reply.text(clause, text))
        events = self._go_on()
        self._by_clause[clause] = self._last
        return [*events, *self._last.text(text)]

    def audio(self, clause: int, delta: str, duration_ms: float) -> list[ServerEvent]:
        """More audio of a clause, in base64."""
        if self._over:
            return []
        response = self._by_clause.get(clause)
        if response is None and self._must_wait:
            return self._hold(lambda reply: reply.audio(clause, delta, duration_ms))
        return (response or self._last).audio(delta, duration_ms)

    def heard(self, heard: str, at_ms: float) -> list[ServerEvent]:
        """More of the reply was heard."""
        if self._over:
            return []
        if not heard:
            return self._last.audible(at_ms)
        shares = self._shares(heard, "")
        events = [event for response, (said, _) in shares for event in response.heard(said, at_ms)]
        return [*events, *self._hand_over(at_ms)]

    def tool_started(
        self, call_id: str, name: str, arguments: str, label: str = OUR_LABEL, request_id: str | None = None
    ) -> list[ServerEvent]:
        """See `OpenResponse.tool_started`."""
        if self._over:
            return []
        if self._must_wait:
            return self._hold(lambda reply: reply.tool_started(call_id, name, arguments, label, request_id))
        if request_id:
            self.was_approved = True
            for response in self._responses:
                response.approved(call_id)
        return [*self._go_on(), *self._last.tool_started(call_id, name, arguments, label, request_id)]

    def approval_asked(self, call_id: str, item: ApprovalRequestItem, at_ms: float) -> list[ServerEvent]:
        """The client is asked whether a tool may run."""
        if self._over:
            return []
        return [*self._go_on(), *self._last.approval_asked(call_id, item), *self._hand_over(at_ms)]

    def function_called(self, call_id: str, name: str, arguments: str, at_ms: float) -> list[ServerEvent]:
        """The client is asked to run a tool of its own."""
        if self._over:
            return []
        events = [*self._go_on(), *self._last.function_called(call_id, name, arguments)]
        return [*events, *self._hand_over(at_ms)]

    def tool_ended(self, call_id: str, output: str, at_ms: float, *, ok: bool) -> list[ServerEvent]:
        """A tool ended, wherever it ran, perhaps after the reply did."""
        if self._must_wait and not self._over:
            return self._hold(lambda reply: reply.tool_ended(call_id, output, at_ms, ok=ok))
        events = [event for response in self._responses for event in response.tool_ended(call_id, output, ok=ok)]
        return events if self._over else [*events, *self._hand_over(at_ms)]

    def ended(self, status: str, heard: str, unheard: str, at_ms: float) -> list[ServerEvent]:
        """The reply is over. `status` is one of `actions.ReplyEnded`; a second end says nothing."""
        if self._over:
            return []
        events: list[ServerEvent] = []
        if self._must_wait:
            events += [*self._last.hand_over(at_ms), *self._release()]
        self._over = True
        for response, (said, unsaid) in self._shares(heard, unheard):
            events += response.ended(status, said, unsaid, at_ms, self.failure)
        return events

    @property
    def _must_wait(self) -> bool:
        """True while the response is done but for its audio."""
        return self._last.asks_client and not self._last.handed_over and not self._last.is_sent

    def _hold(self, tell: Callable[[OpenReply], Told]) -> list[ServerEvent]:
        if len(self._held) < MAX_HELD:
            self._held.append(tell)
        return []

    def _release(self) -> list[ServerEvent]:
        held, self._held = self._held, []
        return [event for tell in held for event in tell(self)]

    def _go_on(self) -> list[ServerEvent]:
        """After the client was asked for something: begin another response."""
        if not self._last.handed_over or len(self._responses) >= MAX_RESPONSES:
            return []
        self._responses.append(self._new_response())
        return self._last.created()

    def _hand_over(self, at_ms: float) -> list[ServerEvent]:
        if not self._last.asks_client or self._last.handed_over or self._must_wait:
            return []
        return [*self._last.hand_over(at_ms), *self._release()]

    def _shares(self, heard: str, unheard: str) -> list[tuple[OpenResponse, tuple[str, str]]]:
        """The heard and the unheard words of each response. The reply's words are divided in order."""
        if len(self._responses) == 1:
            return [(self._last, (heard, unheard))]
        said, unsaid = heard.split(), unheard.split()
        shares: list[tuple[OpenResponse, tuple[str, str]]] = []
        for response in self._responses[:-1]:
            count = len(response.words)
            mine, said = said[:count], said[count:]
            left, unsaid = unsaid[: count - len(mine)], unsaid[count - len(mine) :]
            shares.append((response, (" ".join(mine), " ".join(left))))
        return [*shares, (self._last, (" ".join(said), " ".join(unsaid)))]
