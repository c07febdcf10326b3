"""The WebRTC leg: a browser (or any WebRTC peer) as one media connection of a call. An SDP offer goes in, an answer comes out.
Then it carries the caller's audio as 16 kHz frames, the playout's frames as Opus, and events over the data channel."""

from __future__ import annotations

import asyncio
import importlib
import logging
import math
import time
from collections.abc import AsyncIterator, Sequence

from aiortc import RTCDataChannel, RTCIceServer
from aiortc.rtcdtlstransport import RTCCertificate
from typing_extensions import override

from voiceagent.audio import opus
from voiceagent.audio.format import HEARD_HZ
from voiceagent.latency.spans import LegKind
from voiceagent.media.audio_cleaner import AudioCleaner
from voiceagent.media.audio_receiver import AudioReceiver
from voiceagent.media.inbound_frames import InboundFrames
from voiceagent.media.leg import InboundFrame, Leg
from voiceagent.media.outgoing_events import READER, TOO_SLOW, ReaderLimits
from voiceagent.media.paced_audio import PacedAudio
from voiceagent.media.playout import Playout
from voiceagent.media.rtp import RtpPacket
from voiceagent.media.webrtc.datagram_gate import Budget, DatagramGate, GateCounters
from voiceagent.media.webrtc.event_channel import LABEL, EventChannel
from voiceagent.media.webrtc.peer import Peer, PeerOptions
from voiceagent.media.webrtc.ports import ANY_PORT, MediaPorts
from voiceagent.media.webrtc.rtp_receiver import RtpPace
from voiceagent.media.webrtc.session_description import Offer, opus_codec, read_offer, with_address
from voiceagent.media.webrtc.transport_guard import TransportGuard
from voiceagent.task_owner import Once


def prepare() -> None:
    """Import, before the first call, what aiortc and pyOpenSSL import only once a call needs it. The modules behind a certificate
    and a TLS context take up to a tenth of a second to import, and the audio of all calls would stall for that time. Run it in a
    thread."""
    RTCCertificate.generateCertificate()
    importlib.import_module("cryptography.hazmat.primitives.serialization")  # by pyOpenSSL, when a certificate is used


WATCH_INTERVAL_S = 0.5
CLOSE_TIMEOUT_S = 5.0

logger = logging.getLogger(__name__)


class WebRtcLeg(Leg):
    """Implements `Leg` over a `Peer`. Made by `answer`; `close` frees it."""

    def __init__(
        self,
        budget: Budget,
        ice_servers: Sequence[RTCIceServer],
        ports: MediaPorts,
        connect_timeout_s: float,
        silence_timeout_s: float,
        encoder: opus.Encoder,
        reader: ReaderLimits,
    ) -> None:
        self.playout = Playout()
        self.kind = LegKind.WEBRTC
        self.cleaner = AudioCleaner()
        self._loop = asyncio.get_running_loop()
        self._events = EventChannel(lambda: self._end(TOO_SLOW), reader)
        self._has_channel = False
        self._gate = GateCounters()
        self._guard = TransportGuard(self._on_abuse)
        self._pace = RtpPace(self._on_abuse)
        self._inbound = InboundFrames(self.cleaner)
        self._receiver = AudioReceiver(HEARD_HZ, self._inbound.put)
        self._audio = PacedAudio(
            lambda: self.playout.take_frame(),  # it may be another call's by then
            sent=self._on_sent,
            encoder=encoder,
            idle=self._is_idle,
            plays=self.cleaner.played,
        )
        self.play(self.playout)
        options = PeerOptions(ice_servers, ports, lambda: DatagramGate(budget, self._gate), self._guard, self._pace)
        self._peer = Peer(self._audio, self._on_rtp, opus.RTP_CLOCK_HZ, options)
        self._peer.on_state, self._peer.on_data_channel = self._on_state, self._on_data_channel
        self._connected = asyncio.Event()
        self._end_reason = ""
        self._is_closing = False
        self._freeing = Once(self._free, "end of a WebRTC leg")
        self._connect_timeout_s = connect_timeout_s
        self._silence_timeout_s = silence_timeout_s
        self._watch: asyncio.TimerHandle | None = None
        self._packets = 0
        self._last_rtp_ms = math.inf
        self._offered_s = self._last_packet_s = self._loop.time()

    @classmethod
    async def answer(
        cls,
        offer_sdp: str,
        *,
        ice_servers: Sequence[RTCIceServer] = (),
        private_candidates: bool = False,
        ports: MediaPorts = ANY_PORT,
        connect_timeout_s: float = 5.0,
        silence_timeout_s: float = 8.0,
        bitrate_bps: int = 32_000,
        complexity: int = 5,
        reader: ReaderLimits = READER,
    ) -> tuple[WebRtcLeg, str]:
        """Take an offer; returns the leg, and the SDP that answers it with all candidates. The connection comes up by itself. If
        it is not up within `connect_timeout_s`, or nothing is received for `silence_timeout_s`, the leg ends as `lost`.
        `private_candidates`: see `IceSettings`. Raises MediaError, in one line, for an offer that cannot be served; NoPortError
        when `ports` has none left."""
        offer = read_offer(offer_sdp, private_candidates=private_candidates)
        encoder = opus.Encoder(bitrate_bps=bitrate_bps, complexity=complexity)
        budget = Budget(len(offer_sdp.encode()))
        leg = cls(budget, ice_servers, ports, connect_timeout_s, silence_timeout_s, encoder, reader)
        try:
            return leg, with_address(await leg._negotiate(offer), ports.address)
        except BaseException:
            await leg.close()
            raise

    async def _negotiate(self, offer: Offer) -> str:
        self._receiver.payload_type = offer.opus_type
        answer = offer.answered(await self._peer.answer(offer.text, opus_codec(offer.opus_type)))
        if self._peer.direction == "inactive":  # nothing need come; ICE's consent still ends what is lost (RFC 7675)
            self._silence_timeout_s = math.inf
        self._offered_s = self._last_packet_s = self._loop.time()
        self._watch = self._loop.call_later(WATCH_INTERVAL_S, self._on_watch)
        return answer

    @override
    def frames(self) -> AsyncIterator[InboundFrame]:
        return self._inbound.read()

    async def client_events(self) -> AsyncIterator[str]:
        """The text messages of `oai-events`, in order; ends when the connection does."""
        async for _, text in self._events.messages():
            yield text

    def send_event(self, event: dict[str, object]) -> None:
        """Send one JSON event to the client. It is kept (bounded) until the channel opens, and dropped and counted when the
        channel is closed. A client that does not read ends the leg as `too_slow`."""
        self._events.send(event)

    def play(self, playout: Playout) -> None:
        """See `ConnectionLeg.play`."""
        self.playout = playout
        playout.on_ready = self._audio.hurry

    def goes_elsewhere(self) -> None:
        """See `ConnectionLeg.goes_elsewhere`. A client whose channel closes before it was told of the end comes back."""

    def replaced(self) -> None:
        """See `ConnectionLeg.replaced`."""
        self._end("replaced")

    @property
    def alive_ms(self) -> float:
        """See `ConnectionLeg.alive_ms`. A client that sends no audio says nothing by that."""
        return self._last_rtp_ms

    @property
    def takes_our_events(self) -> bool:
        """See `ConnectionLeg.takes_our_events`. A client of WHIP has no data channel."""
        return self._has_channel

    @property
    def end_reason(self) -> str:
        """The reason why the connection ended: hangup (the peer closed it), closed (we did), lost, too_slow (the peer does not
        read its events), abuse (it went on after refusals). Empty while it is up."""
        return self._end_reason

    @override
    def take_jitter_ms(self) -> tuple[float | None, float | None]:
        return self._receiver.arrivals.take_ms(), self._audio.departures.take_ms()

    @property
    @override
    def counters(self) -> dict[str, int]:
        return {
            **self._receiver.counters,
            "heard_frames_dropped": self._inbound.dropped,
            "cleaning_failed": self.cleaner.failures,
            "packets_refused": self._pace.unopened + self._pace.meter.refusals,
            "events_dropped_in": self._events.dropped_in,
            "events_dropped_out": self._events.dropped_out,
            "frames_skipped": self._audio.skipped_frames,
            "datagrams_foreign": self._gate.foreign,
            "stun_malformed": self._gate.stun_malformed,
            "stun_unauthenticated": self._gate.stun_unauthenticated,
            "stun_excess": self._gate.stun_excess,
            "stun_unsent": self._gate.unsent,
            "dtls_refused": self._guard.dtls_refused,
            "packets_malformed": self._guard.malformed,
            "data_refused": self._guard.refused,
        }

    @property
    @override
    def drops(self) -> dict[str, int]:
        return {
            "heard frames": self._inbound.dropped,
            "client events": self._events.overflowed_in,
            "server events": self._events.overflowed_out,
            "datagrams": self._guard.overflowed,
        }

    async def wait_connected(self) -> bool:
        """Wait until media can flow; False when the leg ended first."""
        await self._connected.wait()
        return not self._end_reason

    async def close(self) -> None:
        """End the connection and free its sockets and tasks. May be called twice."""
        self._is_closing = True
        if self._end_reason not in ("hangup", "lost"):
            await self._events.finish()
        self._end("closed")
        await self._freeing.run()

    async def _free(self) -> None:
        try:
            await asyncio.wait_for(self._peer.close(), CLOSE_TIMEOUT_S)
        except TimeoutError:
            logger.warning("a WebRTC connection did not close within %s s", CLOSE_TIMEOUT_S)

    def _end(self, reason: str) -> None:
        if self._end_reason:
            return
        self._end_reason = reason
        if self._watch is not None:
            self._watch.cancel()
        self._audio.stop()
        self._receiver.close()
        self._events.end()
        self._connected.set()
        self._inbound.end()

    def _on_rtp(self, packet: RtpPacket) -> None:
        self._last_rtp_ms = time.monotonic() * 1000.0
        self._receiver.receive(packet)

    def _is_idle(self) -> bool:
        return self.playout.idle

    def _on_sent(self, sent_ms: float) -> None:
        self.playout.confirm_sent()

    def _on_data_channel(self, channel: RTCDataChannel) -> None:
        if channel.label != LABEL or self._has_channel:
            self._events.dropped_in += 1
            channel.close()
            return
        self._has_channel = True
        self._events.attach(channel)
        channel.on("close", lambda: self._end("closed" if self._is_closing else "hangup"))

    def _on_state(self) -> None:
        state = self._peer.state
        if state == "connected":
            self._last_packet_s = self._loop.time()
            self._connected.set()
        elif state == "failed":
            self._end("lost")
        elif state == "closed":
            self._end("hangup")

    def _on_abuse(self) -> None:
        self._end("abuse")

    def _on_watch(self) -> None:
        now_s = self._loop.time()
        if self._peer.packets != self._packets:
            self._packets = self._peer.packets
            self._last_packet_s = now_s
        if self._receiver.allowance.exhausted:
            self._end("abuse")
            return
        # Until the leg is connected, incoming data extends no deadline: half a handshake is no caller.
        is_up = self._connected.is_set()
        limit_s, since_s = (self._silence_timeout_s, self._last_packet_s) if is_up else (self._connect_timeout_s, self._offered_s)
        if now_s - since_s >= limit_s:
            self._end("lost")
            return
        self._watch = self._loop.call_later(WATCH_INTERVAL_S, self._on_watch)
