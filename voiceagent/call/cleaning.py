"""Applies the audio settings to a leg: echo and noise removal for the caller, as the operator set it for the kind of the leg and
as the client asks, and the loudness of the agent on a telephone."""

from __future__ import annotations

import asyncio
import contextlib

from msgspec.structs import replace

from voiceagent.audio import voice_processing
from voiceagent.audio.levels import Limiter
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import NOT_INSTALLED
from voiceagent.media.leg import Leg
from voiceagent.realtime.settings import NoiseReduction
from voiceagent.settings.agent import AgentConfig


def begin(leg: Leg, agent: AgentConfig) -> NoiseReduction:
    """Clean the leg's audio as it is set, and set the level of the agent's voice. Returns what the client may ask for."""
    cleaning = agent.media.cleaning(leg.kind)
    leg.cleaner.use(cleaning)
    if leg.kind is LegKind.TELEPHONE and agent.telephony.gain_db:
        leg.playout.limiter = Limiter(agent.telephony.gain_db)
    return NoiseReduction(cleaning.noise_suppression, "" if voice_processing.is_installed() else NOT_INSTALLED)


async def reduce_noise(leg: Leg, *, wanted: bool | None) -> None:
    """The client asks for noise suppression, or for none. None: it has not changed its mind."""
    if wanted is None:
        return
    with contextlib.suppress(ImportError):  # the cleaner tells, and leaves the audio as it comes
        await asyncio.to_thread(voice_processing.load)
    leg.cleaner.use(replace(leg.cleaner.settings, noise_suppression=wanted))
