"""The receiver of a SIP leg. It passes the other side's audio and keys to the call, or to the other end of a bridge in the call's
place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voiceagent.media.inbound_frames import InboundFrames
from voiceagent.media.rtp import RtpPacket
from voiceagent.telephone.sip.audio import SipReceiver
from voiceagent.telephone.sip.description import PhoneAudio
from voiceagent.telephone.telephone_events import CLOCK_HZ, KeyReader


@dataclass(frozen=True, slots=True)
class Bridge:
    """The other end of a bridge, which hears and speaks to the other side in the call's place. Audio is mono 8 kHz, 20 ms, shape
    (160,)."""

    hear: Callable[[NDArray[np.int16]], None]
    """Takes what the other side says."""
    say: Callable[[NDArray[np.int16]], NDArray[np.int16] | None]
    """Given the agent's voice of a frame, gives what else the other side hears; None: nothing."""
    key: Callable[[str], None]
    """Takes a key that the other side pressed."""


class SipEars:
    """The ears of one leg. They hear nothing before `begin`."""

    def __init__(self, press: Callable[[str], None], inbound: InboundFrames) -> None:
        """`press` takes the keys that are for the call, `inbound` its frames."""
        self._inbound = inbound
        self.bridge: Bridge | None = None
        self.is_held = False
        """True while the other side has put us on hold: nothing is said to it, and its audio is not heard."""
        self.last_s = 0.0
        """The time of the last packet, on the loop's clock."""
        self._press = press
        self._loop = asyncio.get_running_loop()
        self._audio: PhoneAudio | None = None
        self._receiver: SipReceiver | None = None
        self._keys = KeyReader()
        self._counted: dict[str, int] = {}
        """The counts of earlier receivers."""

    def begin(self, audio: PhoneAudio) -> None:
        """The audio format has been negotiated; start receiving."""
        self._audio = audio
        if self.bridge is None:
            self._receiver = SipReceiver(audio, self._on_frame, self._on_key, keys=self._keys)
        else:
            self._receiver = SipReceiver(audio, self._on_relayed, self._on_key, CLOCK_HZ, self._keys)

    def receive(self, packet: RtpPacket) -> None:
        """Take a packet that arrived now."""
        self.last_s = self._loop.time()
        if self._receiver is not None:
            self._receiver.receive(packet)

    def connect(self, bridge: Bridge | None) -> None:
        """Have the other side of a bridge hear, or the call again (None)."""
        rate_changes = (bridge is None) is not (self.bridge is None)
        self.bridge = bridge
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
            self._inbound.put(pcm, received_ms, concealed)

    def _on_relayed(self, pcm: NDArray[np.int16], received_ms: float, concealed: bool) -> None:
        if self.bridge is not None and not self.is_held:
            self.bridge.hear(pcm)

    def _on_key(self, key: str) -> None:
        if self.bridge is not None:
            self.bridge.key(key)
        else:
            self._press(key)
