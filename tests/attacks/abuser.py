"""A client with a valid key that abuses its call, in a process of its own that gives way to all others:
`python -m tests.attacks.abuser URL KIND`. It calls again whenever its call is ended, until its standard input is closed and it
was told why one of its calls was ended, and then prints an `Abuse` as JSON."""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

import aiohttp
from aiortc import MediaStreamTrack, RTCConfiguration, RTCDataChannel, RTCPeerConnection, RTCSessionDescription
from av.packet import Packet

from tests.aiortc_peer import allow_loopback
from tests.attacks.honest import question
from voiceagent.audio import opus
from voiceagent.audio.resample import resample
from voiceagent.media.webrtc.event_channel import LABEL

FRAME_S = 0.02
FRAME_TICKS = 960
TIMES_TOO_FAST = 30
NO_OPUS = b"\xff"
LEAP_TICKS = 10 * 48_000
TOOLS_BYTES = 52_000
STOP_S = 3.0
CONNECT_S = 5.0
ENDED_S = 60.0
"""On a busy machine the abuser, who gives way to all others, needs many times as long to be too fast."""
MAX_BUFFERED_BYTES = 1_000_000


@dataclass(slots=True)
class Abuse:
    """What came of it."""

    limited_s: list[float] = field(default_factory=list)
    """Of each call: from the beginning of the abuse to the first refusal, or to the end of the call."""
    ended: list[str] = field(default_factory=list)
    """Why the server ended calls."""
    refused: int = 0
    """Offers that were not answered with a call."""


class Flood(MediaStreamTrack):
    """Speech, so many packets each 20 ms, each `ticks` of the RTP clock after the one before."""

    kind = "audio"

    def __init__(self, packets: int, ticks: int, payload: bytes = b"") -> None:
        """`payload` instead of speech."""
        super().__init__()
        encoder = opus.Encoder()
        speech = resample(question(), 16_000, 24_000)
        size = 480
        self._payloads = [encoder.encode(speech[i : i + size]) for i in range(0, len(speech) - size, size)]
        if payload:
            self._payloads = [payload]
        self._packets, self._ticks = packets, ticks
        self._count = 0
        self._began_s = time.monotonic()

    async def recv(self) -> Packet[Any]:
        if self._count % self._packets == 0:
            due_s = self._began_s + self._count / self._packets * FRAME_S
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
        packet: Packet[Any] = Packet(self._payloads[self._count % len(self._payloads)])
        packet.pts = self._count * self._ticks
        packet.time_base = Fraction(1, 48_000)
        self._count += 1
        return packet


Send = Callable[[dict[str, Any]], None]


async def typed_messages(send: Send) -> None:
    """Fifty a second."""
    content = [{"type": "input_text", "text": "Tell me something about the weather in every city that you know of."}]
    while True:
        send({"type": "conversation.item.create", "item": {"type": "message", "role": "user", "content": content}})
        send({"type": "response.create"})
        await asyncio.sleep(FRAME_S)


async def tool_updates(send: Send) -> None:
    """52 KB, twenty times a second."""
    words = "x" * 1800
    parameters = {"type": "object", "properties": {"value": {"type": "string", "description": words}}}
    tools = [{"type": "function", "name": f"tool_{n}", "parameters": parameters} for n in range(TOOLS_BYTES // 2000)]
    while True:
        send({"type": "session.update", "session": {"type": "realtime", "tools": tools}})
        await asyncio.sleep(0.05)


async def small_events(send: Send) -> None:
    """A thousand a second."""
    while True:
        for _ in range(20):
            send({"type": "conversation.item.retrieve", "item_id": "item_nothing"})
        await asyncio.sleep(FRAME_S)


async def megabytes(send: Send) -> None:
    """A megabyte a second of valid and invalid events, 50 KB each."""
    much = "x" * 50_000
    tools = [{"type": "function", "name": f"tool_{n}", "description": "x" * 1000} for n in range(48)]
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": much}]}
    events: tuple[dict[str, Any], ...] = (
        {"type": "session.update", "session": {"type": "realtime", "tools": tools}},
        {"type": "input_audio_buffer.append", "audio": base64.b64encode(bytes(37_500)).decode()},
        {"type": "conversation.item.create", "item": message},
        {"type": "session.update", "session": {"type": "realtime", much: 1}},
        {"type": "input_audio_buffer.append", "audio": f"%{much}"},
        {"type": "conversation.item.create", "item": {"type": "nothing", "content": much}},
        {"type": "nothing", "text": much},
    )
    for event in itertools.cycle(events):
        send(event)
        await asyncio.sleep(0.05)


async def only_listen(_: Send) -> None:
    """What is sent by RTP is the abuse."""
    await asyncio.Event().wait()


KINDS: dict[str, tuple[Callable[[], Flood] | None, Callable[[Send], Awaitable[None]]]] = {
    "typed messages": (lambda: Flood(1, FRAME_TICKS), typed_messages),
    "tool updates": (lambda: Flood(1, FRAME_TICKS), tool_updates),
    "small events": (lambda: Flood(1, FRAME_TICKS), small_events),
    "fast speech": (lambda: Flood(TIMES_TOO_FAST, FRAME_TICKS), only_listen),
    "packets without audio": (lambda: Flood(TIMES_TOO_FAST, FRAME_TICKS, NO_OPUS), only_listen),
    "timestamp leaps": (lambda: Flood(1, LEAP_TICKS), only_listen),
    "megabytes": (lambda: Flood(1, FRAME_TICKS), megabytes),
    "megabytes over a WebSocket": (None, megabytes),
}
"""What is sent as audio, and what as events. None: over a WebSocket, without audio."""


async def abuse(url: str, key: str, kind: str, found: Abuse, told: asyncio.Event) -> None:
    """One call after the other; `told` is set once the reason of an end was read. Who acknowledges too late is not told."""
    make_track, act = KINDS[kind]
    while True:
        if found.ended:
            told.set()
        if make_track is None:
            await _one_socket(url, key, act, found)
            continue
        peer = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        peer.addTrack(make_track())
        channel = peer.createDataChannel(LABEL)
        try:
            if await _connect(peer, url, key):
                await _one_call(channel, act, found)
            else:
                found.refused += 1
                await asyncio.sleep(0.2)
        finally:
            await peer.close()


async def _connect(peer: RTCPeerConnection, url: str, key: str) -> bool:
    allow_loopback()
    await peer.setLocalDescription(await peer.createOffer())
    headers = {"Content-Type": "application/sdp", "Authorization": f"Bearer {key}"}
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{url}/v1/realtime/calls", data=peer.localDescription.sdp, headers=headers) as answer,
    ):
        body = await answer.text()
        if answer.status != 201:
            return False
    await peer.setRemoteDescription(RTCSessionDescription(body, "answer"))
    return True


class _Limited:
    """What one call's client is told of its limits."""

    def __init__(self, found: Abuse) -> None:
        self.ended = asyncio.Event()
        self._limited = asyncio.Event()
        self._found = found

    def on_message(self, text: str) -> None:
        event = json.loads(text)
        if event["type"] == "error" and event["error"]["code"] == "rate_limit_exceeded":
            self._limited.set()
        elif event["type"] == "voiceagent.call_ended":
            self._found.ended.append(event["reason"])
            self._limited.set()
            self.ended.set()

    async def during(self, act: Callable[[Send], Awaitable[None]], send: Send) -> None:
        """Abuse the call until it is ended."""
        began_s = time.monotonic()

        async def note() -> None:
            await self._limited.wait()
            self._found.limited_s.append(time.monotonic() - began_s)

        tasks = [asyncio.ensure_future(act(send)), asyncio.create_task(note())]
        try:
            await self.ended.wait()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _one_call(channel: RTCDataChannel, act: Callable[[Send], Awaitable[None]], found: Abuse) -> None:
    """Abuse one call until it is ended, or until it is clear that it does not come up: on a busy machine this process is late."""
    opened, limited = asyncio.Event(), _Limited(found)

    def send(event: dict[str, Any]) -> None:
        if channel.readyState == "open" and channel.bufferedAmount < MAX_BUFFERED_BYTES:
            channel.send(json.dumps(event))

    channel.on("message", limited.on_message)
    channel.on("open", opened.set)
    channel.on("close", limited.ended.set)
    with suppress(TimeoutError):
        await asyncio.wait_for(opened.wait(), CONNECT_S)
        await limited.during(act, send)


async def _one_socket(url: str, key: str, act: Callable[[Send], Awaitable[None]], found: Abuse) -> None:
    """Abuse one call over a WebSocket until it is ended."""
    limited, headers = _Limited(found), {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession() as session:
        try:
            socket = await session.ws_connect(f"{url}/v1/realtime?voiceagent_events=true", headers=headers, max_msg_size=0)
        except (aiohttp.WSServerHandshakeError, aiohttp.ClientConnectionError):
            found.refused += 1
            await asyncio.sleep(0.2)
            return
        waiting: asyncio.Queue[dict[str, Any]] = asyncio.Queue(20)

        def send(event: dict[str, Any]) -> None:
            with suppress(asyncio.QueueFull):
                waiting.put_nowait(event)

        async def write() -> None:
            with suppress(ConnectionError):
                while True:
                    await socket.send_json(await waiting.get())

        async def read() -> None:
            async for message in socket:
                limited.on_message(message.data)
            limited.ended.set()

        tasks = [asyncio.create_task(write()), asyncio.create_task(read())]
        try:
            await limited.during(act, send)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await socket.close()  # hang up: a call whose connection is only lost waits to be taken up again


@asynccontextmanager
async def beside(url: str, kind: str, key: str = "") -> AsyncIterator[Abuse]:
    """An abuser at work; what came of it is known after the block."""
    command = [sys.executable, "-m", "tests.attacks.abuser", url, kind, "--key", key]
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
    found = Abuse()
    try:
        yield found
    finally:
        assert process.stdin is not None
        process.stdin.close()
        told, _ = await asyncio.wait_for(process.communicate(), 120)
        for name, value in json.loads(told).items():
            setattr(found, name, value)


async def _until_told(url: str, key: str, kind: str) -> None:
    """Until standard input is closed and the reason of an end was read. Then what was found is printed, and the process is over
    at once: a connection that is closed under way may ignore that its task is cancelled."""
    found, told = Abuse(), asyncio.Event()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    work = asyncio.create_task(abuse(url, key, kind, found, told))
    closed = asyncio.create_task(reader.read())
    await asyncio.wait([work, closed], return_when=asyncio.FIRST_COMPLETED)
    if work.done():
        work.result()
    with suppress(PermissionError):  # nobody beside it is measured any more
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    with suppress(TimeoutError):
        await asyncio.wait_for(told.wait(), ENDED_S)
    work.cancel()
    await asyncio.wait([work], timeout=STOP_S)
    print(json.dumps(asdict(found)), flush=True)
    os._exit(0)


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--key", default="")
    given = parser.parse_args()
    os.nice(10)
    asyncio.run(_until_told(given.url, given.key, given.kind))


if __name__ == "__main__":
    main()
