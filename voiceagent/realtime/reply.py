"""One reply of the agent as responses of the protocol. A reply is usually one response. When the client is asked to run a tool,
the protocol wants the response to be done. What the agent then says is another response, which the client may ask for but need
not."""

from __future__ import annotations

from voiceagent.realtime.conversation import ItemList
from voiceagent.realtime.response import OpenResponse
from voiceagent.realtime.server_events import ServerEvent

MAX_RESPONSES = 64


class OpenReply:
    """The client's view of a reply."""

    def __init__(self, conversation: ItemList, conversation_id: str) -> None:
        self.cancel_requested = False
        self._conversation = conversation
        self._conversation_id = conversation_id
        self._responses = [OpenResponse(conversation, conversation_id)]
        self._over = False

    @property
    def response_ids(self) -> tuple[str, ...]:
        """Its responses, in order."""
        return tuple(response.response_id for response in self._responses)

    @property
    def _last(self) -> OpenResponse:
        return self._responses[-1]

    def created(self) -> list[ServerEvent]:
        """The reply began."""
        return self._last.created()

    def text(self, clause: str) -> list[ServerEvent]:
        """A clause was handed to synthesis."""
        return [*self._go_on(), *self._last.text(clause)] if clause and not self._over else []

    def heard(self, heard: str, at_ms: float) -> list[ServerEvent]:
        """More of the reply was heard."""
        if self._over:
            return []
        if not heard:
            return self._last.audible(at_ms)
        shares = self._shares(heard, "")
        return [event for response, (said, _) in shares for event in response.heard(said, at_ms)]

    def tool_started(self, call_id: str, name: str, arguments: str) -> list[ServerEvent]:
        """The server runs a tool for the reply."""
        return [] if self._over else [*self._go_on(), *self._last.tool_started(call_id, name, arguments)]

    def function_called(self, call_id: str, name: str, arguments: str, at_ms: float) -> list[ServerEvent]:
        """The client is asked to run a tool of its own."""
        if self._over:
            return []
        events = [*self._go_on(), *self._last.function_called(call_id, name, arguments)]
        return [*events, *self._hand_over(at_ms)]

    def tool_ended(self, call_id: str, output: str, at_ms: float, *, ok: bool) -> list[ServerEvent]:
        """A tool ended, wherever it ran, perhaps after the reply did."""
        events = [event for response in self._responses for event in response.tool_ended(call_id, output, ok=ok)]
        return events if self._over else [*events, *self._hand_over(at_ms)]

    def ended(self, status: str, heard: str, unheard: str, at_ms: float) -> list[ServerEvent]:
        """The reply is over. `status` is one of `actions.ReplyEnded`; a second end says nothing."""
        if self._over:
            return []
        self._over = True
        events: list[ServerEvent] = []
        for response, (said, unsaid) in self._shares(heard, unheard):
            events += response.ended(status, said, unsaid, at_ms)
        return events

    def _go_on(self) -> list[ServerEvent]:
        """After the client was asked for something: begin another response."""
        if not self._last.handed_over or len(self._responses) >= MAX_RESPONSES:
            return []
        self._responses.append(OpenResponse(self._conversation, self._conversation_id))
        return self._last.created()

    def _hand_over(self, at_ms: float) -> list[ServerEvent]:
        return self._last.hand_over(at_ms) if self._last.asks_client and not self._last.handed_over else []

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
