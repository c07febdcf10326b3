"""A person's audio in a call: a sound card's microphone goes to the agent, without the echo of the agent's own voice, and the
agent's voice to the loudspeaker. The echo canceller is the one that calls by telephone have."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS, HEARD_HZ, PLAYED_FRAME_SAMPLES, PLAYED_HZ
from voiceagent.audio.voice_processing import is_installed
from voiceagent.client.caller import AgentFrame, Caller
from voiceagent.client.sound_card import PlayedBlock, SoundCard, resampler
from voiceagent.media.audio_cleaner import AudioCleaner, AudioCleaning, CallerClock

MAX_WAITING_FRAMES = 5
"""100 ms of the microphone may wait for the network's clock; beyond that the oldest is dropped: the card is faster."""
HEARD_FRAME_SAMPLES = HEARD_HZ // 50


class LiveAudio:
    """Joins a sound card and a caller. Make it before the call is up; `run` it while the call lasts."""

    def __init__(self, card: SoundCard, caller: Caller, *, cancels_echo: bool) -> None:
        """`cancels_echo` needs the package of `voiceagent[talk]`; without it nothing is cancelled."""
        self.cancels_echo = cancels_echo and is_installed()
        self.is_muted = False
        self.left_out_ms = 0
        """The microphone's sound that was dropped because the network's clock was slower."""
        self._card = card
        self._cleaner = AudioCleaner(AudioCleaning(echo_cancellation=self.cancels_echo), has_echo=True)
        self._played_clock = CallerClock()
        """The loudspeaker takes blocks evenly, though its thread wakes early and late."""
        self._to_heard = resampler(card.heard_hz, HEARD_HZ)
        self._to_sent = resampler(HEARD_HZ, PLAYED_HZ)
        self._rest = np.zeros(0, np.int16)
        self._frames: deque[NDArray[np.int16]] = deque()
        caller.live = self._next
        caller.on_frame = self._play

    async def run(self) -> None:
        """Take the microphone's audio until a device is lost. Raises SoundCardError."""
        try:
            async for block in self._card.blocks():
                if isinstance(block, PlayedBlock):
                    self._cleaner.played(block.pcm, self._played_clock.next(block.at_ms))
                else:
                    self._take(block.pcm, block.received_ms)
        finally:
            self._cleaner.close()

    def stop_playing(self) -> None:
        """Fall silent now: the agent is interrupted."""
        self._card.stop_playing()

    def _play(self, frame: AgentFrame) -> None:
        self._card.play(frame.pcm)

    def _take(self, pcm: NDArray[np.int16], received_ms: float) -> None:
        """A block of the microphone: what is in it besides the echo becomes frames of the call."""
        self._rest = np.concatenate((self._rest, self._to_heard.process(pcm)))
        while len(self._rest) >= HEARD_FRAME_SAMPLES:
            frame, self._rest = self._rest[:HEARD_FRAME_SAMPLES], self._rest[HEARD_FRAME_SAMPLES:]
            cleaned = self._cleaner.clean(frame, received_ms)
            sent = self._to_sent.process(frame if cleaned is None else cleaned)
            if len(self._frames) >= MAX_WAITING_FRAMES:
                self._frames.popleft()
                self.left_out_ms += FRAME_MS
            self._frames.append(sent)

    def _next(self) -> NDArray[np.int16] | None:
        """The next 20 ms for the agent, mono 24 kHz, shape (480,); None: silence."""
        if not self._frames:
            return None
        frame = self._frames.popleft()
        return None if self.is_muted or len(frame) != PLAYED_FRAME_SAMPLES else frame
