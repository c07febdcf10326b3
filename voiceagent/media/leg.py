"""The interface of a media connection to a call, whatever carries it (WebRTC, or a telephone)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.playout import Playout, Position
from voiceagent.media.websocket.event_audio import Encoding

DeliverAudio = Callable[[Position, int, str, float], None]
"""Takes the position at the end of a piece of audio, the clause that it begins in, the audio in base64, and its length in ms."""


class InboundFrame(msgspec.Struct, frozen=True):
    """20 ms of the caller's audio."""

    pcm: NDArray[np.int16]
    """Mono 16 kHz, shape (320,)."""
    received_ms: float
    """The arrival of its packet, in milliseconds of `time.monotonic`."""
    concealed: bool
    """True when the packet was lost and this is a guess."""
    cleaned: NDArray[np.int16] | None = None
    """The same for the voice detector, where echo or noise is taken out: mono 16 kHz, shape (320,), 6 to 14 ms late."""


class Leg(Protocol):
    """One media connection of a call."""

    playout: Playout
    kind: LegKind
    cleaner: AudioCleaner
    """Takes noise and echo out of the caller's audio, as it is set."""

    def frames(self) -> AsyncIterator[InboundFrame]:
        """The caller's audio in order; ends when the connection does. Bounded: when the consumer is slow, the oldest frames are
        dropped and counted."""
        ...

    def client_events(self) -> AsyncIterator[str]:
        """The text messages of the caller's event channel, in order; ends when the connection does."""
        ...

    def send_event(self, event: dict[str, object]) -> None:
        """Send one JSON event to the client. It is kept (bounded) until the channel opens, and dropped when the channel is
        closed."""
        ...

    def deliver_audio(self, deliver: DeliverAudio) -> None:
        """Give the agent's audio to `deliver`, where it goes by events."""
        return

    def use(self, taken: Encoding, given: Encoding) -> None:
        """Take the caller's audio, and give the agent's, in these encodings from now on, where it goes by events."""
        return

    def take_jitter_ms(self) -> tuple[float | None, float | None]:
        """The jitter (see `Jitter`) of the caller's packets as they came, and of the agent's as they were handed to the network,
        since this was last asked. None where the leg cannot tell."""
        return None, None

    @property
    def end_reason(self) -> str:
        """The reason why the connection ended: hangup, closed, lost, too_slow, abuse. Empty while it is up."""
        ...

    @property
    def counters(self) -> Mapping[str, int]:
        """Counts of packets, frames and events on this connection so far, by name."""
        ...

    @property
    def drops(self) -> Mapping[str, int]:
        """Items that its full queues dropped so far, by queue."""
        ...

    async def wait_connected(self) -> bool:
        """Wait until media can flow; False when the leg ended first."""
        ...

    async def close(self) -> None:
        """End the connection and free its sockets and tasks. May be called twice."""
        ...


class Sideband(Protocol):
    """A second connection to a call's events, without audio."""

    def client_events(self) -> AsyncIterator[str]:
        """The text messages of its client, in order; ends when the connection does."""
        ...

    def send_event(self, event: dict[str, object]) -> None:
        """Send one JSON event to its client."""
        ...


class LegWrapper(Leg):
    """Forwards everything to another leg. Subclasses change what passes between that leg and its call."""

    def __init__(self, leg: Leg) -> None:
        self.kind = leg.kind
        self.playout = leg.playout
        self._leg = leg

    @property
    def cleaner(self) -> AudioCleaner:
        """That of the other leg."""
        return self._leg.cleaner

    @cleaner.setter
    def cleaner(self, cleaner: AudioCleaner) -> None:
        self._leg.cleaner = cleaner

    @override
    def frames(self) -> AsyncIterator[InboundFrame]:
        return self._leg.frames()

    @override
    def client_events(self) -> AsyncIterator[str]:
        return self._leg.client_events()

    @override
    def send_event(self, event: JsonObject) -> None:
        self._leg.send_event(event)

    @override
    def deliver_audio(self, deliver: DeliverAudio) -> None:
        self._leg.deliver_audio(deliver)

    @override
    def use(self, taken: Encoding, given: Encoding) -> None:
        self._leg.use(taken, given)

    @override
    def take_jitter_ms(self) -> tuple[float | None, float | None]:
        return self._leg.take_jitter_ms()

    @property
    @override
    def end_reason(self) -> str:
        return self._leg.end_reason

    @property
    @override
    def counters(self) -> Mapping[str, int]:
        return self._leg.counters

    @property
    @override
    def drops(self) -> Mapping[str, int]:
        return self._leg.drops

    @override
    async def wait_connected(self) -> bool:
        return await self._leg.wait_connected()

    @override
    async def close(self) -> None:
        await self._leg.close()
