"""A headless caller, which does what a browser does: it calls over WebRTC, or over the WebSocket where no UDP gets through. It
speaks PCM, hears PCM, exchanges events, and keeps exact times of what was said and heard. For `voiceagent call`, tests and
benchmarks. All times are milliseconds of `time.monotonic`."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Literal

import numpy as np
from aiortc import RTCIceServer
from numpy.typing import NDArray

from voiceagent.audio import opus
from voiceagent.audio.format import FRAME_MS, PLAYED_FRAME_SAMPLES, PLAYED_HZ
from voiceagent.audio.levels import VoicedTimeline
from voiceagent.audio.resample import resample
from voiceagent.client.impairment import ImpairedRelay
from voiceagent.client.recording import StereoRecording
from voiceagent.client.signalling import CallOverError, NoServerError, SignallingAnswer, answer_to, hang_up, ice_servers
from voiceagent.client.socket_connection import PcmEncoder, SocketConnection
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.media.audio_receiver import AudioReceiver
from voiceagent.media.outgoing_events import encoded
from voiceagent.media.paced_audio import PacedAudio, Source
from voiceagent.media.rtp import RtpPacket
from voiceagent.media.webrtc.event_channel import LABEL, EventChannel
from voiceagent.media.webrtc.peer import Peer, PeerOptions
from voiceagent.media.webrtc.session_description import opus_codec, read_answer
from voiceagent.task_owner import TaskOwner
from voiceagent.untrusted_json import read_loose_json, read_struct

MAX_SAY_S = 600
"""The most speech that may wait to be said, in seconds."""
BLOCKED_AFTER_S = 4.5
"""After this time without a way for UDP a call goes over the WebSocket. The server waits a little longer."""
LATE_FRAMES = 30
"""A microphone goes on while its program is held up. So many frames, 0.6 s, are sent at once then; no word gets a gap."""
RENEWED_S = 4.5
"""The time in which the server goes on over a new connection that is up."""
SILENT_MS = 2000.0
"""After this time without a packet the call is taken up again."""
WATCHED_S = 0.5
_EVENT_ID = re.compile(r'"event_id":"(event_[0-9a-f]+)"')
MAX_KNOWN_EVENTS = 4096
"""Events of which a second copy is told. A server repeats no more."""
LOST_AFTER_MS = 5000.0
"""A server that lives sends a packet at least every 400 ms. After so long a time without one, it or the network is gone."""
MAX_AGENT_FRAMES = 3000
"""One minute of the agent's audio may wait for a reader of `frames`; beyond that the oldest frame is dropped."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AgentFrame:
    """20 ms of the agent's audio."""

    pcm: NDArray[np.int16]
    """Mono 24 kHz, shape (480,)."""
    received_ms: float
    """The arrival of its packet; over the WebSocket, the time from which it is heard."""
    concealed: bool
    """True when the packet was lost and this is a guess."""


@dataclass(frozen=True, slots=True)
class ReceivedEvent:
    """An event of the server."""

    received_ms: float
    data: JsonObject

    @property
    def type(self) -> str:
        """The event's `type`; empty when it has none."""
        return str(self.data.get("type", ""))


class Caller:
    """One call. `async with Caller(url) as caller:` connects and hangs up."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        ice_servers: Sequence[RTCIceServer] | None = None,
        relay: ImpairedRelay | None = None,
        connect_timeout_s: float = 15.0,
        threshold_dbfs: float = -45.0,
    ) -> None:
        """`url` is the server's, such as http://127.0.0.1:8080. It names the `ice_servers`, unless they are given. `relay` makes
        the network bad on purpose. Audio above `threshold_dbfs` counts as voiced."""
        self.url = url.rstrip("/")
        self.location = ""
        """The call's resource on the server."""
        self.transport: Literal["webrtc", "websocket"] = "webrtc"
        """The way that the call goes. A call keeps the one on which it came up."""
        self.said = VoicedTimeline(PLAYED_HZ, threshold_dbfs=threshold_dbfs)
        """The times of the caller's speech: a sample of a packet sent at t was spoken within the 20 ms before t."""
        self.heard = VoicedTimeline(PLAYED_HZ, threshold_dbfs=threshold_dbfs)
        """The times of the agent's speech: a packet that arrived at t is heard within the 20 ms after t."""
        self.recording = StereoRecording(PLAYED_HZ)
        self.started_ms = 0.0
        """The time at which the connection came up: the zero of the recording."""
        self.on_frame: Callable[[AgentFrame], None] | None = None
        """Called with each frame, besides `frames`."""
        self.live: Source | None = None
        """If set, it is asked for each frame that is due, instead of what `say` has queued."""
        self.on_packet: Callable[[RtpPacket, float], None] | None = None
        """Called with each RTP packet and when it arrived; over the WebSocket there are none."""
        self._token = token
        self._relay = relay
        self._connect_timeout_s = connect_timeout_s
        self._ice_servers = ice_servers
        self._peer: Peer | None = None
        self._socket: SocketConnection | None = None
        self._receiver: AudioReceiver | None = None
        self._events = EventChannel()
        self._microphone: deque[NDArray[np.int16]] = deque()
        self._waiting_samples = 0
        self._sending: NDArray[np.int16] | None = None
        self._frames: deque[AgentFrame] = deque(maxlen=MAX_AGENT_FRAMES)
        self._changed = asyncio.Event()
        self._connected = asyncio.Event()
        self._end_reason, self._last_packet_ms = "", 0.0
        self._audio: PacedAudio | None = None
        self._resume_token, self._last_event_id, self._resume_timeout_s = "", "", 0.0
        self.resumed = 0
        """The number of times that the call was taken up again after its connection was lost."""
        self._tasks = TaskOwner()
        self._lost = asyncio.Event()

    async def __aenter__(self) -> Caller:
        await self.connect()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.hangup()

    @property
    def call_id(self) -> str:
        """The server's id of the call; empty before it is answered."""
        return self.location.rpartition("/")[2]

    @property
    def end_reason(self) -> str:
        """The reason why the call is over: hangup (by us), ended (by the server), lost. Empty while it is up."""
        return self._end_reason

    async def connect(self) -> None:
        """Make the call; returns when audio flows both ways. Raises MediaError in one line if that fails."""
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                await self._open()
        except TimeoutError as error:
            await self.hangup()
            raise MediaError(
                f"{self.url}: no connection within {self._connect_timeout_s:g} s; check that UDP between here and there is open"
            ) from error
        except BaseException:
            await self.hangup()
            raise
        if self._end_reason:
            await self.hangup()
            raise MediaError(f"{self.url}: the call ended before it came up")
        self._tasks.start_alone(self._keep_up(), "connection of a caller")

    async def _keep_up(self) -> None:
        """Take the call up again whenever its connection is lost, as long as the server waits for that."""
        while not self._end_reason:
            with suppress(TimeoutError):
                async with asyncio.timeout(WATCHED_S):
                    await self._lost.wait()
            if self._resume_token and (self._lost.is_set() or self._silent_ms > SILENT_MS):
                await self._take_up()
            elif self._lost.is_set():
                self._end("lost")

    async def _take_up(self) -> None:
        """Try until a new connection is up. The lost ones are closed after that: one that the server still holds hangs up."""
        lost: list[Peer | SocketConnection] = []
        try:
            await self._try_again(lost)
        finally:
            for each in lost:
                if each is not (self._peer or self._socket):
                    await each.close()

    async def _try_again(self, lost: list[Peer | SocketConnection]) -> None:
        until_s = time.monotonic() + self._resume_timeout_s
        while not self._end_reason:
            last = self._peer or self._socket
            if last is not None and last not in lost:
                lost.append(last)
            if self._receiver is not None:
                self._receiver.close()
            if self._audio is not None:
                self._audio.stop()
            self._connected.clear()
            used = self._resume_token
            try:
                async with asyncio.timeout(self._connect_timeout_s):
                    await self._open()
                async with asyncio.timeout(RENEWED_S):
                    while self._resume_token == used and not self._end_reason:  # the server goes on over it with another one
                        await self._wait_change()
            except (MediaError, TimeoutError) as error:
                if isinstance(error, CallOverError) or time.monotonic() > until_s:
                    self._end("lost")
                if isinstance(error, NoServerError):
                    self._changed.set()  # who waits learns that nothing comes any more
                await asyncio.sleep(WATCHED_S)
                continue
            self._lost.clear()  # before the lost ones are closed: meanwhile this one may be lost
            return

    async def _open(self) -> None:
        """Make a connection; returns when it is up, or the call is over. Raises MediaError, CallOverError."""
        if self.transport == "websocket":
            await self._open_socket()
            return
        peer = await self._negotiate()
        with suppress(TimeoutError):
            async with asyncio.timeout(BLOCKED_AFTER_S):
                await self._connected.wait()
        if peer.state == "connected" or self._end_reason:
            return
        blocked = MediaError(f"{self.url}: the connection failed; check that UDP between here and there is open")
        if self._resume_token:
            raise blocked
        self._peer = None
        await peer.close()
        try:
            await hang_up(self.url, self._token, self.location)
            self.location = ""
            await self._open_socket()
        except MediaError as error:
            raise MediaError(f"{blocked}; over the WebSocket it failed, too: {error}") from error
        log.warning("%s: no UDP gets through; the call goes over the WebSocket", self.url)

    async def _open_socket(self) -> None:
        socket = SocketConnection(
            PacedAudio(self._next_frame, sent=self._on_sent, encoder=PcmEncoder(), late_frames=LATE_FRAMES),
            self._on_frame,
            self._note,
            self._events.take,
            lambda is_over: self._on_socket(socket, is_over),
        )
        self._socket, self.transport = socket, "websocket"
        await socket.open(self.url, self._resume_token or self._token, self._last_event_id)
        for text in self._events.taken_back():
            socket.send(text)
        self.started_ms = self.started_ms or time.monotonic() * 1000.0
        self._connected.set()

    def _on_socket(self, socket: SocketConnection, is_over: bool) -> None:
        if socket is self._socket:
            self._end("ended") if is_over else self._gone("lost")

    async def _negotiate(self) -> Peer:
        codec = opus_codec()
        receiver = self._receiver = AudioReceiver(PLAYED_HZ, self._on_frame, payload_type=codec.payloadType)
        self._audio = PacedAudio(self._next_frame, sent=self._on_sent, late_frames=LATE_FRAMES)
        servers = await ice_servers(self.url, self._token) if self._ice_servers is None else self._ice_servers
        peer = Peer(self._audio, partial(self._on_rtp, receiver), opus.RTP_CLOCK_HZ, PeerOptions(servers))
        self._peer = peer
        peer.on_state = partial(self._on_state, peer)
        offer = await peer.offer([codec], LABEL)
        channel = peer.open_channel(LABEL)
        self._events.attach(channel)
        channel.on("message", self._note)
        channel.on("close", lambda: self._gone("ended") if self._peer is peer else None)
        try:
            answered = await self._answer_to(self._relay.rewrite_offer(offer) if self._relay else offer)
        except MediaError:
            await peer.close()
            raise
        self.location, answer = answered.location, read_answer(answered.body)
        if self._relay is not None:
            answer = await self._relay.rewrite_answer(answer)
        try:
            peer.settle(answer, codec)
        except MediaError as error:
            raise MediaError(f"{self.url}: the server's answer cannot be used: {error}; is this a voiceagent server?") from error
        return peer

    async def _answer_to(self, offer: str) -> SignallingAnswer:
        """The server's answer to an SDP offer. Callers of servers with other signalling have their own."""
        if self._resume_token:
            return await answer_to(self.url, self._resume_token, offer, self._last_event_id)
        return await answer_to(self.url, self._token, offer)

    def _note(self, message: str | bytes) -> None:
        """Remember what is needed to take the call up again."""
        if not isinstance(message, str):
            return
        if found := _EVENT_ID.findall(message):
            self._last_event_id = found[-1]
        if '"session.created"' in message and self._resume_token:
            self.resumed += 1
        if '"voiceagent.resume"' in message:
            event: JsonObject = read_struct(message, dict)
            self._resume_token, self._resume_timeout_s = str(event["token"]), float(event["timeout_s"])
            self._changed.set()
        if '"voiceagent.call_ended"' in message:
            self._resume_token = ""
            self._changed.set()
        if not self.location and '"session.created"' in message:
            self.location = f"/v1/realtime/calls/{read_struct(message, JsonObject)['session']['voiceagent']['call_id']}"

    def _gone(self, reason: str) -> None:
        """The connection has ended. The call has not, if the server let the client resume it and has not told of its end."""
        if self._resume_token:
            self._lost.set()
        else:
            self._end(reason)

    def say(self, pcm: NDArray[np.int16], rate_hz: int = PLAYED_HZ) -> None:
        """Queue speech, mono int16, shape (samples,); silence is sent when nothing is queued. Raises MediaError when more than
        `MAX_SAY_S` seconds would wait."""
        speech = resample(pcm, rate_hz, PLAYED_HZ)
        if self._waiting_samples + len(speech) > MAX_SAY_S * PLAYED_HZ:
            raise MediaError(f"more than {MAX_SAY_S} s of speech would wait to be said; say it in shorter pieces")
        if len(speech):
            self._microphone.append(speech)
            self._waiting_samples += len(speech)

    def send_event(self, event: dict[str, object]) -> None:
        """Send one client event."""
        if self._socket is None:
            self._events.send(event)
        else:
            self._socket.send(encoded(event))

    async def events(self) -> AsyncIterator[ReceivedEvent]:
        """The server's events in order; ends with the call. Anything but a JSON object is left out, and so is what a connection
        that was taken for lost still brings, if it has come again over the next one."""
        known: OrderedDict[tuple[str, str], None] = OrderedDict()
        async for received_ms, text in self._events.messages():
            try:
                data = read_loose_json(text)
            except ValueError:
                continue
            if not isinstance(data, dict):
                continue
            event = ReceivedEvent(received_ms, data)
            key = (event.type, str(data.get("event_id", "")))
            if key in known:
                continue
            if key[1]:
                known[key] = None
            if len(known) > MAX_KNOWN_EVENTS:
                known.popitem(last=False)
            yield event

    async def frames(self) -> AsyncIterator[AgentFrame]:
        """The agent's audio in order; ends with the call."""
        while True:
            while self._frames:
                yield self._frames.popleft()
            if self._end_reason:
                return
            await self._wait_change()

    async def wait_said(self) -> float:
        """Wait until everything queued was sent; returns when its last voiced sample was spoken. Raises MediaError when the call
        ends."""
        while self._waiting_samples or self._sending is not None:
            await self._wait_up()
        return self.said.last_voiced_ms or 0.0

    async def wait_heard(self, after_ms: float) -> float:
        """Wait for the agent to speak; returns when the first voiced sample at or after `after_ms` was heard. Raises MediaError
        when the call ends first."""
        while (onset_ms := self.heard.first_onset_after(after_ms)) is None:
            await self._wait_up()
        return onset_ms

    async def wait_quiet(self, quiet_ms: float) -> float:
        """Wait until the agent has been silent for `quiet_ms`; returns when its last voiced sample was heard (0: never). Raises
        MediaError when the call ends first."""
        since_ms = time.monotonic() * 1000.0
        while time.monotonic() * 1000.0 - max(since_ms, self.heard.last_voiced_ms or 0.0) < quiet_ms:
            await self._wait_up()
        return self.heard.last_voiced_ms or 0.0

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until `condition`, which is asked each time that something was sent or heard. Raises MediaError when the call ends
        first, or when nothing comes from the server any more."""
        while not condition():
            if self._silent_ms > LOST_AFTER_MS:
                raise MediaError(f"{self.url}: nothing has come from the server for {LOST_AFTER_MS / 1000:g} s; it is gone")
            await self._wait_up()

    @property
    def _silent_ms(self) -> float:
        """The time since a packet came. A WebSocket, which may have nothing to say, notices by itself when its server is gone."""
        return 0.0 if self._socket is not None else time.monotonic() * 1000.0 - max(self._last_packet_ms, self.started_ms)

    async def wait_ended(self) -> str:
        """Wait for the end of the call; returns the reason."""
        while not self._end_reason:
            await self._wait_change()
        return self._end_reason

    async def hangup(self) -> None:
        """End the call and free everything. May be called twice."""
        self._end("hangup")
        await self._tasks.close()
        peer, socket, self._peer, self._socket = self._peer, self._socket, None, None
        if peer is not None:
            await peer.close()
        if socket is not None:
            await socket.close()
        if self._relay is not None:
            await self._relay.close()

    async def _wait_change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def _wait_up(self) -> None:
        if self._end_reason:
            raise MediaError(f"{self.url}: the call is over ({self._end_reason})")
        await self._wait_change()

    def _end(self, reason: str) -> None:
        if self._end_reason:
            return
        self._end_reason = reason
        if self._receiver is not None:
            self._receiver.close()
        self._events.end()
        self._connected.set()
        self._changed.set()

    def _next_frame(self) -> NDArray[np.int16] | None:
        self._sending = None
        if self.live is not None:
            self._sending = self.live()
            return self._sending
        if not self._microphone:
            return None
        frame = np.zeros(PLAYED_FRAME_SAMPLES, dtype=np.int16)
        filled = 0
        while filled < PLAYED_FRAME_SAMPLES and self._microphone:
            part = self._microphone[0][: PLAYED_FRAME_SAMPLES - filled]
            frame[filled : filled + len(part)] = part
            filled += len(part)
            if len(part) == len(self._microphone[0]):
                self._microphone.popleft()
            else:
                self._microphone[0] = self._microphone[0][len(part) :]
        self._waiting_samples -= filled
        self._sending = frame
        return frame

    def _on_sent(self, sent_ms: float) -> None:
        frame, self._sending = self._sending, None
        if frame is not None:
            spoken_ms = sent_ms - FRAME_MS
            self.said.feed(frame, spoken_ms)
            self.recording.caller.add(frame, spoken_ms - self.started_ms)
        self._changed.set()

    def _on_rtp(self, receiver: AudioReceiver, packet: RtpPacket) -> None:
        self._last_packet_ms = time.monotonic() * 1000.0
        if self.on_packet is not None:
            self.on_packet(packet, self._last_packet_ms)
        receiver.receive(packet)

    def _on_frame(self, pcm: NDArray[np.int16], received_ms: float, concealed: bool) -> None:
        frame = AgentFrame(pcm, received_ms, concealed)
        self.heard.feed(pcm, received_ms)
        self.recording.agent.add(pcm, received_ms - self.started_ms)
        self._frames.append(frame)
        if self.on_frame is not None:
            self.on_frame(frame)
        self._changed.set()

    def _on_state(self, peer: Peer) -> None:
        if peer is not self._peer:
            return
        if peer.state == "connected":
            self._last_packet_ms = time.monotonic() * 1000.0
            self.started_ms = self.started_ms or self._last_packet_ms
            self._connected.set()
        elif peer.state in ("failed", "closed") and not self.started_ms:
            self._connected.set()  # who waits for it sees that it is not
        elif peer.state in ("failed", "closed"):
            self._gone("lost" if peer.state == "failed" else "ended")
