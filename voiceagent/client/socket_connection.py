"""A call's connection over the WebSocket, where no UDP gets through. The caller's audio goes out in events. The agent's comes in
events, up to 400 ms before it is heard; its frames come out when they are, and all other messages at once."""

from __future__ import annotations

import asyncio
import base64
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import aiohttp
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.format import PLAYED_FRAME_SAMPLES
from voiceagent.client.signalling import open_socket
from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.media.audio_receiver import Deliver
from voiceagent.media.paced_audio import PacedAudio
from voiceagent.task_owner import TaskOwner
from voiceagent.untrusted_json import read_struct

CLOSE_S = 2.0
"""The longest wait for the server's answer to our close."""
ORDERLY = (aiohttp.WSCloseCode.OK, aiohttp.WSCloseCode.GOING_AWAY, 4001)
"""The codes with which the server ends a call, or gives it to another connection. After any other end the call may go on."""
MAX_WAITING = 500
"""The messages that may wait to be sent: ten seconds of audio."""
MAX_FRAMES = 500
"""The agent's frames that may wait to be heard, though they come at the pace of the clock; beyond that the oldest is dropped."""


class PcmEncoder:
    """Implements `AudioEncoder`: the samples as they are."""

    def encode(self, pcm: NDArray[np.int16]) -> bytes:
        """See `AudioEncoder.encode`."""
        return pcm.astype("<i2").tobytes()


class SocketConnection:
    """One WebSocket of a call. `close` frees it."""

    def __init__(
        self,
        audio: PacedAudio,
        play: Deliver,
        note: Callable[[str], None],
        take: Callable[[str], None],
        on_end: Callable[[bool], None],
    ) -> None:
        """`audio` is the caller's, as PCM. `play` gets each frame of the agent's when it is heard, `note` each message, `take`
        each that holds no audio. `on_end` is told that the WebSocket is closed, and whether the server has ended the call."""
        self._audio = audio
        self._play, self._note, self._take, self._on_end = play, note, take, on_end
        self._frames: deque[NDArray[np.int16]] = deque(maxlen=MAX_FRAMES)
        self._out: asyncio.Queue[str] = asyncio.Queue(MAX_WAITING)
        self._http = aiohttp.ClientSession()
        self._socket: aiohttp.ClientWebSocketResponse | None = None
        self._tasks = TaskOwner()

    async def open(self, url: str, token: str | None, after: str = "") -> None:
        """Begin a call, or take one up again; returns when the server has begun. Raises MediaError, CallOverError."""
        self._socket = socket = await open_socket(self._http, url, token, after)
        first = await socket.receive()
        if first.type is not aiohttp.WSMsgType.TEXT:
            raise MediaError(f"{url}: the server refused the call: {first.extra or 'it closed the WebSocket'}")
        self._receive(first.data)
        self._tasks.start_alone(self._read(socket), "messages of a caller's WebSocket")
        self._tasks.start_alone(self._write(socket), "writer of a caller's WebSocket")
        self._tasks.start_alone(self._audio.run(self._send_audio), "audio of a caller's WebSocket")

    def send(self, data: str) -> None:
        """Send a message, after those that wait. It is dropped when the server has let too many wait."""
        with suppress(asyncio.QueueFull):
            self._out.put_nowait(data)

    async def close(self) -> None:
        """Hang up, and free everything. May be called twice."""
        self._audio.stop()
        await self._tasks.close()
        if self._socket is not None:
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(CLOSE_S):
                    await self._socket.close()
        await self._http.close()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while (message := await socket.receive()).type is aiohttp.WSMsgType.TEXT:
            self._receive(message.data)
        self._audio.stop()
        self._on_end(message.type is aiohttp.WSMsgType.CLOSE and message.data in ORDERLY)

    async def _write(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        with suppress(ConnectionError):  # its reader tells
            while True:
                await socket.send_str(await self._out.get())

    def _receive(self, text: str) -> None:
        self._note(text)
        try:
            event: JsonObject = read_struct(text, dict)
            if event.get("type") == "response.output_audio.delta":
                pcm = np.frombuffer(base64.b64decode(event["delta"]), "<i2").astype(np.int16)
                self._frames.extend(np.split(pcm, range(PLAYED_FRAME_SAMPLES, len(pcm), PLAYED_FRAME_SAMPLES)))
                return
        except (ValueError, KeyError, TypeError):
            return  # no event of a server
        if event.get("type") == "conversation.item.truncated":
            self._frames.clear()
        self._take(text)

    def _send_audio(self, payload: bytes, due_ms: float, begins: bool) -> None:
        """Send a frame, and play one: both have one clock."""
        self.send(f'{{"type":"input_audio_buffer.append","audio":"{base64.b64encode(payload).decode()}"}}')
        if self._frames:
            self._play(self._frames.popleft(), time.monotonic() * 1000.0, False)
