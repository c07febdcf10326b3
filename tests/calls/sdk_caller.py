"""A caller with OpenAI's own Python client, over a WebSocket. Every event is held against its types and the order rules."""

from __future__ import annotations

import asyncio
import base64
import json
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from openai import AsyncOpenAI
from openai.resources.realtime.realtime import AsyncRealtimeConnection, AsyncRealtimeConnectionManager

from tests.realtime.protocol_rules import ProtocolRules
from voiceagent.audio.resample import resample

RATE_HZ = 24_000
PIECE = RATE_HZ // 10


class SdkCaller:
    """One connection. `async with SdkCaller(url) as caller:` connects and closes."""

    def __init__(self, url: str, *, key: str = "any", call_id: str = "") -> None:
        """`call_id` joins a running call."""
        self.events: list[dict[str, Any]] = []
        self.connection: AsyncRealtimeConnection
        self._rules = ProtocolRules(joins=bool(call_id))
        self._client = AsyncOpenAI(
            api_key=key, base_url=f"{url}/v1", websocket_base_url=f"{url.replace('http', 'ws', 1)}/v1", max_retries=0
        )
        connect = self._client.realtime.connect
        self._manager: AsyncRealtimeConnectionManager = connect(call_id=call_id) if call_id else connect(model="gpt-realtime")

    async def __aenter__(self) -> SdkCaller:
        self.connection = await self._manager.enter()
        await self.wait("session.created")
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.connection.close()
        await self._client.close()

    async def wait(self, name: str, timeout_s: float = 30.0) -> dict[str, Any]:
        """Take events until one of this name comes; it is returned. An error that was not waited for fails the test."""
        async with asyncio.timeout(timeout_s):
            while True:
                event: dict[str, Any] = json.loads(await self.connection.recv_bytes())
                self._rules.take(event)
                self.events.append(event)
                if event["type"] == name:
                    return event
                assert event["type"] != "error", event

    async def send(self, name: str, **fields: Any) -> None:
        """Send one event as it is."""
        await self.connection.send({"type": name, **fields})  # type: ignore[arg-type]

    async def update(self, **session: Any) -> dict[str, Any]:
        """Change the session. Returns it."""
        await self.connection.session.update(session={"type": "realtime", **session})  # type: ignore[arg-type]
        return dict((await self.wait("session.updated"))["session"])

    async def write(self, text: str, role: str = "user") -> None:
        """Add a message."""
        kind = "output_text" if role == "assistant" else "input_text"
        item = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        await self.connection.conversation.item.create(item=item)  # type: ignore[arg-type]

    async def speak(self, pcm: NDArray[np.int16], rate_hz: int, *, silence_s: float = 0.0) -> None:
        """Append speech, and silence behind it, as fast as the server takes it."""
        audio = np.concatenate((resample(pcm, rate_hz, RATE_HZ), np.zeros(int(silence_s * RATE_HZ), np.int16)))
        for start in range(0, len(audio), PIECE):
            piece = base64.b64encode(audio[start : start + PIECE].astype("<i2").tobytes()).decode()
            await self.connection.input_audio_buffer.append(audio=piece)

    def since(self, count: int, name: str) -> list[dict[str, Any]]:
        """The events of this name behind the first `count`."""
        return [event for event in self.events[count:] if event["type"] == name]

    def heard(self, count: int = 0) -> NDArray[np.int16]:
        """The agent's audio behind the first `count` events."""
        deltas = (base64.b64decode(event["delta"]) for event in self.since(count, "response.output_audio.delta"))
        return np.frombuffer(b"".join(deltas), "<i2").astype(np.int16)
