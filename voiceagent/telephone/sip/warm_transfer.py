"""A warm transfer: the caller waits, a colleague is called on a telephone of their own and is told by the agent what the caller
wants, then both are joined and the agent leaves. Both telephones stay with this server until one of them hangs up: a trunk need
not know REFER for that, and whatever goes wrong before they are joined, the caller is still here and is with the agent again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.beep import SingleBeep
from voiceagent.audio.format import HEARD_HZ, PHONE_HZ
from voiceagent.audio.resample import ShortResampler
from voiceagent.errors import MediaError
from voiceagent.media.leg import Leg
from voiceagent.media.playout import Position
from voiceagent.server.calls.calls import StartCall
from voiceagent.server.http.problems import Problem
from voiceagent.settings.sip import TransferTarget
from voiceagent.telephone.handover import CALLER_HUNG_UP, Handover
from voiceagent.telephone.sip.audio import mixed
from voiceagent.telephone.sip.ears import Aside
from voiceagent.telephone.sip.relay import AudioRelay, WaitingTone
from voiceagent.telephone.sip.sip_leg import GatewayLeg

TELLING_TIMEOUT_S = 45.0
"""From the moment that the colleague answers until they have heard the summary."""
KEY_TIMEOUT_S = 15.0
"""After the summary, for the key that takes the call."""
GONE_TIMEOUT_S = 10.0
"""For the words to a colleague whose caller has hung up."""
JOINED_LIMIT_S = 4 * 3600.0
"""Of two telephones that are joined."""
LONGEST_S = TELLING_TIMEOUT_S + KEY_TIMEOUT_S + GONE_TIMEOUT_S + 20.0
"""Of a warm transfer besides its ringing, with the time that lines and connections take."""
CALLER_GONE = "the caller hung up."
NOT_TRANSFERRED = "not_transferred"
"""Why the call with a colleague ends who does not get a caller that is still there."""

log = logging.getLogger(__name__)

Consult = Callable[[TransferTarget, StartCall], Awaitable[str]]
"""Calls a colleague, on a free line and with a place of their own, and starts their call once they have answered: its id.
Raises Problem."""


async def transfer_warmly(caller: GatewayLeg, target: TransferTarget, consult: Consult) -> str:
    """Have the caller wait, and join them with a colleague; why that failed, or nothing."""
    handover = caller.handover
    if handover is None:
        return "there is no agent here who could hand the caller over"
    wait_with_tone(caller)
    caller.awaits_colleague = True
    summary = asyncio.create_task(handover.summary(), name="summary of a transfer")
    why = "the call ended."
    try:
        why = await _consulted(caller, target, consult, handover, summary)
    except Problem as problem:
        why = str(problem)
    finally:
        summary.cancel()
        await asyncio.gather(summary, return_exceptions=True)
        if caller.is_kept:  # both are joined, even if this was cancelled meanwhile
            handover.leave()
        elif not caller.end_reason:
            caller.awaits_colleague = False
            caller.stand_aside(None)
    return why


async def _consulted(
    caller: GatewayLeg, target: TransferTarget, consult: Consult, handover: Handover, summary: asyncio.Task[str]
) -> str:
    """Call the colleague, and wait until both are joined; why they are not, or nothing. Raises Problem."""
    made: list[Consultation] = []

    def start_call(leg: Leg, call_id: str, session: dict[str, object]) -> Consultation:
        assert isinstance(leg, GatewayLeg)
        made.append(Consultation(caller, leg, target, handover, summary))
        return made[-1]

    calling = asyncio.ensure_future(consult(target, start_call))
    try:
        await asyncio.wait((calling, caller.over), return_when=asyncio.FIRST_COMPLETED)
        if not calling.done():
            return CALLER_GONE
        calling.result()
        return await made[0].outcome
    finally:
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
        for consultation in made:
            consultation.give_up()


def wait_with_tone(leg: GatewayLeg) -> None:
    """Have a caller wait: they hear the agent to the end of its words, then a short tone every few seconds, and are not heard."""
    tone = WaitingTone()

    def say(voice: NDArray[np.int16]) -> NDArray[np.int16] | None:
        return tone.take(may_sound=not voice.any())

    leg.stand_aside(Aside(_nothing, say, _no_key))


class Consultation:
    """The colleague's telephone, from their answer to its end. Implements `CallHandle`: it is a call of its own, and has a place
    of its own."""

    def __init__(
        self, caller: GatewayLeg, colleague: GatewayLeg, target: TransferTarget, handover: Handover, summary: asyncio.Task[str]
    ) -> None:
        self.outcome: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Empty once both are joined, else why they are not."""
        self._caller = caller
        self._colleague = colleague
        self._target = target
        self._handover = handover
        self._summary = summary
        self._stop: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._given_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._said = asyncio.Event()
        self._is_joined = False
        colleague.leave()
        colleague.playout.on_sent = self._on_sent
        colleague.stand_aside(Aside(self._listen_for_beep(), _silent, self._on_key))

    async def run(self) -> str:
        """Carry it to its end; why it ended."""
        try:
            why = await self._ask()
            if why or self._stop.done():
                self._settle(why or "the call ended.")
                if why != CALLER_GONE:
                    return NOT_TRANSFERRED
                await self._tell_gone()
                return CALLER_HUNG_UP
            self._join()
            self._settle("")
            return await self._last()
        finally:
            self._settle("the call ended.")
            await asyncio.gather(self._colleague.close(), *([self._caller.give_up()] if self._is_joined else []))

    def hang_up(self, reason: str) -> None:
        """See `CallHandle`."""
        if not self._stop.done():
            self._stop.set_result(reason)

    def give_up(self) -> None:
        """Nobody waits for the colleague any more: end their call, unless both are joined. One whose caller has hung up is
        told so first."""
        if not self._is_joined and not self._given_up.done():
            self._given_up.set_result(None)

    def _settle(self, why: str) -> None:
        if not self.outcome.done():
            self.outcome.set_result(why)

    async def _ask(self) -> str:
        """Tell the colleague who waits; why they do not get the call, or nothing."""
        telling = asyncio.create_task(self._told_all(), name="warm transfer")
        events = (telling, self._answer, self._stop, self._given_up, self._colleague.over, self._caller.over)
        try:
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
            if self._caller.over.done():
                return CALLER_GONE
            if self._stop.done():
                return "the server ended the call."
            if self._given_up.done():
                return "the transfer was given up."
            if self._colleague.over.done():
                return "they hung up before they were connected."
            return self._answer.result() if self._answer.done() else telling.result()
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _tell_gone(self) -> None:
        """Tell the colleague that the caller has hung up, unless they or the server end the call meanwhile."""
        self._colleague.playout.cancel(0)
        telling = asyncio.create_task(self._told_gone(), name="end of a warm transfer")
        events = (telling, self._stop, self._colleague.over)
        try:
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED, timeout=GONE_TIMEOUT_S)
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _told_gone(self) -> None:
        if await self._colleague.wait_connected():
            await self._handover.tell_gone(self._colleague.playout)
            await self._heard_all()

    async def _heard_all(self) -> None:
        while not self._colleague.playout.idle:
            self._said.clear()
            await self._said.wait()

    async def _told_all(self) -> str:
        try:
            async with asyncio.timeout(TELLING_TIMEOUT_S):
                if not await self._colleague.wait_connected():
                    return "their telephone sent no audio."
                summary = await asyncio.shield(self._summary)
                await self._handover.tell(self._colleague.playout, summary, self._target.accept_key)
                await self._heard_all()
        except TimeoutError:
            return "they did not hear the agent to its end."
        if not self._target.accept_key:
            return ""
        try:
            async with asyncio.timeout(KEY_TIMEOUT_S):
                return await asyncio.shield(self._answer)
        except TimeoutError:
            return f"they did not press {self._target.accept_key} to take the call."

    def _on_sent(self, position: Position) -> None:
        self._said.set()

    def _on_key(self, key: str) -> None:
        if self._target.accept_key and not self._answer.done():
            self._answer.set_result("" if key == self._target.accept_key else "they declined the call.")

    def _listen_for_beep(self) -> Callable[[NDArray[np.int16]], None]:
        """A telephone that beeps is an answering machine's; where a key takes the call, no machine can."""
        beeps, up = SingleBeep(), ShortResampler(PHONE_HZ, HEARD_HZ)

        def listen(pcm: NDArray[np.int16]) -> None:
            if beeps.feed(up.process(pcm)) is not None and not self._answer.done():
                self._answer.set_result("an answering machine took the call.")

        return _nothing if self._target.accept_key else listen

    def _join(self) -> None:
        """Each hears the other, and both hear the agent's last words."""
        self._is_joined = True
        caller, colleague = self._caller, self._colleague
        to_caller, to_colleague, agent = AudioRelay(), AudioRelay(), AudioRelay()
        colleague.playout.cancel(0)

        def to_the_caller(voice: NDArray[np.int16]) -> NDArray[np.int16] | None:
            agent.put(voice)
            return to_caller.take()

        def to_the_colleague(_: NDArray[np.int16]) -> NDArray[np.int16] | None:
            said, own = to_colleague.take(), agent.take()
            return said if own is None else own if said is None else mixed(said, own)

        caller.keep()
        caller.stand_aside(Aside(to_colleague.put, to_the_caller, _presses(colleague)))
        colleague.stand_aside(Aside(to_caller.put, to_the_colleague, _presses(caller)))

    async def _last(self) -> str:
        """Until one of the two hangs up, or the server stops; why."""
        ends = (self._stop, self._colleague.over, self._caller.over)
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED, timeout=JOINED_LIMIT_S)
        return next((end.result() for end in ends if end.done()), "call_limit")


def _presses(other: GatewayLeg) -> Callable[[str], None]:
    """Keys go through, where the other side takes any."""

    def press(key: str) -> None:
        with suppress(MediaError, ValueError):
            other.press(key)

    return press


def _nothing(pcm: NDArray[np.int16]) -> None:
    """Who waits is not heard."""


def _silent(voice: NDArray[np.int16]) -> None:
    """Nothing is heard beside the agent."""


def _no_key(key: str) -> None:
    """Keys of who waits mean nothing."""
