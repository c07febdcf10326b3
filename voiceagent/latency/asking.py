"""Since when a caller waits for an answer: the end of the speech that a reply answers, or the request for a reply to what was
typed. Speech that gets no answer (a cough, an "mm-hm") leaves nothing behind for a later reply to be timed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.silence import SILENCE

_BEGIN_BY_SPEECH = (ev.Endpoint, ev.Transcript, ev.FinalTranscript, ev.TimerFired, ev.PlayoutStopped)
"""The events at which a reply to speech begins: its words are known, they are late, or the reply before it has settled."""
_BEGIN_BY_REQUEST = (ev.ReplyRequested, ev.PlayoutStopped)


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that a reply answers."""

    at_ms: float
    typed: bool = False


class Asking:
    """Follows the events and actions of one call."""

    def __init__(self) -> None:
        self.pending: Asked | None = None
        """The request that waits for an answer that has not begun."""
        self._live: int | None = None
        """The reply that is being said or prepared for a committed turn."""

    def observe(self, event: ev.Event, actions: Sequence[act.Action]) -> Asked | None:
        """Returns what the reply answers that began with this event; None if none began, or if nobody asked for it."""
        match event:
            case ev.Endpoint():
                self.pending = Asked(event.speech_end_ms)
            case ev.ReplyRequested() if actions:
                self.pending = Asked(event.at_ms, typed=True)
        if self._carried_on(actions):
            self.pending = None
        answered = None
        for action in actions:
            match action:
                case act.ReplyStarted():
                    if action.turn > 0 and isinstance(event, self._beginnings()):
                        answered = self.pending
                    self.pending, self._live = None, action.reply_id
                case act.CancelReply() | act.ReplyEnded() if action.reply_id == self._live:
                    self._live = None
                case act.SetTimer() if action.name == SILENCE:  # the agent waits for the caller again
                    self.pending = None
        return answered

    def _beginnings(self) -> tuple[type[ev.Event], ...]:
        return _BEGIN_BY_REQUEST if self.pending is not None and self.pending.typed else _BEGIN_BY_SPEECH

    def _carried_on(self, actions: Sequence[act.Action]) -> bool:
        """True when these actions show that the agent kept the floor: an utterance is over, and the reply goes on."""
        over = any(isinstance(action, act.CallerFinal) for action in actions)
        return over and self._live is not None and not any(isinstance(action, act.CancelReply) for action in actions)
