"""The leg of a SIP call: a WebRTC connection to the gateway (Janus) that carries the telephone's own audio, PCMU or PCMA, and
its keys. Changes of the call itself (hold, hang-up, transfer) come from the gateway's API, through the object that made the
leg."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from voiceagent.audio.format import PHONE_FRAME_SAMPLES
from voiceagent.audio.g711 import ComfortNoise
from voiceagent.errors import MediaError
from voiceagent.media.paced_audio import PacedAudio
from voiceagent.media.webrtc.datagram_gate import Budget, DatagramGate, GateCounters
from voiceagent.media.webrtc.peer import Peer, PeerOptions
from voiceagent.media.webrtc.ports import ANY_PORT, MediaPorts, NoPortError
from voiceagent.media.webrtc.rtp_receiver import RtpPace
from voiceagent.media.webrtc.rtp_sender import OtherPacket
from voiceagent.media.webrtc.session_description import with_address
from voiceagent.media.webrtc.transport_guard import TransportGuard
from voiceagent.task_owner import Once
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.phone_leg import NO_TRANSFERS, ColleagueBriefing, PhoneLeg
from voiceagent.telephone.sip.audio import (
    KEYS_TYPE,
    PCMA,
    PCMU,
    Bridge,
    LateEncoder,
    PhoneAudio,
    SipEars,
    audio_alone,
    is_hold,
    phone_codec,
    read_audio,
    updated_description,
    with_keys,
)
from voiceagent.telephone.sip.janus_client import SIP_PATIENCE, SipPatience
from voiceagent.telephone.telephone_events import CLOCK_HZ, KeyWriter

log = logging.getLogger(__name__)


CONNECT_TIMEOUT_S = 10.0
"""Longest wait for the connection from the moment that the call is taken."""
CLOSE_TIMEOUT_S = 5.0
WORD_TIMEOUT_S = 1.0
"""Longest wait for the gateway's report of a hangup once it has closed the connection."""
OFFER_BYTES = 4096
"""The size that an offer of the gateway's counts as. It limits what may be sent before the gateway has answered."""


Release = Callable[[], Awaitable[None]]
"""Ends the call at the gateway; must not raise."""


class LegTransfers(Protocol):
    """Transfers calls of a SIP line."""

    async def transfer(self, leg: SipLeg, name: str, briefing: ColleagueBriefing) -> str:
        """See `PhoneLeg.transfer`."""
        ...


@dataclass(frozen=True, slots=True)
class SipLegOptions:
    """Options that a line gives to each leg."""

    ports: MediaPorts = ANY_PORT
    comfort_noise: ComfortNoise | None = None
    """The noise that is heard while nobody speaks, at 8 kHz; None: silence."""
    transfers: LegTransfers | None = None
    """None where the line knows nobody."""
    patience: SipPatience = SIP_PATIENCE


class SipLeg(PhoneLeg):
    """Implements `Leg`. Made by `answer` or `offer`; `close` frees it, and ends the call."""

    def __init__(self, facts: CallFacts, release: Release, options: SipLegOptions) -> None:
        super().__init__(facts)
        self.local_sdp = ""
        self.patience = options.patience
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Done once the connection has ended: why."""
        self._release = release
        self._ports = options.ports
        self._comfort_noise = options.comfort_noise
        self._transfers = options.transfers
        self._keys = KeyWriter()
        self._encoder = LateEncoder(self._beside)
        self._voice = PacedAudio(self._next_frame, sent=self._on_sent, encoder=self._encoder, plays=self.cleaner.played)
        self._pace = RtpPace(self._on_abuse)
        self._gate = GateCounters()
        self._audio: PhoneAudio | None = None
        self._ears = SipEars(self.client.keys.press, self._inbound)
        limits = PeerOptions(
            ports=options.ports,
            make_gate=lambda: DatagramGate(Budget(OFFER_BYTES), self._gate),
            guard=TransportGuard(self._on_abuse),
            pace=self._pace,
        )
        self._peer = Peer(self._voice, self._ears.receive, CLOCK_HZ, limits, self._next_key)
        self._peer.on_state = self._on_state
        self.is_kept = False
        """True while a bridge keeps the leg after the call's end."""
        self._awaits_colleague = False
        """True if the other side waits to be bridged with a colleague, or waited at its end."""
        self._is_left = False
        self._connected = asyncio.Event()
        self._late: asyncio.TimerHandle | None = None
        self._freeing = Once(self._free, "end of a SIP leg")

    @classmethod
    async def answer(cls, offer: str, facts: CallFacts, release: Release, options: SipLegOptions) -> tuple[SipLeg, str]:
        """Take the gateway's offer of a call that rings; the leg, and the answer. Raises MediaError in one line; NoPortError when
        the line has none left."""
        audio = read_audio(offer)
        leg = cls(facts, release, options)
        try:
            return leg, await leg._negotiated(leg._answered(offer, audio))
        except BaseException:
            await leg.close()
            raise

    @classmethod
    async def offer(cls, facts: CallFacts, release: Release, options: SipLegOptions) -> tuple[SipLeg, str]:
        """A leg for a call that we make, and its offer; `settle` it with the answer."""
        leg = cls(facts, release, options)
        try:
            return leg, await leg._negotiated(leg._offered())
        except BaseException:
            await leg.close()
            raise

    async def settle(self, answer: str) -> None:
        """The other side has answered our offer. Raises MediaError."""
        if self._audio is None and answer:
            audio = read_audio(answer)
            await self._negotiated(self._settled(answer, audio))

    async def _negotiated(self, work: Awaitable[str]) -> str:
        try:
            self.local_sdp = await work or self.local_sdp
        except NoPortError:
            raise
        except MediaError as error:
            raise MediaError(f"the gateway's SDP cannot be used: {error}") from error
        return self.local_sdp

    async def _answered(self, offer: str, audio: PhoneAudio) -> str:
        alone, whole = audio_alone(offer)
        self._begin(audio)
        answer = whole(await self._peer.answer(alone, phone_codec(audio.payload_type)))
        return with_keys(with_address(answer, self._ports.address), audio.keys_type)

    async def _offered(self) -> str:
        offer = await self._peer.offer([phone_codec(each) for each in (PCMU, PCMA)])
        return with_keys(with_address(offer, self._ports.address), KEYS_TYPE)

    async def _settled(self, answer: str, audio: PhoneAudio) -> str:
        self._begin(audio)
        self._peer.settle(answer, phone_codec(audio.payload_type))
        return ""

    def _begin(self, audio: PhoneAudio) -> None:
        """It is settled how both sides speak."""
        self._audio = audio
        self._encoder.use(audio.encoding)
        self._ears.begin(audio)

    def _next_key(self) -> OtherPacket | None:
        """A packet of a key in place of audio, with the sequence number of that: so the stream has no gap."""
        keys_type = None if self._audio is None else self._audio.keys_type
        key = None if keys_type is None else self._keys.next()
        if key is None or keys_type is None:
            return None
        return OtherPacket(keys_type, key.payload, key.is_first, key.frames_ago * PHONE_FRAME_SAMPLES)

    def taken(self) -> None:
        """The call is up, on both sides: audio must come now. The audio before was ring-back."""
        self._inbound.clear()
        if not self._connected.is_set() and not self._end_reason:
            self._late = self._loop.call_later(CONNECT_TIMEOUT_S, self.end, "lost")
        if not self._end_reason:
            self._ears.last_s = self._loop.time()
            self._keep_watch()

    @override
    def _look(self, now_s: float) -> None:
        if self._ears.is_held:
            self._ears.last_s = now_s
        if now_s - self._ears.last_s >= self.patience.silence_s:
            log.warning("a call with %s is lost: no audio came for %g s", self._other_side, self.patience.silence_s)
            self.end("lost")

    @property
    def _other_side(self) -> str:
        return self.facts.called if self.facts.outbound else self.facts.caller

    def update(self, offer: str) -> str:
        """The other side holds the call, or takes it up again, or moves its audio, which is the gateway's business: our answer. A
        reply that is held in the middle goes on from there."""
        held = is_hold(offer)
        if held != self._ears.is_held:
            self._ears.is_held = held
            log.info("a call with %s %s", self._other_side, "is on hold" if held else "goes on")
        return updated_description(self.local_sdp, offer)

    @property
    def can_transfer(self) -> bool:
        """See `PhoneLeg`."""
        return self._transfers is not None

    async def transfer(self, name: str, briefing: ColleagueBriefing) -> str:
        """See `PhoneLeg`."""
        return NO_TRANSFERS if self._transfers is None else await self._transfers.transfer(self, name, briefing)

    def bridge(self, bridge: Bridge) -> None:
        """Connect the other side with whoever the bridge speaks and hears for, in place of the call. The agent's voice is heard
        all the same."""
        self._ears.connect(bridge)

    def wait_for_colleague(self, bridge: Bridge) -> None:
        """Bridge the other side with what it hears while it waits for a colleague."""
        self._awaits_colleague = True
        self.bridge(bridge)

    def return_to_agent(self) -> None:
        """Nobody has taken the call over: the other side is with the agent again."""
        if not self._end_reason:
            self._awaits_colleague = False
            self._ears.connect(None)

    def keep(self) -> None:
        """See `is_kept`: `close` ends only what the call has of the leg, until `give_up`."""
        self.is_kept = True

    async def give_up(self) -> None:
        """Close a leg that was kept."""
        self.is_kept = False
        await self.close()

    @property
    def has_hung_up_waiting(self) -> bool:
        """See `PhoneLeg`."""
        return self._awaits_colleague and not self.is_kept and self._end_reason in ("hangup", "lost")

    def leave(self) -> None:
        """See `PhoneLeg`."""
        self._is_left = True
        super().leave()

    def press(self, keys: str) -> None:
        """Press keys. Raises ValueError for what no telephone has, and MediaError where the other side takes none."""
        if self._audio is None or self._audio.keys_type is None:
            raise MediaError("the other side takes no keys (it did not offer telephone-event)")
        self._keys.press(keys)

    @override
    def take_jitter_ms(self) -> tuple[float | None, float | None]:
        return self._ears.take_jitter_ms(), self._voice.departures.take_ms()

    @property
    def counters(self) -> dict[str, int]:
        """See `Leg.counters`."""
        return {
            **super().counters,
            **self._ears.counters,
            "packets_refused": self._pace.unopened + self._pace.meter.refusals,
            "frames_skipped": self._voice.skipped_frames,
            "datagrams_foreign": self._gate.foreign,
        }

    async def wait_connected(self) -> bool:
        """Wait until media can flow; False when the leg ended first."""
        await self._connected.wait()
        return not self._end_reason

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._voice.stop()
        self._ears.close()
        self._connected.set()
        self.over.set_result(self._end_reason)

    def closed_by_gateway(self) -> None:
        """The gateway has closed the connection: the call is lost, if no word comes why."""
        if not self._end_reason:
            if self._late is not None:
                self._late.cancel()
            self._late = self._loop.call_later(WORD_TIMEOUT_S, self.end, "lost")

    async def close(self) -> None:
        """End the call and free its sockets and tasks. May be called twice."""
        if self.is_kept:
            self.leave()
            return
        self.end("closed")
        await self._freeing.run()

    async def _free(self) -> None:
        await self._release()
        await self._tasks.close()
        try:
            await asyncio.wait_for(self._peer.close(), CLOSE_TIMEOUT_S)
        except TimeoutError:
            log.warning("a connection to the gateway did not close within %s s", CLOSE_TIMEOUT_S)

    def _next_frame(self) -> NDArray[np.int16] | None:
        if not self._is_left and (self._ears.is_held or self._ears.bridge is not None):
            self._inbound.put_silence(time.monotonic() * 1000.0)
        return None if self._ears.is_held else self.playout.take_frame()

    def _beside(self, voice: NDArray[np.int16]) -> NDArray[np.int16] | None:
        """The audio of a bridge, or else noise in a silence: neither is the agent's voice."""
        said = None if self._ears.bridge is None else self._ears.bridge.say(voice)
        if self._ears.is_held:
            return None
        if said is None and self._comfort_noise is not None and not voice.any():
            return self._comfort_noise.take(len(voice))
        return said

    def _on_sent(self, sent_ms: float) -> None:
        self.playout.confirm_sent()

    def _on_state(self) -> None:
        state = self._peer.state
        if state == "connected":
            if self._late is not None:
                self._late.cancel()
            self._connected.set()
        elif state == "failed":
            self.end("lost")
        elif state == "closed":
            self.closed_by_gateway()

    def _on_abuse(self) -> None:
        self.end("abuse")
