"""A telephone behind a vendor's stream (`tests/telephone/peers.py`), timed as the others are. Times are milliseconds of
`time.monotonic`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import numpy as np
from numpy.typing import NDArray

from models.train.telephone import telephone_speech
from tests.telephone.peers import Peer
from voiceagent.audio.format import PHONE_HZ
from voiceagent.audio.levels import VoicedTimeline
from voiceagent.audio.resample import resample

FRAME_MS = 20
PATIENCE_S = 30.0


class StreamPhone(Peer):
    """A peer that keeps when it spoke."""

    def __init__(self, session: aiohttp.ClientSession, server_url: str, vendor: str) -> None:
        super().__init__(session, server_url, vendor, patience_s=PATIENCE_S)
        self.said = VoicedTimeline(self.rate_hz)

    def _media(self, pcm: NDArray[np.int16]) -> str | bytes:
        self.said.feed(pcm, time.monotonic() * 1000.0 - FRAME_MS)
        return super()._media(pcm)

    async def wait_tick(self) -> None:
        """Until it has spoken or heard again."""
        sent = self.frames_sent
        await self.wait(lambda: self.frames_sent > sent)


class TimedStream:
    """The same calls as on the other legs."""

    def __init__(self, peer: StreamPhone) -> None:
        self._peer = peer
        self._timed = 0
        self._heard = VoicedTimeline(peer.rate_hz)

    @property
    def said(self) -> VoicedTimeline:
        """Times at which it spoke."""
        return self._peer.said

    @property
    def heard(self) -> VoicedTimeline:
        """Times at which the vendor played the agent's voice to it; the loop's clock is `time.monotonic`."""
        for at_s, pcm in self._peer.heard[self._timed :]:
            self._heard.feed(pcm, at_s * 1000.0)
        self._timed = len(self._peer.heard)
        return self._heard

    def say(self, pcm: NDArray[np.int16], rate_hz: int) -> None:
        """Queue speech, mono int16, shape (samples,). It is sent in a telephone's band."""
        self._peer.say(resample(telephone_speech(pcm, rate_hz), PHONE_HZ, self._peer.rate_hz))

    async def wait_said(self) -> float:
        """Wait until all was sent; when its last voiced sample was spoken."""
        await self._peer.wait(lambda: not self._peer.is_speaking)
        return self.said.last_voiced_ms or 0.0

    async def wait_heard(self, after_ms: float) -> float:
        """Wait for the agent to speak; when the first voiced sample from `after_ms` on was heard."""
        await self._peer.wait(lambda: self.heard.first_onset_after(after_ms) is not None)
        return self.heard.first_onset_after(after_ms) or 0.0

    async def wait_quiet(self, quiet_ms: float) -> float:
        """Wait until the agent was silent for so long; when its last voiced sample was heard."""
        since_ms = time.monotonic() * 1000.0
        while time.monotonic() * 1000.0 - max(since_ms, self.heard.last_voiced_ms or 0.0) < quiet_ms:
            await self._peer.wait_tick()
        return self.heard.last_voiced_ms or 0.0


@asynccontextmanager
async def stream_call(server_url: str, vendor: str) -> AsyncIterator[TimedStream]:
    """A call by a vendor's stream."""
    async with aiohttp.ClientSession() as session:
        peer = StreamPhone(session, server_url, vendor)
        async with peer:
            yield TimedStream(peer)
