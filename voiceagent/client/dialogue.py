"""A scripted conversation through the headless caller: it says an utterance, waits until the agent's turn is over, and measures
the turn from the audio that was sent and received. For `voiceagent call`, tests and benchmarks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voiceagent.client.caller import Caller, ServerEvent
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.media.ticker import FRAME_MS

QUIET_MS = 400.0
"""The agent's turn is over when the events say so and nothing was heard for this long."""
STOPPED_MS = 150.0
MAX_EVENTS = 100_000


@dataclass(slots=True)
class Exchange:
    """One turn as the caller's side saw it. Times come from the audio sent and received."""

    said: str
    caption: str = ""
    """What the agent understood."""
    heard: str = ""
    """The agent's words that were played."""
    unheard: str = ""
    """Its words that the interruption cut."""
    tools: list[JsonObject] = field(default_factory=list)
    """`voiceagent.tool` events of ended tools: name, arguments, output, ok."""
    turn: JsonObject | None = None
    """The server's `voiceagent.turn`: its stages against the budget."""
    voice_to_voice_ms: float | None = None
    """From the end of the caller's speech to the first agent audio received; None when there was none."""
    barge_in_stop_ms: float | None = None
    """From the onset of the caller's interruption to the last agent audio received; None when nobody interrupted."""


class Dialogue:
    """Drives one connected `Caller`. `async with` it, so that its reader of events ends."""

    def __init__(self, caller: Caller, *, timeout_s: float = 30.0) -> None:
        """`timeout_s` is the longest that any one step may take."""
        self.caller = caller
        self.exchanges: list[Exchange] = []
        self.greeting = ""
        self.errors: list[dict[str, object]] = []
        self.call_end_reason = ""
        self._timeout_s = timeout_s
        self._events: list[ServerEvent] = []
        self._arrived = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Dialogue:
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.wait([self._reader])

    async def _read(self) -> None:
        async for event in self.caller.events():
            if len(self._events) < MAX_EVENTS:
                self._events.append(event)
            if event.type == "error":
                self.errors.append(event.data.get("error", {}))
            if event.type == "voiceagent.call_ended":
                self.call_end_reason = str(event.data.get("reason", ""))
            self._arrived.set()
        self._arrived.set()

    def events_since(self, start: int) -> list[ServerEvent]:
        """The events from number `start` on."""
        return self._events[start:]

    @property
    def event_count(self) -> int:
        """How many events have arrived."""
        return len(self._events)

    async def wait_event(self, wanted: Callable[[ServerEvent], bool], since: int, what: str) -> ServerEvent:
        """The first event from number `since` on that matches. Raises MediaError after the time-out, or when the call ends."""
        try:
            async with asyncio.timeout(self._timeout_s):
                while True:
                    for event in self._events[since:]:
                        if wanted(event):
                            return event
                    if self._reader is None or self._reader.done():
                        raise MediaError(f"the call ended before {what}{self._why()}")
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError as error:
            raise MediaError(f"waited {self._timeout_s:g} s for {what}{self._why()}") from error

    def _why(self) -> str:
        if self.errors:
            return f"; the server reported: {self.errors[-1].get('message', self.errors[-1])}"
        return f"; the server ended it: {self.call_end_reason}" if self.call_end_reason else ""

    async def wait_greeting(self) -> str:
        """Wait until the agent has greeted; returns its words. Use it only with an agent that greets."""
        await self.wait_event(lambda event: event.type == "response.done", 0, "the greeting (has it none: --no-greeting)")
        await self.caller.wait_quiet(QUIET_MS)
        self.greeting = self._heard_since(0)[0]
        return self.greeting

    async def turn(
        self,
        said: str,
        pcm: NDArray[np.int16],
        rate_hz: int,
        *,
        interrupt_with: tuple[str, NDArray[np.int16]] | None = None,
        interrupt_after_s: float = 1.0,
    ) -> list[Exchange]:
        """Say `pcm` (mono int16, shape (samples,)) and wait for the agent's turn to end. With `interrupt_with`, say that
        during the reply, `interrupt_after_s` after its first audio; this makes a second exchange. Raises MediaError when no
        reply comes."""
        first = await self._say(said, pcm, rate_hz)
        if interrupt_with is None:
            await self._finish(first)
            return [first[0]]
        exchange, since = first
        text, interruption = interrupt_with
        await asyncio.sleep(interrupt_after_s)
        began_ms = time.monotonic() * 1000.0
        second = Exchange(text)
        self.caller.say(interruption, rate_hz)
        await self.wait_event(lambda event: event.type == "voiceagent.turn", since, "the interrupted turn's end")
        second_since = self.event_count
        stopped_ms = await self.caller.wait_quiet(STOPPED_MS)
        onset_ms = self.caller.said.first_onset_after(began_ms - FRAME_MS)
        exchange.barge_in_stop_ms = None if onset_ms is None else max(0.0, stopped_ms - onset_ms)
        self._fill(exchange, since, second_since)
        self.exchanges.append(exchange)
        ended_ms = await self.caller.wait_said()
        await self._first_audio(second, ended_ms)
        await self._finish((second, second_since))
        return [exchange, second]

    async def _say(self, said: str, pcm: NDArray[np.int16], rate_hz: int) -> tuple[Exchange, int]:
        exchange, since = Exchange(said), self.event_count
        self.caller.say(pcm, rate_hz)
        await self._first_audio(exchange, await self.caller.wait_said())
        return exchange, since

    async def _first_audio(self, exchange: Exchange, ended_ms: float) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                exchange.voice_to_voice_ms = await self.caller.wait_heard(ended_ms) - ended_ms
        except TimeoutError as error:
            raise MediaError(f"waited {self._timeout_s:g} s for an answer to {exchange.said!r}{self._why()}") from error

    async def _finish(self, part: tuple[Exchange, int]) -> None:
        exchange, since = part
        await self.wait_event(lambda event: event.type == "voiceagent.turn", since, "the turn's end")
        await self.caller.wait_quiet(QUIET_MS)
        self._fill(exchange, since, self.event_count)
        self.exchanges.append(exchange)

    def _heard_since(self, since: int, until: int | None = None) -> tuple[str, str]:
        """What was heard and unheard of the replies that began to be heard between the events `since` and `until`. An interrupted
        reply's last report comes after the next utterance has begun."""
        end = len(self._events) if until is None else until
        began: dict[str, int] = {}
        spoken: dict[str, tuple[str, str]] = {}
        for index, event in enumerate(self._events):
            if event.type == "voiceagent.heard":
                item = str(event.data["item_id"])
                began.setdefault(item, index)
                spoken[item] = (str(event.data["heard"]), str(event.data["unheard"]))
        mine = [spoken[item] for item, index in began.items() if since <= index < end]
        return " ".join(heard for heard, _ in mine if heard), " ".join(unheard for _, unheard in mine if unheard)

    def _fill(self, exchange: Exchange, since: int, until: int) -> None:
        for event in self._events[since:]:
            if event.type == "voiceagent.turn" and exchange.turn is None:
                exchange.turn = event.data
        for event in self._events[since:until]:
            if event.type == "conversation.item.input_audio_transcription.completed":
                exchange.caption = f"{exchange.caption} {event.data['transcript']}".strip()
            elif event.type == "voiceagent.tool" and event.data.get("status") in ("completed", "failed"):
                exchange.tools.append(event.data)
        exchange.heard, exchange.unheard = self._heard_since(since, until)
