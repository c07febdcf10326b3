"""A scripted conversation through the headless caller: it says an utterance, waits until the agent's turn is over, and measures
the turn from the audio that was sent and received. For `voiceagent call`, tests and benchmarks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS
from voiceagent.client.caller import Caller, ReceivedEvent
from voiceagent.client.turns import HeardTurn, TurnReader
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.task_owner import TaskOwner

QUIET_MS = 400.0
"""The agent's turn is over when the events say so and nothing was heard for this long."""
STOPPED_MS = 150.0
UNANSWERED_MS = 3000.0
"""Words with which the caller has stopped the agent ("Stop.") need no answer: none is waited for longer than this."""
MAX_EVENTS = 100_000

Act = NDArray[np.int16] | Callable[[], Awaitable[None]]
"""Speech, mono int16, shape (samples,), or something else that the caller does, such as pressing keys, which returns when it is
done."""


@dataclass(slots=True)
class Exchange:
    """One utterance and the agent's turns after it, as the caller's side saw them. Times are of the audio sent and received."""

    said: str
    turns: list[HeardTurn] = field(default_factory=list)
    """Usually one. An utterance that the agent cut off has more."""
    unanswered: str = ""
    """Words that were understood, but not answered."""
    spoken_over: HeardTurn | None = None
    """The agent's turn that this utterance was said over; None when the agent was silent."""
    voice_to_voice_ms: float | None = None
    """From the end of the caller's speech to the first agent audio received after it; None when there was none."""
    may_go_unanswered: bool = False
    """True for a sound that asks nothing of the agent, such as a cough."""
    barge_in_stop_ms: float | None = None
    """From the onset of the interruption of this exchange's reply to the last agent audio received; None when nobody interrupted
    it."""

    @property
    def caption(self) -> str:
        """The words that the agent understood."""
        return " ".join(filter(None, [*(turn.caption for turn in self.turns), self.unanswered]))

    @property
    def heard(self) -> str:
        """The agent's words that were played."""
        return " ".join(turn.heard for turn in self.turns if turn.heard)

    @property
    def unheard(self) -> str:
        """Its words that were cut."""
        return " ".join(turn.unheard for turn in self.turns if turn.unheard)

    @property
    def tools(self) -> list[JsonObject]:
        """`voiceagent.tool` events of ended tools."""
        return [tool for turn in self.turns for tool in turn.tools]

    @property
    def turn(self) -> JsonObject | None:
        """The first of the server's `voiceagent.turn`s: its stages against the budget."""
        return next((turn.measured for turn in self.turns if turn.measured is not None), None)

    @property
    def needs_no_answer(self) -> bool:
        """True when it stopped the agent ("Stop."), or the agent went on over it ("mm-hm")."""
        over = self.spoken_over
        return self.may_go_unanswered or (over is not None and (over.is_interrupted or bool(over.passed_over)))

    @property
    def failure(self) -> str:
        """The reason why it was not answered; empty if it was."""
        failed = "; ".join(turn.failure for turn in self.turns if turn.failure)
        was_cut = self.needs_no_answer or self.barge_in_stop_ms is not None
        return failed or ("" if self.heard or was_cut else "nothing was heard")


class Dialogue:
    """Drives one connected `Caller`. `async with` it, so that its reader of events ends."""

    def __init__(self, caller: Caller, *, timeout_s: float = 30.0) -> None:
        """`timeout_s` is the longest that any one step may take."""
        self.caller = caller
        self.exchanges: list[Exchange] = []
        self.greeting, self.has_greeted = "", False
        self.errors: list[dict[str, object]] = []
        self.call_end_reason = ""
        self._timeout_s = timeout_s
        self._resumed_before = 0
        self._events: list[ReceivedEvent] = []
        self._turns = TurnReader()
        self._arrived = asyncio.Event()
        self._reading = TaskOwner()

    async def __aenter__(self) -> Dialogue:
        self._reading.start_alone(self._read(), "events of a call")
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._reading.close()

    async def _read(self) -> None:
        async for event in self.caller.events():
            if len(self._events) < MAX_EVENTS:
                self._events.append(event)
            self._turns.take(event.data)
            if event.type == "error":
                self.errors.append(event.data.get("error", {}))
            if event.type == "voiceagent.call_ended":
                self.call_end_reason = str(event.data.get("reason", ""))
            self._arrived.set()
        self._arrived.set()

    def events_since(self, start: int) -> list[ReceivedEvent]:
        """The events from number `start` on."""
        return self._events[start:]

    @property
    def event_count(self) -> int:
        """The number of events that have arrived."""
        return len(self._events)

    @property
    def turns(self) -> list[HeardTurn]:
        """All turns and replies of the call so far, the greeting with them."""
        return self._turns.turns

    async def wait_event(self, wanted: Callable[[ReceivedEvent], bool], since: int, what: str) -> ReceivedEvent:
        """The first event from number `since` on that matches. Raises MediaError after the time-out, or when the call ends."""
        try:
            async with asyncio.timeout(self._timeout_s):
                while True:
                    for event in self._events[since:]:
                        if wanted(event):
                            return event
                    if not self._reading:
                        raise MediaError(f"the call ended before {what}{self._why()}")
                    self._arrived.clear()
                    await self._arrived.wait()
        except TimeoutError as error:
            raise MediaError(f"waited {self._timeout_s:g} s for {what}{self._why()}") from error

    def _why(self) -> str:
        if self.errors:
            return f"; the server reported: {self.errors[-1].get('message', self.errors[-1])}"
        return f"; the server ended it: {self.call_end_reason}" if self.call_end_reason else ""

    async def greets(self) -> bool:
        """True when the server reports that the agent greets. A server that does not report it is taken for one whose agent
        does."""
        created = await self.wait_event(lambda event: event.type == "session.created", 0, "the session")
        ours = created.data.get("session", {}).get("voiceagent", {})
        return bool(ours.get("greeting", True))

    async def wait_greeting(self) -> str:
        """Wait until the agent has greeted; returns its words. Use it only with an agent that greets."""
        await self.wait_event(lambda event: event.type == "response.done", 0, "the greeting")
        await self.caller.wait_quiet(QUIET_MS)
        self.greeting, self.has_greeted = self.turns[0].heard, True
        return self.greeting

    async def turn(
        self,
        said: str,
        act: Act,
        rate_hz: int,
        *,
        interrupt_with: tuple[str, Act] | None = None,
        interrupt_after_s: float = 1.0,
        may_go_unanswered: bool = False,
    ) -> list[Exchange]:
        """Say it and wait for the agent's turn to end. With `interrupt_with`, say that during the reply, `interrupt_after_s`
        after its first audio; this makes a second exchange. The last thing said may go unanswered where that is allowed. Raises
        MediaError when no reply comes. `exchanges` then holds the reply so far."""
        first = Exchange(said, may_go_unanswered=may_go_unanswered and interrupt_with is None)
        self.exchanges.append(first)
        since, self._resumed_before = len(self.turns), self.caller.resumed
        try:
            ended_ms = await self._act(act, rate_hz)
            await self._speaks(first, ended_ms)
            if interrupt_with is None:
                await self._answer(first, since, ended_ms)
                return [first]
            await asyncio.sleep(interrupt_after_s)
        finally:
            first.turns = self.turns[since:]
            first.unanswered = self._turns.pending
        said, act = interrupt_with
        over = self.turns[-1] if self._turns.is_replying else None
        second = Exchange(said, spoken_over=over, may_go_unanswered=may_go_unanswered)
        await self._interrupt(first, since, second, act, rate_hz)
        return [first, second]

    async def _interrupt(self, first: Exchange, since: int, second: Exchange, act: Act, rate_hz: int) -> None:
        """Say something while the agent answers the first utterance."""
        middle = len(self.turns)
        self.exchanges.append(second)
        first.unanswered = ""
        try:
            ended_ms, first.barge_in_stop_ms = await asyncio.gather(
                self._act(act, rate_hz), self._stops(middle, is_heard=not callable(act))
            )
            await self._speaks(second, ended_ms)
            await self._answer(second, middle, ended_ms)
        finally:
            first.turns, second.turns = self.turns[since:middle], self.turns[middle:]
            second.unanswered = self._turns.pending or (second.spoken_over.passed_over if second.spoken_over else "")

    async def _stops(self, middle: int, *, is_heard: bool) -> float | None:
        """Wait until the agent is silent; returns the time from the onset of what is said, or done, over it."""
        began_ms = time.monotonic() * 1000.0
        await self._until(lambda: not self._turns.is_replying or len(self.turns) > middle, "the interrupted turn's end")
        stopped_ms = await self.caller.wait_quiet(STOPPED_MS)
        onset_ms = self.caller.said.first_onset_after(began_ms - FRAME_MS) if is_heard else began_ms
        return stopped_ms - onset_ms if onset_ms is not None and stopped_ms > onset_ms else None

    async def _act(self, act: Act, rate_hz: int) -> float:
        """Do it; returns when it ended. Sound too soft to be speech ends with its last sample."""
        began_ms = time.monotonic() * 1000.0
        if callable(act):
            await act()
            return time.monotonic() * 1000.0
        self.caller.say(act, rate_hz)
        try:
            ended_ms = await self.caller.wait_said()
        except MediaError as error:
            raise MediaError(f"{error}{self._why()}") from error
        return ended_ms if ended_ms > began_ms else time.monotonic() * 1000.0

    async def _speaks(self, exchange: Exchange, ended_ms: float) -> None:
        began_ms = time.monotonic() * 1000.0

        def is_settled() -> bool:
            if (self.caller.heard.last_voiced_ms or 0.0) > ended_ms:
                return True
            waited_ms = time.monotonic() * 1000.0 - began_ms
            return exchange.needs_no_answer and not self._is_busy and waited_ms > UNANSWERED_MS

        await self._until(is_settled, f"an answer to {exchange.said!r}")
        onset_ms = self.caller.heard.first_onset_after(ended_ms)
        exchange.voice_to_voice_ms = None if onset_ms is None else onset_ms - ended_ms

    @property
    def _is_busy(self) -> bool:
        return self._turns.is_hearing or self._turns.is_replying

    def _quiet_ms(self) -> float:
        """The time since anything was heard or an event came."""
        last_event_ms = self._events[-1].received_ms if self._events else 0.0
        return time.monotonic() * 1000.0 - max(self.caller.heard.last_voiced_ms or 0.0, last_event_ms)

    async def _answer(self, exchange: Exchange, since: int, ended_ms: float) -> None:
        """Wait until all of the utterance is answered and the agent is silent. The call may end with the answer."""

        def is_over() -> bool:
            now_ms, turns = time.monotonic() * 1000.0, self.turns[since:]
            if self.caller.end_reason:
                return any(turn.heard for turn in turns)
            answered = any(turn.measured is not None for turn in turns)
            if self.caller.resumed > self._resumed_before:  # the server measures no turn in which the caller was away
                answered = bool(turns) and turns[-1].is_over and not self._turns.pending
            if exchange.needs_no_answer and not answered:
                answered = now_ms - ended_ms > UNANSWERED_MS
            return answered and not self._is_busy and min(self._quiet_ms(), now_ms - ended_ms) > QUIET_MS

        await self._until(is_over, "the turn's end", lambda: self._lacks(self.turns[since:]))
        if exchange.voice_to_voice_ms is None:
            onset_ms = self.caller.heard.first_onset_after(ended_ms)
            exchange.voice_to_voice_ms = None if onset_ms is None else onset_ms - ended_ms

    def _lacks(self, turns: Sequence[HeardTurn]) -> str:
        """Says what these turns lack for their end, and whether anything still happens."""
        lacking = [
            line
            for line, is_so in (
                ("what the caller says is not known to be over", self._turns.is_hearing),
                ("the reply is not over", self._turns.is_replying),
                ("its times have not come", all(turn.measured is None for turn in turns)),
            )
            if is_so
        ]
        return f" ({', '.join(lacking or ['it is not quiet'])}; the last event or sound is {self._quiet_ms() / 1000:.1f} s old)"

    async def _until(self, condition: Callable[[], bool], what: str, lacks: Callable[[], str] = str) -> None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self.caller.wait_until(lambda: condition() or bool(self.caller.end_reason))
                if self.caller.end_reason:
                    await self._reading.finished()  # the last events say more
        except TimeoutError as error:
            raise MediaError(f"waited {self._timeout_s:g} s for {what}{lacks()}{self._why()}") from error
        if not condition():
            raise MediaError(f"the call ended before {what}{self._why()}")
