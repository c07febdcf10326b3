"""Asterisk's `chan_websocket`, as its document says that it behaves: it connects with a password, says how its channel's audio
is written, sends 20 ms at a time, keeps what it is sent in a queue of frames, and plays one of them every 20 ms."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import deque
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import aiohttp
import numpy as np

from tests.telephone.peers import CALLED, CALLER, CallersSide
from voiceagent.audio import g711

PASSWORD = "asterisk:let-me-in-if-you-please"
FRAME_S = 0.02
RATES_HZ = {"ulaw": 8_000, "alaw": 8_000, "slin": 8_000, "slin16": 16_000}


def basic(password: str) -> dict[str, str]:
    """The header of a user and a password."""
    return {"Authorization": "Basic " + base64.b64encode(password.encode()).decode()}


@dataclass
class AsteriskPeer(CallersSide):
    """One call. `async with` it."""

    session: aiohttp.ClientSession
    server_url: str
    format: str = "ulaw"
    is_json: bool = True
    password: str = PASSWORD
    parameters: dict[str, str] = field(default_factory=dict)
    xoff_frames: int = 900
    xon_frames: int = 800
    patience_s: float = 6.0
    is_stopped: bool = False
    """Whether nothing is taken from the queue: the channel is not read."""
    heard: list[tuple[float, np.ndarray]] = field(default_factory=list)
    flushes: list[float] = field(default_factory=list)
    marks_told: list[str] = field(default_factory=list)
    flow: list[str] = field(default_factory=list)
    late_frames: int = 0
    """That came after XOFF."""
    hung_up: bool = False
    spoken_until: float = 0.0
    _queue: deque[np.ndarray | str] = field(default_factory=deque)
    _microphone: deque[np.ndarray] = field(default_factory=deque)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _is_buffering: bool = False

    @property
    def rate_hz(self) -> int:
        return RATES_HZ[self.format]

    @property
    def frame_bytes(self) -> int:
        return self.rate_hz // 50 * (2 if self.format.startswith("slin") else 1)

    @property
    def frames_kept(self) -> int:
        return sum(isinstance(item, np.ndarray) for item in self._queue)

    async def __aenter__(self) -> AsteriskPeer:
        query = urlencode({"caller": CALLER, "called": CALLED, **self.parameters})
        self.socket = await self.session.ws_connect(
            f"{self.server_url.replace('http', 'ws', 1)}/telephony/asterisk?{query}",
            protocols=("media",),
            headers=basic(self.password),
        )
        assert self.socket.protocol == "media"
        await self._tell(
            "MEDIA_START",
            connection_id="e226e283-c90a-4ea9-9e37-389000b9ef47",
            channel="WebSocket/voiceagent/0x7f00",
            channel_id="pbx1-123456789.999",
            format=self.format,
            optimal_frame_size=self.frame_bytes,
            ptime=20,
            **({"channel_variables": {"DIALEDPEERNUMBER": "voiceagent"}} if self.is_json else {}),
        )
        self._tasks = [asyncio.create_task(job()) for job in (self._listen, self._speak, self._play)]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.socket.close()
        for task in self._tasks:
            task.cancel()
        for error in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(error, Exception) and not isinstance(error, ConnectionError):
                raise error

    async def press(self, keys: str) -> None:
        """Keys of the telephone."""
        for key in keys:
            await self._tell("DTMF_END", digit=key, channel_id="pbx1-123456789.999")

    async def _tell(self, event: str, **fields: Any) -> None:
        if self.is_json:
            await self.socket.send_str(json.dumps({"event": event, **fields}))
        elif event == "MEDIA_BUFFERING_COMPLETED":
            await self.socket.send_str(f"{event} {fields['correlation_id']}".rstrip())
        else:
            await self.socket.send_str(" ".join([event, *(f"{name}:{value}" for name, value in fields.items())]))

    async def _speak(self) -> None:
        loop = asyncio.get_running_loop()
        due, silence = loop.time(), np.zeros(self.rate_hz // 50, np.int16)
        while True:
            pcm = self._microphone.popleft() if self._microphone else silence
            if pcm is not silence:
                self.spoken_until = loop.time()
            raw = pcm.astype("<i2").tobytes() if self.format.startswith("slin") else g711.encode(pcm, alaw=self.format == "alaw")
            await self.socket.send_bytes(raw)
            self._changed.set()
            due += FRAME_S
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def _listen(self) -> None:
        async for message in self.socket:
            if message.type is aiohttp.WSMsgType.BINARY:
                await self._take_audio(message.data)
            elif message.type is aiohttp.WSMsgType.TEXT:
                assert len(message.data) <= 128, "longer commands are left out"
                self._obey(message.data)
            self._changed.set()
        self._changed.set()

    async def _take_audio(self, raw: bytes) -> None:
        is_full = self.flow[-1:] == ["MEDIA_XOFF"]
        self.late_frames += is_full
        assert len(raw) % self.frame_bytes == 0, "a partial frame would be dropped"
        pcm = np.frombuffer(raw, "<i2") if self.format.startswith("slin") else g711.decode(raw, alaw=self.format == "alaw")
        self._queue.extend(pcm.reshape(-1, self.rate_hz // 50))
        if not is_full and self.frames_kept >= self.xoff_frames:
            self.flow.append("MEDIA_XOFF")
            await self._tell("MEDIA_XOFF")

    def _obey(self, message: str) -> None:
        data = json.loads(message) if self.is_json else dict(zip(("command", "correlation_id"), message.split(), strict=False))
        match data["command"]:
            case "START_MEDIA_BUFFERING":
                assert not self._is_buffering
                self._is_buffering = True
            case "STOP_MEDIA_BUFFERING":
                assert self._is_buffering
                self._is_buffering = False
                self._queue.append(data.get("correlation_id", ""))
            case "FLUSH_MEDIA":
                self._queue.clear()
                self._is_buffering = False
                self.flushes.append(asyncio.get_running_loop().time())
            case "HANGUP":
                self.hung_up = True
            case other:
                raise AssertionError(f"an unknown command {other}")

    async def _play(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            if not self.is_stopped:
                await self._next_frame()
            due += FRAME_S
            await asyncio.sleep(max(0.0, due - loop.time()))

    async def _next_frame(self) -> None:
        if self.flow[-1:] == ["MEDIA_XOFF"] and self.frames_kept < self.xon_frames:
            self.flow.append("MEDIA_XON")
            await self._tell("MEDIA_XON")
        while self._queue and isinstance(self._queue[0], str):
            mark = str(self._queue.popleft())
            self.marks_told.append(mark)
            await self._tell("MEDIA_BUFFERING_COMPLETED", correlation_id=mark)
        if self._queue:
            pcm = self._queue.popleft()
            assert isinstance(pcm, np.ndarray)
            self.heard.append((asyncio.get_running_loop().time(), pcm))
            self._changed.set()
