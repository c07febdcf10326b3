"""A warm transfer: the caller waits, a colleague is called on a telephone of their own and is briefed by the agent on what the
caller wants, then both are bridged and the agent leaves. Both telephones stay with this server until one of them hangs up: a
trunk need not know REFER for that, and whatever goes wrong before they are bridged, the caller is still here and is with the
agent again."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import HEARD_HZ, PHONE_FRAME_SAMPLES, PHONE_HZ
from voiceagent.audio.resample import ShortResampler
from voiceagent.audio.tones import SingleBeep
from voiceagent.errors import MediaError
from voiceagent.media.leg import Leg
from voiceagent.media.playout import Position
from voiceagent.server.calls.calls import StartCall
from voiceagent.server.http.problems import Problem
from voiceagent.settings.telephone import TransferTarget
from voiceagent.task_owner import running
from voiceagent.telephone.phone_leg import CALLER_HUNG_UP, ColleagueBriefing
from voiceagent.telephone.sip.audio import Bridge, mixed
from voiceagent.telephone.sip.janus_client import SIP_PATIENCE
from voiceagent.telephone.sip.sip_leg import SipLeg

log = logging.getLogger(__name__)


# --- audio between two telephones -------------------------------------------------------------------------------------

FIRST_FRAMES = 3
"""Frames that are gathered before the first goes out, and after the relay has run dry: packets are that unpunctual."""
MAX_FRAMES = 10
"""More are a delay that nobody wants to talk over: the oldest go."""
TONE_HZ = 425.0
TONE_FRAMES, PERIOD_FRAMES = 10, 200
TONE_LEVEL = 0.05
"""The level of the tone, as a part of full scale."""


class AudioRelay:
    """One direction of the audio between two telephones. `put` what arrived, `take` what is due. Mono 8 kHz: frames of 20 ms
    come in as packets come, and go out one a tick."""

    def __init__(self) -> None:
        self.dropped = 0
        """Frames of one side whose clock is faster."""
        self._waiting: deque[NDArray[np.int16]] = deque()
        self._flows = False

    def put(self, pcm: NDArray[np.int16]) -> None:
        """A frame arrived, shape (160,)."""
        self._waiting.append(pcm)
        self._flows = self._flows or len(self._waiting) >= FIRST_FRAMES
        if len(self._waiting) > MAX_FRAMES:
            while len(self._waiting) > FIRST_FRAMES:
                self._waiting.popleft()
                self.dropped += 1

    def take(self) -> NDArray[np.int16] | None:
        """The frame that is due; None where there is none yet."""
        if not self._flows:
            return None
        if not self._waiting:
            self._flows = False
            return None
        return self._waiting.popleft()


class WaitingTone:
    """A short, soft tone every few seconds: the call is still there."""

    def __init__(self) -> None:
        samples = TONE_FRAMES * PHONE_FRAME_SAMPLES
        wave = np.sin(np.arange(samples) * 2 * np.pi * TONE_HZ / PHONE_HZ) * np.hanning(samples) * TONE_LEVEL * 32_767
        self._tone = wave.astype(np.int16).reshape(TONE_FRAMES, PHONE_FRAME_SAMPLES)
        self._frame = 0

    def take(self, *, may_sound: bool) -> NDArray[np.int16] | None:
        """The next frame; the tone waits while somebody speaks."""
        if not may_sound:
            self._frame = TONE_FRAMES
            return None
        place = self._frame
        self._frame = (place + 1) % PERIOD_FRAMES
        return self._tone[place] if place < TONE_FRAMES else None


# --- the transfer -----------------------------------------------------------------------------------------------------

BRIEFING_TIMEOUT_S = 45.0
"""Longest time from the colleague's answer until they have heard the summary."""
GONE_TIMEOUT_S = 10.0
"""Longest time for the words to a colleague whose caller has hung up."""
BRIDGED_LIMIT_S = 4 * 3600.0
"""Longest time that two telephones are bridged."""
LONGEST_S = BRIEFING_TIMEOUT_S + SIP_PATIENCE.accept_s + GONE_TIMEOUT_S + 20.0
"""Longest time of a warm transfer besides its ringing, with the time that lines and connections take."""
CALLER_GONE = "the caller hung up."
NOT_TRANSFERRED = "not_transferred"
"""The end reason of a colleague's call that ends without the caller, who is still there."""


CallColleague = Callable[[TransferTarget, StartCall], Coroutine[None, None, str]]
"""Calls a colleague, on a free line and with a place of their own, and starts their call once they have answered: its id.
Raises Problem."""


async def transfer_warmly(
    caller: SipLeg, target: TransferTarget, briefing: ColleagueBriefing, call_colleague: CallColleague
) -> str:
    """Have the caller wait, and bridge them with a colleague; why that failed, or nothing."""
    tone = WaitingTone()
    caller.wait_for_colleague(Bridge(_nothing, lambda voice: tone.take(may_sound=not voice.any()), _no_key))
    why = "the call ended."
    try:
        async with running(briefing.summary(), "summary of a transfer") as summary:
            why = await _bridged(caller, target, call_colleague, briefing, summary)
    except Problem as problem:
        why = str(problem)
    finally:
        if caller.is_kept:  # both are bridged, even if this was cancelled meanwhile
            briefing.say_connected()
        else:
            caller.return_to_agent()
    return why


async def _bridged(
    caller: SipLeg,
    target: TransferTarget,
    call_colleague: CallColleague,
    briefing: ColleagueBriefing,
    summary: asyncio.Task[str],
) -> str:
    """Call the colleague, and wait until both are bridged; why they are not, or nothing. Raises Problem."""
    made: list[ColleagueCall] = []

    def start_call(leg: Leg, call_id: str, session: dict[str, object]) -> ColleagueCall:
        assert isinstance(leg, SipLeg)
        made.append(ColleagueCall(caller, leg, target, briefing, summary))
        return made[-1]

    try:
        async with running(call_colleague(target, start_call), "call of a colleague") as calling:
            await asyncio.wait((calling, caller.over), return_when=asyncio.FIRST_COMPLETED)
            if not calling.done():
                return CALLER_GONE
            calling.result()
            return await made[0].outcome
    finally:
        for call in made:
            call.give_up()


class ColleagueCall:
    """The colleague's telephone, from their answer to its end. Implements `CallHandle`: it is a call of its own, and has a place
    of its own."""

    def __init__(
        self, caller: SipLeg, colleague: SipLeg, target: TransferTarget, briefing: ColleagueBriefing, summary: asyncio.Task[str]
    ) -> None:
        self.outcome: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Empty once both are bridged, else why they are not."""
        self._caller = caller
        self._colleague = colleague
        self._target = target
        self._briefing = briefing
        self._summary = summary
        self._stop: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._given_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._said = asyncio.Event()
        self._is_bridged = False
        colleague.leave()
        colleague.playout.on_sent = self._on_sent
        colleague.bridge(Bridge(self._listen_for_beep(), _silent, self._on_key))

    async def run(self) -> str:
        """Carry it to its end; why it ended."""
        try:
            why = await self._brief()
            if why or self._stop.done():
                self._settle(why or "the call ended.")
                if why != CALLER_GONE:
                    return NOT_TRANSFERRED
                await self._say_caller_left()
                return CALLER_HUNG_UP
            self._bridge()
            self._settle("")
            return await self._last()
        finally:
            self._settle("the call ended.")
            await asyncio.gather(self._colleague.close(), *([self._caller.give_up()] if self._is_bridged else []))

    def hang_up(self, reason: str) -> None:
        """See `CallHandle`."""
        if not self._stop.done():
            self._stop.set_result(reason)

    def give_up(self) -> None:
        """Nobody waits for the colleague any more: end their call, unless both are bridged. One whose caller has hung up hears so
        first."""
        if not self._is_bridged and not self._given_up.done():
            self._given_up.set_result(None)

    def _settle(self, why: str) -> None:
        if not self.outcome.done():
            self.outcome.set_result(why)

    async def _brief(self) -> str:
        """Brief the colleague; why they do not get the call, or nothing."""
        async with running(self._briefed(), "briefing of a colleague") as briefing:
            events = (briefing, self._answer, self._stop, self._given_up, self._colleague.over, self._caller.over)
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED)
            if self._caller.over.done():
                return CALLER_GONE
            if self._stop.done():
                return "the server ended the call."
            if self._given_up.done():
                return "the transfer was given up."
            if self._colleague.over.done():
                return "they hung up before they were connected."
            return self._answer.result() if self._answer.done() else briefing.result()

    async def _say_caller_left(self) -> None:
        """Tell the colleague that the caller has hung up, unless they or the server end the call meanwhile."""
        self._colleague.playout.cancel(0)
        async with running(self._said_caller_left(), "end of a warm transfer") as saying:
            events = (saying, self._stop, self._colleague.over)
            await asyncio.wait(events, return_when=asyncio.FIRST_COMPLETED, timeout=GONE_TIMEOUT_S)

    async def _said_caller_left(self) -> None:
        if await self._colleague.wait_connected():
            await self._briefing.say_caller_left(self._colleague.playout)
            await self._heard_all()

    async def _heard_all(self) -> None:
        while not self._colleague.playout.idle:
            self._said.clear()
            await self._said.wait()

    async def _briefed(self) -> str:
        try:
            async with asyncio.timeout(BRIEFING_TIMEOUT_S):
                if not await self._colleague.wait_connected():
                    return "their telephone sent no audio."
                summary = await asyncio.shield(self._summary)
                await self._briefing.brief(self._colleague.playout, summary, self._target.accept_key)
                await self._heard_all()
        except TimeoutError:
            return "they did not hear the agent to its end."
        if not self._target.accept_key:
            return ""
        try:
            async with asyncio.timeout(self._colleague.patience.accept_s):
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

    def _bridge(self) -> None:
        """Each hears the other, and both hear the agent's last words."""
        self._is_bridged = True
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
        caller.bridge(Bridge(to_colleague.put, to_the_caller, _presses(colleague)))
        colleague.bridge(Bridge(to_caller.put, to_the_colleague, _presses(caller)))

    async def _last(self) -> str:
        """Wait until one of the two hangs up, or the server stops. Returns the reason."""
        ends = (self._stop, self._colleague.over, self._caller.over)
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED, timeout=BRIDGED_LIMIT_S)
        return next((end.result() for end in ends if end.done()), "call_limit")


def _presses(other: SipLeg) -> Callable[[str], None]:
    """Keys go through, where the other side takes any."""

    def press(key: str) -> None:
        with suppress(MediaError, ValueError):
            other.press(key)

    return press


def _nothing(pcm: NDArray[np.int16]) -> None:
    """Drops audio: a caller who waits is not heard."""


def _silent(voice: NDArray[np.int16]) -> None:
    """Nothing is heard beside the agent."""


def _no_key(key: str) -> None:
    """Keys of who waits mean nothing."""
