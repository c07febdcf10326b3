"""What comes from the other side of a SIP call, and who hears it: the call, or somebody who stands aside for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from aiortc.rtp import RtpPacket
from numpy.typing import NDArray

from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.inbound_frames import InboundFrames
from voiceagent.telephone.sip.audio import GatewayReceiver
from voiceagent.telephone.sip.description import PhoneAudio
from voiceagent.telephone.telephone_events import CLOCK_HZ, KeyReader


@dataclass(frozen=True, slots=True)
class Aside:
    """Who hears and speaks to the other side in the call's place. Audio is mono 8 kHz, 20 ms, shape (160,)."""

    hear: Callable[[NDArray[np.int16]], None]
    """Takes what the other side says."""
    say: Callable[[NDArray[np.int16]], NDArray[np.int16] | None]
    """Given the agent's voice of a frame, gives what else the other side hears; None: nothing."""
    key: Callable[[str], None]
    """Takes a key that the other side pressed."""


class GatewayEars:
    """Of one leg. Hears nothing before `begin`."""

    def __init__(self, press: Callable[[str], None], cleaner: AudioCleaner) -> None:
        """`press` takes the keys that are for the call."""
        self.inbound = InboundFrames(cleaner, is_telephone=True)
        self.aside: Aside | None = None
        self.is_held = False
        """Whether the other side has put us on hold: nothing is said to it, and what it plays is not heard."""
        self.last_s = 0.0
        """When the last packet came, on the loop's clock."""
        self._press = press
        self._loop = asyncio.get_running_loop()
        self._audio: PhoneAudio | None = None
        self._receiver: GatewayReceiver | None = None
        self._keys = KeyReader()
        self._counted: dict[str, int] = {}
        """What receivers before it have counted."""

    def begin(self, audio: PhoneAudio) -> None:
        """It is settled what comes."""
        self._audio = audio
        if self.aside is None:
            self._receiver = GatewayReceiver(audio, self._on_frame, self._on_key, keys=self._keys)
        else:
            self._receiver = GatewayReceiver(audio, self._on_relayed, self._on_key, CLOCK_HZ, self._keys)

    def receive(self, packet: RtpPacket) -> None:
        """Take a packet that arrived now."""
        self.last_s = self._loop.time()
        if self._receiver is not None:
            self._receiver.receive(packet)

    def stand_aside(self, aside: Aside | None) -> None:
        """Have somebody else hear, or the call again (None)."""
        rate_changes = (aside is None) is not (self.aside is None)
        self.aside = aside
        if self._receiver is None or self._audio is None or not rate_changes:
            return
        self._counted = self.counters
        self._receiver.close()
        self.begin(self._audio)

    @property
    def counters(self) -> dict[str, int]:
        """See `Leg.counters`."""
        counters = self._receiver.counters if self._receiver is not None else {}
        return {name: count + self._counted.get(name, 0) for name, count in counters.items()}

    def close(self) -> None:
        """Hear nothing more."""
        if self._receiver is not None:
            self._receiver.close()

    def _on_frame(self, pcm: NDArray[np.int16], received_ms: float, concealed: bool) -> None:
        if not self.is_held:
            self.inbound.put(pcm, received_ms, concealed)

    def _on_relayed(self, pcm: NDArray[np.int16], received_ms: float, concealed: bool) -> None:
        if self.aside is not None and not self.is_held:
            self.aside.hear(pcm)

    def _on_key(self, key: str) -> None:
        if self.aside is not None:
            self.aside.key(key)
        else:
            self._press(key)
