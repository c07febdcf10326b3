"""A caller over a WebSocket whose connection can be cut, and who then takes the call up again."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from types import TracebackType
from typing import Any

import aiohttp
import numpy as np
from numpy.typing import NDArray

from voiceagent.audio.resample import resample

RATE_HZ = 24_000
PIECE = RATE_HZ // 10


class SocketCaller:
    """One call. `async with SocketCaller(url) as caller:` connects and hangs up."""

    def __init__(self, url: str, key: str = "any", *, extras: bool = True, patient: bool = False) -> None:
        """`patient`: a server that is busy for a moment (503), or was asked too often (429), is asked again when it says, for a
        minute at most."""
        self.url = url
        self._patient = patient
        self.events: list[dict[str, Any]] = []
        """All events but audio, over all connections."""
        self.token = ""
        self.last_id = ""
        self.closed: tuple[int | None, str] = (None, "")
        """The code and the reason with which the server has closed the last connection."""
        self.audio: list[bytes] = []
        self._key = key
        self._query = "voiceagent_events=true&" if extras else ""
        self.changed = asyncio.Event()
        self._http: aiohttp.ClientSession
        self._socket: aiohttp.ClientWebSocketResponse
        self._reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> SocketCaller:
        self._http = aiohttp.ClientSession()
        try:
            await self.connect()
        except BaseException:
            await self._http.close()
            raise
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.hang_up()
        await self._http.close()

    @property
    def call_id(self) -> str:
        """The call's id; known once it has begun."""
        return str(self.events[0]["session"]["voiceagent"]["call_id"])

    async def hang_up(self) -> None:
        """Close the connection, as a client does that has had enough."""
        await self._socket.close()
        await asyncio.gather(*filter(None, [self._reading]), return_exceptions=True)

    async def connect(self, token: str = "", after: str = "") -> None:
        """Begin a call, or take up the one that the token is of."""
        self.closed = None, ""
        headers = {"Authorization": f"Bearer {token or self._key}"}
        address = f"{self.url.replace('http', 'ws', 1)}/v1/realtime?{self._query}after={after}"
        async with asyncio.timeout(60):
            self._socket = await self._connected(address, headers)
        self._reading = asyncio.create_task(self._read(self._socket))

    async def _connected(self, address: str, headers: dict[str, str]) -> aiohttp.ClientWebSocketResponse:
        while True:
            try:
                return await self._http.ws_connect(address, headers=headers, max_msg_size=0)
            except aiohttp.WSServerHandshakeError as refused:
                if not self._patient or refused.status not in (429, 503) or refused.headers is None:
                    raise
                await asyncio.sleep(float(refused.headers["Retry-After"]))

    async def resume(self) -> None:
        """Take the call up again, and wait for the next token."""
        before, count = self.token, len(self.events)
        await self.connect(before, self.last_id)
        await self.until(lambda: self.token != before)
        assert [event["type"] for event in self.events[count : count + 2]] == ["session.created", "voiceagent.resume"]

    async def cut(self) -> None:
        """Cut the connection, as a network does that is gone."""
        assert self._socket._conn is not None
        assert self._socket._conn.transport is not None
        self._socket._conn.transport.abort()
        assert self._reading is not None
        await self._reading

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        async for message in socket:
            event = json.loads(message.data)
            self.last_id = event.get("event_id", self.last_id)
            if event["type"] == "response.output_audio.delta":
                self.audio.append(base64.b64decode(event["delta"]))
            else:
                self.events.append(event)
            if event["type"] == "voiceagent.resume":
                self.token = event["token"]
            self.changed.set()
        self.closed = socket.close_code, ""
        self.changed.set()

    async def until(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
        """Wait until something has come with which the condition holds."""
        async with asyncio.timeout(timeout_s):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    async def wait(self, name: str, since: int = 0) -> dict[str, Any]:
        """The first event of this name behind the first `since`."""
        await self.until(lambda: bool(self.named(name, since)))
        return self.named(name, since)[0]

    def named(self, name: str, since: int = 0) -> list[dict[str, Any]]:
        """The events of this name behind the first `since`."""
        return [event for event in self.events[since:] if event["type"] == name]

    async def send(self, name: str, **fields: Any) -> None:
        """Send one event."""
        await self._socket.send_json({"type": name, **fields})

    async def write(self, text: str) -> None:
        """Type a message, and ask for a reply."""
        item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        await self.send("conversation.item.create", item=item)
        await self.send("response.create")

    async def speak(self, pcm: NDArray[np.int16], rate_hz: int, *, silence_s: float = 0.0) -> None:
        """Append speech, and silence behind it, as fast as the server takes it."""
        audio = np.concatenate((resample(pcm, rate_hz, RATE_HZ), np.zeros(int(silence_s * RATE_HZ), np.int16)))
        for start in range(0, len(audio), PIECE):
            piece = base64.b64encode(audio[start : start + PIECE].astype("<i2").tobytes()).decode()
            await self.send("input_audio_buffer.append", audio=piece)

    def heard(self) -> dict[str, str]:
        """The words that were heard, by item."""
        return {event["item_id"]: event["heard"] for event in self.named("voiceagent.heard")}
