"""What is taken out of a caller's audio in a call: as the operator set it for the kind of the leg, and as the client asks."""

from __future__ import annotations

import asyncio
import contextlib

from msgspec.structs import replace

from voiceagent.audio import voice_processing
from voiceagent.media.audio_cleaner import NOT_INSTALLED
from voiceagent.media.leg import Leg
from voiceagent.media.ports import MediaSettings
from voiceagent.realtime.noise_reduction import NoiseReduction


def begin(leg: Leg, settings: MediaSettings) -> NoiseReduction:
    """Clean the leg's audio as it is set; what its client may ask for."""
    cleaning = settings.cleaning(leg.kind)
    leg.cleaner.use(cleaning)
    return NoiseReduction(cleaning.noise_suppression, "" if voice_processing.is_installed() else NOT_INSTALLED)


async def reduce_noise(leg: Leg, *, wanted: bool | None) -> None:
    """The client asks for noise suppression, or for none. None: it has not changed its mind."""
    if wanted is None:
        return
    with contextlib.suppress(ImportError):  # the cleaner tells, and leaves the audio as it comes
        await asyncio.to_thread(voice_processing.load)
    leg.cleaner.use(replace(leg.cleaner.settings, noise_suppression=wanted))
