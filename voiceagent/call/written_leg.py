"""A leg without audio: a client's messages go into its call as typed ones, and the agent's one answer comes out as text, by the
same turn engine, tools and guards as in a spoken call. The call ends with the answer, or once it asks for the client's tools."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Literal, TypeAlias

from msgspec import Struct
from typing_extensions import override

from voiceagent.call.observer import CallFeature, RunningCall
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.conversation.rules import ReplyWish
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.leg import InboundFrame, Leg
from voiceagent.media.playout import Playout

MAX_CHARACTERS = 64_000
"""The longest answer."""
NO_FRAMES: tuple[InboundFrame, ...] = ()
NO_EVENTS: tuple[str, ...] = ()


class AnswerText(Struct, frozen=True):
    """A clause of the answer."""

    text: str


class AnswerCall(Struct, frozen=True):
    """The client is asked to run a tool of its own."""

    call: ToolCall


class AnswerEnd(Struct, frozen=True):
    """The answer is complete. The tokens are an estimate where the engine did not count them."""

    reason: Literal["stop", "length", "tool_calls", "content_filter"]
    prompt_tokens: int = 0
    tokens: int = 0
    ran: tuple[Message, ...] = ()
    """The calls of the agent's tools and their results."""
    confirming: ToolCall | None = None
    """The call that the answer asks the caller to confirm."""


class AnswerFailed(Struct, frozen=True):
    """There is no answer, or no more of it. `code` is a slug, `message` is one line."""

    code: str
    message: str


AnswerPart: TypeAlias = AnswerText | AnswerCall | AnswerEnd | AnswerFailed


class WrittenMessage(Struct, frozen=True):
    """A message of the conversation before the answer."""

    message: Message
    confirming: ToolCall | None = None
    """The call that it asked the caller to confirm."""


class WrittenLeg(Leg, CallFeature):
    """Implements `Leg`, and takes part in its call as a feature."""

    def __init__(self, messages: tuple[WrittenMessage, ...], tools: frozenset[str], tell: Callable[[AnswerPart], None]) -> None:
        """`messages` are the conversation; `tools` are the names of those that the client runs. `tell` is given the answer."""
        self.kind = LegKind.TEXT
        self.playout = Playout()
        self.cleaner = AudioCleaner()
        self._messages = messages
        self._tools = tools
        self.tell = tell
        self._call: RunningCall
        """Set while the call runs."""
        self._closed = asyncio.Event()
        self._end_reason = ""
        self._reply_id = -1
        self._length = 0
        self.ran_tools = False
        """True once a tool of the agent has run, which another request would run again."""
        self._asked = self._generated = self._is_filtered = False
        self._running: set[str] = set()
        """The agent's tools that run."""
        self._calls: dict[str, ToolCall] = {}
        self._ran: list[Message] = []
        self._counted: act.ReplyCounted | None = None
        self._over = False

    @override
    def begin(self, call: RunningCall) -> None:
        self._call = call
        call.tasks.start("messages", self._ask(call))

    async def _ask(self, call: RunningCall) -> None:
        """Feed the conversation, and ask for the answer. Documents are searched for the caller's last message."""
        said = [place for place, one in enumerate(self._messages) if one.message.role != "system"][-1]
        typed = self._messages[said].message
        for place, one in enumerate(self._messages):
            if place != said or typed.role != "user":
                added = ev.HistoryAdded(call.now_ms(), one.message, f"message {place}", confirming=one.confirming)
                call.feed(await call.admit(added))
        if typed.role == "user":
            call.feed(await call.admit(ev.TextReceived(call.now_ms(), typed.content, key=f"message {said}")))
        call.feed(ev.ReplyRequested(call.now_ms(), ReplyWish()))

    @override
    def stepped(self, event: ev.Event, actions: tuple[act.Action, ...]) -> None:
        if self._over:
            return
        ended = {action.call_id for action in actions if isinstance(action, act.ToolEnded)}
        for action in actions:
            if isinstance(action, act.ToolStarted):
                self._tool_started(action, is_over=action.call_id in ended)
            else:
                self._take(action)
        if isinstance(event, ev.GenerationDone) and event.reply_id == self._reply_id:
            self._generated = True
        if self._asked and self._generated and not self._running:
            live = self._call.state.reply
            self._end(self._complete("tool_calls", live.prompt_tokens, live.tokens) if live else self._complete("tool_calls"))

    def _take(self, action: act.Action) -> None:
        match action:
            case act.ReplyStarted(reply_id):
                self._reply_id = reply_id
            case act.ReplyText(_, _, text) if not self._over:
                delta = text if not self._length else " " + text.lstrip()
                self._length += len(delta)
                self.tell(AnswerText(delta))
                if self._length >= MAX_CHARACTERS:
                    self._end(self._complete("length"))
            case act.ToolEnded(call_id=call_id, output=output):
                self._running.discard(call_id)
                if (call := self._calls.pop(call_id, None)) is not None:
                    self._ran += (Message("assistant", "", (call,)), Message("tool", output, tool_call_id=call_id))
            case act.GuardHit():
                self._is_filtered = True
            case act.ReplyCounted():
                self._counted = action
            case act.Failure(code, message):
                self._end(AnswerFailed(code, message))
            case act.ReplyEnded(_, status):
                self._end(self._ended(status))
            case act.End(reason):
                self._end(AnswerFailed(reason, f"The answer ended before it was complete: {reason}."))

    def _tool_started(self, started: act.ToolStarted, *, is_over: bool) -> None:
        """A tool was called. `is_over`: it is not to run, or its result is known."""
        call = ToolCall(started.call_id, started.name, started.arguments)
        self._generated = False
        if self._over or (started.name in self._tools and is_over):
            return
        if started.name in self._tools:
            self._asked = True
            self.tell(AnswerCall(call))
            return
        self._calls[call.call_id] = call
        self._running |= set() if is_over else {call.call_id}
        self.ran_tools = self.ran_tools or not is_over

    def _complete(
        self, reason: Literal["stop", "length", "tool_calls", "content_filter"], prompt_tokens: int = 0, tokens: int = 0
    ) -> AnswerEnd:
        return AnswerEnd(reason, prompt_tokens, tokens, tuple(self._ran), self._call.state.tools.confirming)

    def _ended(self, status: str) -> AnswerEnd | AnswerFailed:
        if status not in ("completed", "incomplete"):
            return AnswerFailed("reply_failed", "The answer ended before it was complete.")
        reason: Literal["stop", "length", "content_filter"] = "length" if status == "incomplete" else "stop"
        counted = self._counted or act.ReplyCounted(0, 0, 0)
        return self._complete("content_filter" if self._is_filtered else reason, counted.prompt_tokens, counted.tokens)

    def _end(self, part: AnswerEnd | AnswerFailed) -> None:
        if not self._over:
            self._over = True
            self.tell(part)
            self._call.feed(ev.HangUp(self._call.now_ms(), "answered" if isinstance(part, AnswerEnd) else "failed"))

    @override
    def ended(self) -> None:
        """The call is over, perhaps because it broke."""
        if not self._over:
            self._over = True
            self.tell(AnswerFailed("failed", "The answer ended before it was complete; the server's log says why."))
        del self._call  # the answer is kept for longer than its call

    def leave(self) -> None:
        """Nobody waits for the answer any more: end the call."""
        self._end_reason = self._end_reason or "lost"
        self._closed.set()

    @override
    async def frames(self) -> AsyncIterator[InboundFrame]:
        await self._closed.wait()
        for frame in NO_FRAMES:
            yield frame

    @override
    async def client_events(self) -> AsyncIterator[str]:
        await self._closed.wait()
        for text in NO_EVENTS:
            yield text

    @override
    def send_event(self, event: JsonObject) -> None:
        """The Realtime session's events go to nobody."""

    @property
    @override
    def end_reason(self) -> str:
        return self._end_reason

    @property
    @override
    def counters(self) -> Mapping[str, int]:
        return {}

    @property
    @override
    def drops(self) -> Mapping[str, int]:
        return {}

    @override
    async def wait_connected(self) -> bool:
        return True

    @override
    async def close(self) -> None:
        self._end_reason = self._end_reason or "closed"
        self._closed.set()
