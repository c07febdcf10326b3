"""A WebRTC peer for one call: an audio section and at most one data channel, made of aiortc's ICE, DTLS and SCTP, and of RTP of
our own. It answers one offer, or makes one; it does not negotiate again.

The layers, from the socket up: `ice_connection.py`, `transport.py` (DTLS and SRTP), then `sctp_transport.py` for the data
channel, and `rtp_receiver.py`, `rtp_sender.py` and `rtcp.py` for the audio."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aiortc import RTCCertificate, RTCDataChannel, RTCDataChannelParameters, RTCIceServer, RTCSctpTransport, sdp
from aiortc.rtcrtpparameters import RTCRtpCodecParameters

from voiceagent.errors import MediaError
from voiceagent.media.paced_audio import PacedAudio
from voiceagent.media.rtp import RtpPacket, named_extension
from voiceagent.media.webrtc import local_description, private_names
from voiceagent.media.webrtc.datagram_gate import DatagramGate
from voiceagent.media.webrtc.ice_connection import GatedConnection
from voiceagent.media.webrtc.local_description import AudioNames
from voiceagent.media.webrtc.ports import ANY_PORT, MediaPorts
from voiceagent.media.webrtc.remote_description import RemoteDescription, RemoteTransport, read_remote
from voiceagent.media.webrtc.rtcp import Rtcp
from voiceagent.media.webrtc.rtp_receiver import RtpPace, RtpReceiver
from voiceagent.media.webrtc.rtp_sender import OtherPacket, RtpSender
from voiceagent.media.webrtc.sctp_transport import ScreenedSctp
from voiceagent.media.webrtc.transport import Transport
from voiceagent.media.webrtc.transport_guard import TransportGuard
from voiceagent.task_owner import TaskOwner

_MS_PER_S = 1000.0


@dataclass(frozen=True, slots=True)
class PeerOptions:
    """The sockets and limits of a peer. Without a guard and a pace, all that the other side sends is taken."""

    ice_servers: Sequence[RTCIceServer] = ()
    ports: MediaPorts = ANY_PORT
    make_gate: Callable[[], DatagramGate] = DatagramGate
    guard: TransportGuard | None = None
    pace: RtpPace | None = None


class Peer:
    """One end of a connection. `close` frees it."""

    def __init__(
        self,
        audio: PacedAudio,
        take: Callable[[RtpPacket], None],
        clock_hz: int,
        options: PeerOptions,
        instead: Callable[[], OtherPacket | None] | None = None,
    ) -> None:
        """`audio` is sent, once the peer is connected. `take` gets each packet of the other side's the moment that the socket is
        read; it must not raise. `clock_hz` is the RTP clock of the codec. `instead`: see `RtpSender`."""
        private_names.check()
        self.local_description = ""
        self.direction = "sendrecv"
        """The direction of audio as it was negotiated, seen from here."""
        self.state = "new"
        """new, connecting, connected, failed (no connection, or the path was lost), closed (by the other side, or by us)."""
        self.on_state: Callable[[], None] = lambda: None
        """Called when `state` has changed."""
        self.on_data_channel: Callable[[RTCDataChannel], None] = lambda channel: None
        """Called when the other side has opened a channel."""
        self.sctp: RTCSctpTransport | None = None
        self._audio = audio
        self._clock_hz = clock_hz
        self._options = options
        self._certificate = RTCCertificate.generateCertificate()
        self._transports: list[Transport] = []
        """That of the audio, and that of the data channel if it has one of its own."""
        self._sender = RtpSender(self._send_rtp, instead)
        self._receiver = RtpReceiver(take, clock_hz)
        self._names = AudioNames(self._sender.ssrc)
        self._rtcp = Rtcp(self._sender, self._receiver, self._names.cname, self._send_rtcp)
        self._tasks = TaskOwner()
        self._offered: tuple[str, ...] = ()
        """The kinds of the sections that an offer of ours has."""
        self._closed = False

    @property
    def transport(self) -> Transport:
        """The transport of the audio. There is one once an offer was made or answered."""
        return self._transports[0]

    @property
    def packets(self) -> int:
        """The packets of any kind that have come on it."""
        return self._transports[0].packets if self._transports else 0

    async def answer(self, offer: str, codec: RTCRtpCodecParameters) -> str:
        """The answer to an offer that holds one audio section, and perhaps one of a data channel. Audio is sent and expected with
        `codec`. Raises MediaError for an offer that cannot be answered, NoPortError when there is no port."""
        remote = read_remote(offer)
        is_server = remote.transports[0].dtls.role == "client"
        for each in remote.transports:
            transport = self._add_transport()
            transport.dtls.take_role(is_server=is_server)
            await transport.gather(is_controlling=each.ice.iceLite)
        named = remote.audio.name_extension
        sections = {
            "audio": local_description.audio_section(self._names, remote.audio.mid, [codec], remote.audio.direction, named)
        }
        if remote.data is not None:
            sections["application"] = local_description.data_section(self._add_sctp(), remote.data.mid, remote.data.profile)
        self._write([sections[kind] for kind in remote.kinds], "server" if is_server else "client")
        self._begin(codec, remote)
        return self.local_description

    async def offer(self, codecs: Sequence[RTCRtpCodecParameters], label: str = "") -> str:
        """An offer of audio, and of a data channel if `label` names one; `settle` it with the answer. Raises NoPortError."""
        await self._add_transport().gather(is_controlling=True)
        sections = [local_description.audio_section(self._names, "0", codecs, self.direction, 1)]
        if label:
            sections.append(local_description.data_section(self._add_sctp(), "1"))
        self._offered = tuple(section.kind for section in sections)
        self._write(sections, "auto")
        return self.local_description

    def open_channel(self, label: str) -> RTCDataChannel:
        """Open a channel, for which an offer has a section."""
        assert self.sctp is not None
        return RTCDataChannel(self.sctp, RTCDataChannelParameters(label=label))

    def settle(self, answer: str, codec: RTCRtpCodecParameters) -> None:
        """The other side has answered our offer, with a codec of it. Raises MediaError for an answer that cannot be used."""
        remote = read_remote(answer)
        if remote.kinds != self._offered:
            raise MediaError(f"the answer has the sections {', '.join(remote.kinds)}; expected {', '.join(self._offered)}")
        role = remote.transports[0].dtls.role
        if role not in ("client", "server"):
            raise MediaError("the answer says a=setup:actpass; expected active or passive")
        self.transport.dtls.take_role(is_server=role == "client")
        self._begin(codec, remote)

    async def close(self) -> None:
        """Say goodbye, and free the sockets and tasks. May be called twice."""
        if self._closed:
            return
        self._closed = True
        self._audio.stop()
        await self._tasks.close()
        self._rtcp.end()
        if self.sctp is not None:
            await self.sctp.stop()
        for transport in self._transports:
            await transport.stop()
        self._on_transport()

    def _add_transport(self) -> Transport:
        options = self._options
        connection = GatedConnection(options.make_gate(), options.ports, options.ice_servers)
        transport = Transport(connection, self._certificate, self._on_transport, options.guard, options.pace)
        self._transports.append(transport)
        return transport

    def _add_sctp(self) -> RTCSctpTransport:
        dtls, guard = self._transports[-1].dtls, self._options.guard
        self.sctp = RTCSctpTransport(dtls) if guard is None else ScreenedSctp(dtls, guard)
        self.sctp.on("datachannel", lambda channel: self.on_data_channel(channel))
        return self.sctp

    def _write(self, sections: Sequence[sdp.MediaDescription], role: str) -> None:
        for section in sections:
            transport = self._transports[-1 if section.kind == "application" else 0]
            local_description.place_on(section, transport.ice, transport.dtls, role)
        self.local_description = local_description.written(sections)

    def _begin(self, codec: RTCRtpCodecParameters, remote: RemoteDescription) -> None:
        """Connect the transports."""
        self.direction = remote.audio.direction
        self._sender.begin(codec.payloadType or 0, named_extension(remote.audio.name_extension, remote.audio.mid))
        self.transport.on_rtp, self.transport.on_rtcp = self._receiver.receive, self._rtcp.receive
        self._set_state("connecting")
        # an answer to our offer, whose transport is for all, may describe it twice
        for transport, other in zip(self._transports, remote.transports, strict=False):
            self._tasks.start_alone(self._connect(transport, other, remote), "WebRTC connection")

    async def _connect(self, transport: Transport, other: RemoteTransport, remote: RemoteDescription) -> None:
        await transport.connect(other)
        if transport.state != "connected":
            return
        if transport is self.transport:
            self._rtcp.begin()
            self._tasks.start_alone(self._play(), "audio of a WebRTC peer")
        if remote.data is not None and self.sctp is not None and self.sctp.transport is transport.dtls:
            await self.sctp.start(remote.data.capabilities, remote.data.port)

    async def _play(self) -> None:
        """Send the audio. Where the other side wants none, take the time that it lasts: the conversation goes on by its text."""
        is_heard = self.direction in ("sendrecv", "sendonly")
        try:
            with suppress(ConnectionError):
                await self._audio.run(self._send_audio if is_heard else _send_to_nobody)
        finally:
            self._audio.stop()

    def _send_audio(self, payload: bytes, due_ms: float, begins: bool) -> None:
        self._sender.send(payload, round(due_ms * self._clock_hz / _MS_PER_S), begins)

    def _send_rtp(self, packet: bytes) -> None:
        self.transport.send_rtp(packet)

    def _send_rtcp(self, packet: bytes) -> None:
        self.transport.send_rtcp(packet)

    def _on_transport(self) -> None:
        states = {transport.state for transport in self._transports}
        if self._closed:
            self._set_state("closed")
        elif self.state != "new":
            self._set_state(next((each for each in ("failed", "closed", "connecting") if each in states), "connected"))

    def _set_state(self, state: str) -> None:
        if state != self.state:
            self.state = state
            self.on_state()


def _send_to_nobody(payload: bytes, due_ms: float, begins: bool) -> None:
    """Drop a frame: the caller wants no audio."""
