"""The WebSocket leg: events and audio as text messages, in one order. The client's messages come in through `receive`."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from voiceagent.audio.format import FRAME_MS, PLAYED_HZ
from voiceagent.json_types import JsonObject
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.inbound_frames import InboundFrames
from voiceagent.media.leg import DeliverAudio, InboundFrame, Leg
from voiceagent.media.outgoing_events import READER, TOO_SLOW, ReaderLimits
from voiceagent.media.playout import Playout, Position
from voiceagent.media.websocket.event_audio import Encoding, EventDecoder, EventEncoder
from voiceagent.media.websocket.event_player import EventPlayer
from voiceagent.media.websocket.outbox import CLOSED, Closing, Outbox, TextWire
from voiceagent.task_owner import TaskOwner
from voiceagent.token_bucket import TokenBucket

MAX_MESSAGES_IN = 512
"""The messages of the client that may wait for the call."""
MAX_FRAMES_AHEAD = 100
"""The frames of audio that may wait for the call. Beyond that no message is read."""
AUDIO_PACE, AUDIO_AT_ONCE_S = 1.2, 60.0
"""Seconds of audio a second, and seconds that may come at once. What comes faster is read later."""
FRAMES_IN_A_ROW = 5
"""The frames that the call hears before others get their turn."""
TOO_MANY = 1008, "too many events wait to be read"

REPLACED = 4001, "the call was resumed by another connection"

ELSEWHERE = 1012, "the server stops; resume the call with its token"

ReadAudio = Callable[[str], str | None]
"""Gives the audio, in base64, of a message that appends some. None: the message does something else."""


class WebSocketLeg(Leg):
    """Implements `Leg`. `close` frees it."""

    def __init__(
        self,
        wire: TextWire,
        read_audio: ReadAudio,
        *,
        extras: bool = True,
        limits: ReaderLimits = READER,
        proof: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """See `Outbox` for `extras`. `proof` waits for a sign of life of the client: False if none comes. None: none needed."""
        self.kind = LegKind.WEBSOCKET
        self.cleaner = AudioCleaner()
        self.playout = Playout()
        self.dropped_in = 0
        self._wire = wire
        self._deliver_to: DeliverAudio | None = None
        self._read_audio = read_audio
        self._proof = proof
        self._inbound = InboundFrames(self.cleaner)
        self._decoder, self._encoder = EventDecoder(), EventEncoder()
        self._player = EventPlayer(self.playout, self._deliver, self.cleaner)
        self._tasks = TaskOwner()
        self._loop = asyncio.get_running_loop()
        self._pace = TokenBucket(AUDIO_PACE, AUDIO_AT_ONCE_S)
        self._frames_in = self._frames_heard = 0
        self._waiting: deque[tuple[int, str]] = deque()
        """The client's messages, each with the number of frames before it."""
        self._changed = asyncio.Event()
        self._heard = asyncio.Event()
        self._outbox = Outbox(wire, self._on_unsent, limits, extras=extras)
        self._end_reason = ""
        self._closing: Closing = CLOSED
        self._at_close: Closing = CLOSED
        self._tasks.start_alone(self._player.run(), "audio of a WebSocket")
        self._tasks.start_alone(self._outbox.run(), "events of a WebSocket")

    @override
    def deliver_audio(self, deliver: DeliverAudio) -> None:
        self._deliver_to = deliver

    @property
    def alive_ms(self) -> float:
        """A client may send nothing for long; which event it got last, it says itself."""
        return math.inf

    @property
    def takes_our_events(self) -> bool:
        """See `ConnectionLeg.takes_our_events`."""
        return self._outbox.extras

    def play(self, playout: Playout) -> None:
        """See `ConnectionLeg.play`."""
        self.playout = playout
        self._player.play(playout)

    def goes_elsewhere(self) -> None:
        """See `ConnectionLeg.goes_elsewhere`."""
        self._at_close = ELSEWHERE

    def replaced(self) -> None:
        """See `ConnectionLeg.replaced`."""
        self._end("replaced", REPLACED)

    def use(self, taken: Encoding, given: Encoding) -> None:
        """Take the caller's audio, and give the agent's, in these encodings from now on."""
        self._decoder, self._encoder = EventDecoder(taken), EventEncoder(given)

    async def receive(self, text: str) -> None:
        """Take one message of the client. It waits while the call has enough to do; then the client cannot send either."""
        if self._end_reason:
            return
        audio = self._read_audio(text)
        frames = None if audio is None else self._decoder.decode(audio)
        if frames is None:
            self._take_text(text)
            return
        now_ms = time.monotonic() * 1000.0
        self._pace.charge(len(frames) * FRAME_MS / 1000.0, self._loop.time())
        for frame in frames:
            while self._frames_in - self._frames_heard >= MAX_FRAMES_AHEAD and not self._end_reason:
                self._heard.clear()
                await self._heard.wait()
            self._frames_in += 1
            self._inbound.put(frame, now_ms, concealed=False)
        if (left := self._pace.left(self._loop.time())) < 0:
            await asyncio.sleep(-left / AUDIO_PACE)

    def _take_text(self, text: str) -> None:
        if len(self._waiting) >= MAX_MESSAGES_IN:
            self.dropped_in += 1
            self._end("abuse", TOO_MANY)
            return
        self._waiting.append((self._frames_in, text))
        self._changed.set()

    async def frames(self) -> AsyncIterator[InboundFrame]:
        """See `Leg.frames`."""
        async for frame in self._inbound.read():
            yield frame
            self._frames_heard += 1
            self._heard.set()
            self._changed.set()
            if self._frames_heard % FRAMES_IN_A_ROW == 0:
                await asyncio.sleep(0)

    async def client_events(self) -> AsyncIterator[str]:
        """See `Leg.client_events`. A message comes when the audio before it was heard."""
        while True:
            while self._waiting and (self._waiting[0][0] <= self._frames_heard or self._end_reason):
                yield self._waiting.popleft()[1]
            if self._end_reason:
                return
            self._changed.clear()
            await self._changed.wait()

    def send_event(self, event: JsonObject) -> None:
        """See `Leg.send_event`."""
        self._outbox.send(event)

    @property
    def end_reason(self) -> str:
        """See `Leg.end_reason`."""
        return self._end_reason

    @property
    def counters(self) -> dict[str, int]:
        """See `Leg.counters`."""
        return {"heard_frames_dropped": self._inbound.dropped, "events_dropped_in": self.dropped_in}

    @property
    def drops(self) -> dict[str, int]:
        """See `Leg.drops`."""
        return {"heard frames": self._inbound.dropped, "client events": self.dropped_in}

    async def wait_connected(self) -> bool:
        """It is from the start, or once the client has given a sign of life."""
        proof, self._proof = self._proof, None
        is_alive = proof is None or await proof()
        return is_alive and not self._end_reason

    def gone(self, *, is_closed: bool = True) -> None:
        """The connection has ended; `is_closed`: the client closed it, in place of losing it."""
        self._end("hangup" if is_closed else "lost", CLOSED)

    async def close(self) -> None:
        """See `Leg.close`. What waits for the client is sent first, if it reads."""
        if not self._end_reason:
            await self._outbox.drained()
        self._end("closed", self._at_close)
        await self._tasks.close()
        await self._wire.close(*self._closing)

    def _on_unsent(self, closing: Closing) -> None:
        """Nothing can be sent any more. How a connection ended that was closed is told by `gone`."""
        if closing is not CLOSED:
            self._end(TOO_SLOW, closing)

    def _end(self, reason: str, closing: Closing) -> None:
        if not self._end_reason:
            self._end_reason, self._closing = reason, closing
            self._player.stop()
            self._inbound.end()
            self._changed.set()
            self._heard.set()

    def _deliver(self, position: Position, clause: int, pcm: NDArray[np.int16]) -> None:
        if self._deliver_to is not None:
            self._deliver_to(position, clause, self._encoder.encode(pcm), len(pcm) * 1000.0 / PLAYED_HZ)
