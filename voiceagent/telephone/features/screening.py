"""Stands between the leg and a call that we made, and finds out whether a machine has answered. Frames pass through at once, so a
person who answers is heard without delay. Once a machine is known, the agent falls silent and hears no more of it; then the call
ends, or a message is left after the beep."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from voiceagent.call.feature import RunningCall
from voiceagent.conversation import events as ev
from voiceagent.conversation.actions import Action, ReplyStarted
from voiceagent.media.leg import InboundFrame, Leg, LegWrapper
from voiceagent.settings.agent import AgentConfig
from voiceagent.telephone.features.answering_machine import AnsweringMachine, MachineVerdict
from voiceagent.telephone.features.phone_feature import PhoneFeature
from voiceagent.turn_taking.languages import language

log = logging.getLogger(__name__)

MACHINE, LEFT = "answering_machine", "message_left"
"""End reasons of a call that a machine has taken: it was hung up on, or has its message."""
FRAME_S = 0.02


class Screening(PhoneFeature):
    """Screens one call that we made."""

    def __init__(self, agent: AgentConfig) -> None:
        self._settings = agent.telephony.voicemail
        self._machine = AnsweringMachine([language(code).phone for code in agent.spoken_languages])
        self._call: RunningCall | None = None
        self._waited_s = 0.0
        self._is_told = self._is_done = False

    def begin(self, call: RunningCall) -> None:
        """Screen this call."""
        self._call = call

    def wrap(self, leg: Leg) -> ScreenedLeg:
        """The leg, silent once a machine is known."""
        return ScreenedLeg(leg, self)

    @property
    def _is_waiting(self) -> bool:
        """True while a known machine has not come to its beep."""
        return self.verdict is MachineVerdict.MACHINE and not self._is_done

    @property
    def verdict(self) -> MachineVerdict:
        """The party that answered, as far as it is known."""
        return self._machine.verdict

    def listen(self, frame: InboundFrame) -> None:
        """Take what was heard."""
        if not self._is_done:
            self._machine.listen(frame.pcm)
            self._decide()

    def stepped(self, event: ev.Event, actions: tuple[Action, ...]) -> None:
        """Learn what the ear makes of the frames. Nothing that the agent still begins to say to a known machine is spoken."""
        if self._is_waiting and self._call is not None and any(isinstance(action, ReplyStarted) for action in actions):
            self._call.feed(ev.ReplyCancelled(self._call.now_ms()))
        match event:
            case ev.SpeechStarted() | ev.SpeechResumed():
                self._machine.speaks(True)
            case ev.SpeechPaused() | ev.Endpoint():
                self._machine.speaks(False)
            case ev.Transcript(utterance_id=utterance_id, stable=stable, unstable=unstable):
                self._machine.says(utterance_id, f"{stable} {unstable}")
            case ev.FinalTranscript(utterance_id=utterance_id, text=text):
                self._machine.says(utterance_id, text)

    def _decide(self) -> None:
        call = self._call
        if call is None or self.verdict is not MachineVerdict.MACHINE:
            return
        if not self._is_told:
            self._is_told = True
            log.info("call %s: an answering machine took it (%s)", call.call_id, self._machine.reason)
            call.feed(ev.ReplyCancelled(call.now_ms()))
        self._waited_s += FRAME_S
        if self._settings.action == "hang_up":
            self._is_done = True
            call.feed(ev.HangUp(call.now_ms(), MACHINE))
        elif self._machine.records or (self._waited_s >= self._settings.wait_for_beep_s and not self._machine.is_ringing):
            self._is_done = True
            call.feed(ev.LastWords(call.now_ms(), self._settings.message, LEFT))


class ScreenedLeg(LegWrapper):
    """Implements `Leg`: the call hears nothing any more once a machine is known."""

    def __init__(self, leg: Leg, screening: Screening) -> None:
        super().__init__(leg)
        self._screening = screening

    async def frames(self) -> AsyncIterator[InboundFrame]:
        """See `Leg`."""
        async for frame in self._leg.frames():
            if self._screening.verdict is not MachineVerdict.MACHINE:
                yield frame
            self._screening.listen(frame)
