"""The data channel `oai-events`: JSON events out, text messages in, both bounded. Used at both ends of a call."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator

from aiortc import RTCDataChannel

LABEL = "oai-events"
MAX_MESSAGE_CHARS = 131_072
MAX_WAITING = 512
"""The number of messages that may wait: incoming ones for a reader, outgoing ones for the channel to open."""
MAX_BUFFERED_BYTES = 1_048_576
"""The bytes that a slow peer may leave unread before further events are dropped."""


class EventChannel:
    """Queues around a data channel that may open later. Dropped messages are counted."""

    def __init__(self) -> None:
        self.dropped_out = 0
        self.dropped_in = 0
        """Incoming messages that were dropped: binary, oversized, or more than the reader took."""
        self.overflowed_out = 0
        """Outgoing messages dropped because too many waited for a peer that has a channel."""
        self.overflowed_in = 0
        """Incoming messages dropped because the reader did not take them."""
        self._channel: RTCDataChannel | None = None
        self._out: deque[str] = deque()
        self._in: deque[tuple[float, str]] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def attach(self, channel: RTCDataChannel) -> None:
        """Use `channel`; messages that wait are sent when it is open."""
        self._channel = channel
        channel.on("open", self._flush)
        channel.on("message", self._on_message)
        self._flush()

    def send(self, event: dict[str, object]) -> None:
        """Send one event as JSON, or keep it until the channel opens. It is dropped (and counted) when the channel is closed,
        when the peer does not read or does not take that much, or when too many wait."""
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        if self._channel is not None and self._channel.readyState == "open":
            self._send_now(self._channel, text)
        elif self._ended or len(self._out) >= MAX_WAITING or (self._channel and self._channel.readyState != "connecting"):
            self.dropped_out += 1
            self.overflowed_out += self._channel is not None and self._channel.readyState == "connecting" and not self._ended
        else:
            self._out.append(text)

    def end(self) -> None:
        """No message will come any more: iterators end after the messages that wait."""
        self._ended = True
        self._out.clear()
        self._changed.set()

    async def messages(self) -> AsyncIterator[tuple[float, str]]:
        """Incoming texts in order, each with its arrival in milliseconds of `time.monotonic`."""
        while True:
            while self._in:
                yield self._in.popleft()
            if self._ended:
                return
            self._changed.clear()
            await self._changed.wait()

    def _send_now(self, channel: RTCDataChannel, text: str) -> None:
        if channel.bufferedAmount > MAX_BUFFERED_BYTES:
            self.dropped_out += 1
            self.overflowed_out += 1
            return
        try:
            channel.send(text)
        except ValueError:
            # Longer than the peer said it takes (a=max-message-size).
            self.dropped_out += 1

    def _flush(self) -> None:
        while self._out and self._channel is not None and self._channel.readyState == "open":
            self._send_now(self._channel, self._out.popleft())

    def _on_message(self, message: str | bytes) -> None:
        is_full = len(self._in) >= MAX_WAITING
        if not isinstance(message, str) or len(message) > MAX_MESSAGE_CHARS or is_full:
            self.dropped_in += 1
            self.overflowed_in += is_full
            return
        self._in.append((asyncio.get_running_loop().time() * 1000.0, message))
        self._changed.set()
