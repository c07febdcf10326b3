"""A caller's audio without noise and without the echo of what the agent says, whichever leg it comes by. It is for the voice
detector alone: recognisers hear no more words right in it (`bench/noise.py`). The leg tells what it plays and when; each frame
that comes in is cleaned by what was played at its time. Where this fails, the audio stays as it came."""

from __future__ import annotations

import logging

import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.echo_evidence import EchoEvidence
from voiceagent.audio.voice_processing import EXTRA, PACKAGE, VoiceProcessor, is_installed, load
from voiceagent.errors import ConfigError
from voiceagent.media.caller_clock import CallerClock
from voiceagent.media.echo_reference import EchoReference

log = logging.getLogger(__name__)


class AudioCleaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is taken out of a caller's audio."""

    echo_cancellation: bool = False
    """The echo of what the agent says."""
    noise_suppression: bool = False
    """Noise that lasts."""

    @property
    def is_wanted(self) -> bool:
        """Whether anything is."""
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
    """Of one leg. `close` frees it."""

    def __init__(self, settings: AudioCleaning = NOTHING) -> None:
        self.settings = settings
        self.failures = 0
        """How often something failed: once, since nothing is tried again."""
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
        """What was to be played from `at_ms` on is not."""
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
