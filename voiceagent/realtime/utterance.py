"""One utterance of the caller as protocol events: speech started → partials → speech stopped, committed, item → final text. Each
step happens once and in this order, even if notices come twice, late or not at all."""

from __future__ import annotations

from copy import copy as copy_of

from voiceagent.realtime.conversation import ItemList
from voiceagent.realtime.items import InputAudio, MessageItem
from voiceagent.realtime.server_events import (
    AudioCommitted,
    PartialTranscript,
    ServerEvent,
    SpeechStarted,
    SpeechStopped,
    TranscriptionCompleted,
    TranscriptionDelta,
    TranscriptionDuration,
)


class ClientUtterance:
    """The client's view of an utterance. Times are milliseconds on the call's clock."""

    def __init__(self, conversation: ItemList, onset_ms: float, *, is_told: bool = True) -> None:
        """`is_told`: the client wants its text."""
        self.text = ""
        self._is_told = is_told
        self.item_id = conversation.new_id("item")
        self._conversation = conversation
        self._onset_ms = max(0.0, onset_ms)
        self._end_ms = self._onset_ms
        self._stopped = False
        self._final = False

    @property
    def is_over(self) -> bool:
        """True once its text is known."""
        return self._final

    def copied(self, conversation: ItemList) -> ClientUtterance:
        """A copy, whose item is one of this copied conversation."""
        copy = copy_of(self)
        copy._conversation = conversation
        return copy

    def started(self) -> list[ServerEvent]:
        """The caller began to speak."""
        return [SpeechStarted(item_id=self.item_id, audio_start_ms=round(self._onset_ms))]

    def partial(self, stable: str, unstable: str) -> list[ServerEvent]:
        """Words so far; nothing after the final text."""
        if self._final:
            return []
        return [PartialTranscript(item_id=self.item_id, stable=stable, unstable=unstable)]

    def committed(self, end_ms: float) -> list[ServerEvent]:
        """The client ended it by hand: no speech was found to start or to stop."""
        return self.stopped(end_ms)[1:]

    def stopped(self, end_ms: float) -> list[ServerEvent]:
        """The caller finished: the utterance becomes an item of the conversation."""
        if self._stopped:
            return []
        self._stopped = True
        self._end_ms = max(self._onset_ms, end_ms)
        previous = self._conversation.last_id
        item = self._item(None)
        return [
            SpeechStopped(item_id=self.item_id, audio_end_ms=round(self._end_ms)),
            AudioCommitted(item_id=self.item_id, previous_item_id=previous),
            self._conversation.add(item),
            self._conversation.done(item),
        ]

    def final(self, text: str, at_ms: float) -> list[ServerEvent]:
        """The committed text."""
        if self._final:
            return []
        events = self.stopped(at_ms)
        self._final = True
        self.text = text
        self._conversation.replace(self._item(text))
        if not self._is_told:
            return events
        if text:
            events.append(TranscriptionDelta(item_id=self.item_id, delta=text))
        seconds = round((self._end_ms - self._onset_ms) / 1000, 3)
        usage = TranscriptionDuration(seconds=seconds)
        events.append(TranscriptionCompleted(item_id=self.item_id, transcript=text, usage=usage))
        return events

    def _item(self, transcript: str | None) -> MessageItem:
        return MessageItem(id=self.item_id, role="user", status="completed", content=(InputAudio(transcript=transcript),))
