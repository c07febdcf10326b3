"""Finds the onset of the speech that interrupted a reply. Only speech counts: a typed message, a key or the client's request to
stop does not pass the voice detector, so it does not measure how fast the agent falls silent."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.conversation import events as ev

SAME_INTERRUPTION_MS = 1000.0
"""Speech over a reply that begins this soon after other speech over it belongs to the same interruption."""
MAX_UTTERANCES = 8
"""The onsets that are kept: an utterance may be committed after later ones have begun."""


@dataclass(slots=True)
class _Overlap:
    """The first speech over the live reply of what may become an interruption."""

    utterance_id: int
    onset_ms: float
    end_ms: float


class InterruptingSpeech:
    """Follows the caller's speech in one call."""

    def __init__(self) -> None:
        self._onsets_ms: dict[int, float] = {}
        self._overlap: _Overlap | None = None

    def observe(self, event: ev.Event, *, over_reply: bool) -> None:
        """Take an event; `over_reply` says whether a reply is being heard."""
        match event:
            case ev.SpeechStarted():
                self._started(event)
            case ev.SpeechPaused() if over_reply:
                if self._overlap is None:
                    onset_ms = self._onsets_ms.get(event.utterance_id, event.speech_end_ms)
                    self._overlap = _Overlap(event.utterance_id, onset_ms, event.speech_end_ms)
                elif self._overlap.utterance_id == event.utterance_id:
                    self._overlap.end_ms = event.speech_end_ms

    def _started(self, event: ev.SpeechStarted) -> None:
        overlap = self._overlap
        if overlap is not None and event.onset_ms - overlap.end_ms >= SAME_INTERRUPTION_MS:
            overlap = self._overlap = None
        self._onsets_ms[event.utterance_id] = event.onset_ms if overlap is None else overlap.onset_ms
        while len(self._onsets_ms) > MAX_UTTERANCES:
            del self._onsets_ms[next(iter(self._onsets_ms))]

    def reply_is_heard(self) -> None:
        """The first frame of a reply was sent. Earlier speech was not over it."""
        self._overlap = None

    def onset_ms(self, event: ev.Event) -> float | None:
        """The onset of the interruption that made `event` cancel a reply; None if no speech did."""
        match event:
            case ev.Transcript() | ev.FinalTranscript() | ev.Endpoint() | ev.OverlapHeard() | ev.SpeechPaused():
                return self._onsets_ms.get(event.utterance_id)
            case ev.SpeechStarted() | ev.TimerFired():  # the timers of speech over a reply, and of words that are late
                return next(reversed(self._onsets_ms.values()), None)
        return None
