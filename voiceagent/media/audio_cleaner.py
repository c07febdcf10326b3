"""A caller's audio without noise and without the echo of what the agent says, whichever leg it comes by. It is for the voice
detector alone: recognisers hear no more words right in it (`bench/noise.py`). The leg tells what it plays and when; each frame
that comes in is cleaned by what was played at its time. If this fails, the audio stays as it came."""

from __future__ import annotations

import logging
from collections import deque

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import FRAME_MS, PLAYED_FRAME_SAMPLES, PLAYED_HZ
from voiceagent.audio.voice_processing import EXTRA, PACKAGE, EchoEvidence, VoiceProcessor, is_installed, load
from voiceagent.errors import ConfigError

KEPT_SAMPLES = PLAYED_HZ
"""1 s. The played audio is asked for when the caller's audio of that time has come, at most so much later."""
SAMPLES_PER_MS = PLAYED_HZ // 1000


class EchoReference:
    """Audio that a leg plays to its caller, by the time at which it is played: an echo canceller takes it out of what comes back.
    Mono 24 kHz; times are milliseconds of `time.monotonic`. Pure."""

    def __init__(self) -> None:
        self._played: deque[tuple[int, NDArray[np.int16]]] = deque()
        """Frames and their first samples, counted from the clock's zero."""

    def __len__(self) -> int:
        return len(self._played)

    def put(self, pcm: NDArray[np.int16], at_ms: float) -> None:
        """A frame begins to be played at `at_ms`, shape (480,)."""
        start = round(at_ms * SAMPLES_PER_MS)
        self._played.append((start, pcm))
        while self._played[0][0] < start - KEPT_SAMPLES:
            self._played.popleft()

    def forget_from(self, at_ms: float) -> None:
        """Drops audio that would have been played from `at_ms` on."""
        end = round(at_ms * SAMPLES_PER_MS)
        while self._played and self._played[-1][0] >= end:
            self._played.pop()
        if self._played:
            start, pcm = self._played[-1]
            self._played[-1] = start, pcm[: end - start]

    def until(self, at_ms: float) -> NDArray[np.int16]:
        """The 20 ms that ended at `at_ms`, shape (480,); silence where nothing was played."""
        end = round(at_ms * SAMPLES_PER_MS)
        start = end - PLAYED_FRAME_SAMPLES
        heard = np.zeros(PLAYED_FRAME_SAMPLES, np.int16)
        for at, pcm in self._played:
            if start - len(pcm) < at < end:
                first, last = max(at, start), min(at + len(pcm), end)
                heard[first - start : last - start] = pcm[first - at : last - at]
        return heard


MARGIN_MS = 5.0
"""A frame that comes early moves the line by so much more, so that the next ones do not move it again."""
WATCHED_FRAMES = 100
MAX_LATE_MS = 40.0
"""A larger delay of all watched frames (2 s) moves the line: the caller's clock is slow, or audio was lost."""

PAUSE_MS = 1000.0
"""A frame that comes later follows a pause, in which nobody was heard: the line goes on from it. The audio played so long ago is
not kept any more (`KEPT_SAMPLES`)."""


class CallerClock:
    """Computes when the frames of 20 ms of one stream would have come without jitter: packets come late and in bursts, but speech
    goes on evenly. Pure."""

    def __init__(self) -> None:
        self._line_ms: float | None = None
        self._late_ms: deque[float] = deque(maxlen=WATCHED_FRAMES)

    def next(self, received_ms: float) -> float:
        """The time at which the next frame would have come on a network of constant delay, no later than `received_ms`."""
        line_ms = received_ms - MARGIN_MS if self._line_ms is None else self._line_ms + FRAME_MS
        if line_ms > received_ms or received_ms - line_ms > PAUSE_MS:
            line_ms = received_ms - MARGIN_MS
            self._late_ms.clear()
        self._late_ms.append(received_ms - line_ms)
        if len(self._late_ms) == WATCHED_FRAMES and min(self._late_ms) > MAX_LATE_MS:
            line_ms += min(self._late_ms) - MARGIN_MS
            self._late_ms.clear()
        self._line_ms = line_ms
        return line_ms


log = logging.getLogger(__name__)


class AudioCleaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Selects the sounds that are removed from a caller's audio."""

    echo_cancellation: bool = False
    """The echo of what the agent says."""
    noise_suppression: bool = False
    """Noise that lasts."""

    @property
    def is_wanted(self) -> bool:
        """True while either setting is on."""
        return self.echo_cancellation or self.noise_suppression


NOTHING = AudioCleaning()
NOT_INSTALLED = f"it needs the package {PACKAGE}, which is not installed: pip install '{EXTRA}'"


def check_cleaning(settings: AudioCleaning, name: str) -> None:
    """Load what is wanted. Raises ConfigError where that cannot be: `name` is the settings' own."""
    if not settings.is_wanted:
        return
    on = f"{name}.echo_cancellation" if settings.echo_cancellation else f"{name}.noise_suppression"
    if not is_installed():
        raise ConfigError(f"{on} is on, but {NOT_INSTALLED}, or leave the setting out")
    try:
        load()
    except ImportError as error:
        raise ConfigError(f"{on} is on, but {PACKAGE} does not load ({error}): install it again, or leave it out") from error


class AudioCleaner:
    """Cleans one leg's audio. `close` frees it."""

    def __init__(self, settings: AudioCleaning = NOTHING, *, has_echo: bool = False) -> None:
        """`has_echo`: a loudspeaker is heard by the microphone for certain, so that no evidence of it is waited for."""
        self.settings = settings
        self._has_echo = has_echo
        self.failures = 0
        """The number of failures: at most one, since nothing is tried again."""
        self._reference = EchoReference()
        self._clock = CallerClock()
        self._evidence = EchoEvidence()
        self._echo: VoiceProcessor | None = None
        self._noise: VoiceProcessor | None = None
        self._closed = False

    def use(self, settings: AudioCleaning) -> None:
        """Take out something else from the next frame on."""
        self.settings = settings
        self._free(echo=not settings.echo_cancellation, noise=not settings.noise_suppression)

    def played(self, pcm: NDArray[np.int16] | None, at_ms: float) -> None:
        """A frame begins to be played at `at_ms` of `time.monotonic`: mono 24 kHz, shape (480,); None is silence."""
        if pcm is not None and self.settings.echo_cancellation:
            self._reference.put(pcm, at_ms)

    def halted(self, at_ms: float) -> None:
        """Drops audio that would have been played from `at_ms` on."""
        self._reference.forget_from(at_ms)

    def clean(self, pcm: NDArray[np.int16], received_ms: float) -> NDArray[np.int16] | None:
        """A frame of the caller's without what is to be taken out: mono 16 kHz, shape (320,). None where that is nothing."""
        if not self.settings.is_wanted or self.failures or self._closed:
            return None
        try:
            return self._without_noise(self._without_echo(pcm, received_ms))
        except Exception:
            log.exception("a caller's audio is cleaned no more, it goes on as it comes")
            self.failures += 1
            self._free()
            return None

    def close(self) -> None:
        """Free what was made; frames stay as they come afterwards. May be called twice."""
        self._closed = True
        self._free()

    def _without_echo(self, pcm: NDArray[np.int16], received_ms: float) -> NDArray[np.int16]:
        if not self.settings.echo_cancellation:
            return pcm
        self._echo = self._echo or VoiceProcessor(echo=True)
        played = self._reference.until(self._clock.next(received_ms))
        cleaned = self._echo.clean(pcm, played)
        if self._has_echo:
            return cleaned
        self._evidence.feed(pcm, played)
        return cleaned if self._evidence.is_likely else pcm

    def _without_noise(self, pcm: NDArray[np.int16]) -> NDArray[np.int16]:
        if not self.settings.noise_suppression:
            return pcm
        self._noise = self._noise or VoiceProcessor(noise=True)
        return self._noise.clean(pcm)

    def _free(self, *, echo: bool = True, noise: bool = True) -> None:
        if echo and self._echo is not None:
            self._echo.close()
            self._echo = None
        if noise and self._noise is not None:
            self._noise.close()
            self._noise = None
