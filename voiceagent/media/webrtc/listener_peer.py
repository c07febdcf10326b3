"""A WebRTC peer that only listens: it gets the agent's voice of a call that another connection carries. An SDP offer that wants
audio goes in, an answer comes out."""

from __future__ import annotations

import asyncio
import logging
from collections import deque

import numpy as np
from numpy.typing import NDArray

from voiceagent.audio import opus
from voiceagent.errors import MediaError
from voiceagent.media.paced_audio import PacedAudio
from voiceagent.media.playout import Playout
from voiceagent.media.rtp import RtpPacket
from voiceagent.media.webrtc.datagram_gate import Budget, DatagramGate
from voiceagent.media.webrtc.peer import Peer, PeerOptions
from voiceagent.media.webrtc.ports import ANY_PORT, MediaPorts
from voiceagent.media.webrtc.rtp_receiver import RtpPace
from voiceagent.media.webrtc.session_description import opus_codec, read_offer, with_address
from voiceagent.media.webrtc.transport_guard import TransportGuard
from voiceagent.task_owner import Once

CONNECT_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 5.0
MAX_FRAMES = 25
"""The most frames that wait to be sent, half a second; then the oldest is dropped."""

log = logging.getLogger(__name__)


class VoiceQueue:
    """The agent's voice on its way to a listener. The first frame after a silence waits for one tick, so that the ticks of both
    connections need not agree."""

    def __init__(self) -> None:
        self._frames: deque[NDArray[np.int16]] = deque(maxlen=MAX_FRAMES)
        self._waits = True

    @property
    def is_empty(self) -> bool:
        """True while there is nothing to send."""
        return not self._frames

    def put(self, frame: NDArray[np.int16]) -> None:
        """Take the next frame, mono 24 kHz, shape (480,)."""
        self._frames.append(frame)

    def take(self) -> NDArray[np.int16] | None:
        """The frame that is due; None for silence."""
        waits, self._waits = self._waits, not self._frames
        return None if waits or not self._frames else self._frames.popleft()


class ListenerPeer:
    """One listener. Made by `answer`; `close` frees it."""

    def __init__(self, playout: Playout, offer_bytes: int, ports: MediaPorts) -> None:
        self.over = asyncio.Event()
        """Set once the connection has ended."""
        self._playout = playout
        self._queue = VoiceQueue()
        self._audio = PacedAudio(self._queue.take, encoder=opus.Encoder(), idle=lambda: self._queue.is_empty)
        budget = Budget(offer_bytes)
        options = PeerOptions((), ports, lambda: DatagramGate(budget), TransportGuard(self.over.set), RtpPace(self.over.set))
        self._peer = Peer(self._audio, _ignore, opus.RTP_CLOCK_HZ, options)
        self._peer.on_state = self._on_state
        self._late = asyncio.get_running_loop().call_later(CONNECT_TIMEOUT_S, self.over.set)
        self._freeing = Once(self._free, "end of a listener")

    @classmethod
    async def answer(
        cls, offer_sdp: str, playout: Playout, *, private_candidates: bool = False, ports: MediaPorts = ANY_PORT
    ) -> tuple[ListenerPeer, str]:
        """Take an offer of somebody who wants to hear the playout; the listener, and the SDP that answers it. Raises MediaError
        for an offer that cannot be served; NoPortError when `ports` has none left."""
        offer = read_offer(offer_sdp, private_candidates=private_candidates)
        listener = cls(playout, len(offer_sdp.encode()), ports)
        try:
            answer = offer.answered(await listener._peer.answer(offer.text, opus_codec(offer.opus_type)))
            if listener._peer.direction not in ("sendonly", "sendrecv"):
                raise MediaError("the offer wants no audio; expected a=recvonly")
            return listener, with_address(answer, ports.address)
        except BaseException:
            await listener.close()
            raise

    async def close(self) -> None:
        """End the connection and free its sockets and tasks. May be called twice."""
        self.over.set()
        await self._freeing.run()

    def _on_state(self) -> None:
        if self._peer.state == "connected":
            self._late.cancel()
            self._playout.listeners.add(self._hear)
        elif self._peer.state in ("failed", "closed"):
            self.over.set()

    def _hear(self, frame: NDArray[np.int16]) -> None:
        self._queue.put(frame)
        self._audio.hurry()

    async def _free(self) -> None:
        self._late.cancel()
        self._playout.listeners.discard(self._hear)
        try:
            await asyncio.wait_for(self._peer.close(), CLOSE_TIMEOUT_S)
        except TimeoutError:
            log.warning("a listener's connection did not close within %s s", CLOSE_TIMEOUT_S)


def _ignore(packet: RtpPacket) -> None:
    """Drop a packet: a listener has nothing to say."""
