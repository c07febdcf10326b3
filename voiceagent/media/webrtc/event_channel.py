"""The data channel `oai-events`: JSON events out, text messages in, both bounded. Used at both ends of a call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import suppress

from aiortc import RTCDataChannel

from voiceagent.media.outgoing_events import READER, TOO_SLOW, OutgoingEvents, ReaderLimits, encoded

LABEL = "oai-events"
MAX_MESSAGE_CHARS = 131_072
MAX_WAITING = 512
"""The number of messages that may wait: incoming ones for a reader, outgoing ones for the channel to open."""
SLOW_BYTES, READY_BYTES = 32_768, 8_192
"""A peer that leaves so much in the channel is slow: events wait until it has taken all but the second number."""
DRAIN_S = 2.0


class EventChannel:
    """Queues around a data channel that may open later. Dropped messages are counted."""

    def __init__(self, on_slow: Callable[[], None] = lambda: None, limits: ReaderLimits = READER) -> None:
        """`on_slow` is called when the peer reads too slowly. Nothing is sent to it any more, except an `error` that says so."""
        self.dropped_out = 0
        self.dropped_in = 0
        """Incoming messages that were dropped: binary, oversized, or more than the reader took."""
        self.overflowed_out = 0
        """Outgoing messages dropped because too many waited for a peer that has a channel."""
        self.overflowed_in = 0
        """Incoming messages dropped because the reader did not take them."""
        self._channel: RTCDataChannel | None = None
        self._out = OutgoingEvents(limits)
        self._on_slow = on_slow
        self._stall: asyncio.Handle | None = None
        """Runs while events wait for the peer."""
        self._is_slow = False
        self._moved = asyncio.Event()
        self._in: deque[tuple[float, str]] = deque()
        self._changed = asyncio.Event()
        self._ended = False

    def attach(self, channel: RTCDataChannel) -> None:
        """Use `channel`; messages that wait are sent when it is open."""
        self._channel = channel
        channel.bufferedAmountLowThreshold = READY_BYTES
        channel.on("open", self._flush)
        channel.on("bufferedamountlow", self._flush)
        channel.on("close", self._moved.set)
        channel.on("message", self.take)
        self._flush()

    def send(self, event: dict[str, object]) -> None:
        """Send one event as JSON, or keep it until the channel opens or the peer has read. It is dropped (and counted) when the
        channel is closed, when the peer does not take that much at once, or when too many wait for a channel to open."""
        state = "connecting" if self._channel is None else self._channel.readyState
        is_gone = state not in ("connecting", "open") or (self._ended and state == "connecting")
        if is_gone or (state == "connecting" and len(self._out) >= MAX_WAITING):
            self.dropped_out += 1
            self.overflowed_out += self._channel is not None and state == "connecting" and not self._ended
            return
        if self._channel is not None and state == "open":
            if self._ended or (not self._out and self._channel.bufferedAmount <= SLOW_BYTES):  # at the end, the reason of it
                self._out.last_id = event.get("event_id")
                self._send_now(self._channel, encoded(event))
                return
            self._out.put(event, joins=self._is_slow)
            self._flush()
            if self._out.is_full:
                self._give_up(self._channel)
        else:
            self._out.put(event, joins=False)

    def end(self) -> None:
        """No message will come any more: iterators end after the messages that wait."""
        self._ended = True
        self._out.clear()
        self._changed.set()
        if self._stall is not None:
            self._stall.cancel()

    async def finish(self) -> None:
        """Close the channel once the peer has taken what was sent, the reason of the end among it; wait two seconds at most. An
        association that is only ended drops what the peer has not acknowledged."""
        channel = self._channel
        if channel is None:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                await self._until(lambda: not self._out or channel.readyState != "open")
                if channel.readyState == "open":
                    channel.close()  # by a reset of the stream, which comes after all that was sent on it (RFC 8831 section 6.7)
                await self._until(lambda: channel.readyState != "closing")

    async def _until(self, condition: Callable[[], bool]) -> None:
        """Wait until the channel's state, or what waits for it, meets the condition."""
        while not condition():
            self._moved.clear()
            await self._moved.wait()

    def taken_back(self) -> list[str]:
        """The messages that wait to be sent, which go another way."""
        return [self._out.take() for _ in range(len(self._out))]

    def take(self, message: str | bytes) -> None:
        """Keep an incoming message for the reader of `messages`, or drop and count it."""
        is_full = len(self._in) >= MAX_WAITING
        if not isinstance(message, str) or len(message) > MAX_MESSAGE_CHARS or is_full:
            self.dropped_in += 1
            self.overflowed_in += is_full
            return
        self._in.append((asyncio.get_running_loop().time() * 1000.0, message))
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
        try:
            channel.send(text)
        except ValueError:
            # Longer than the peer said it takes (a=max-message-size).
            self.dropped_out += 1

    def _flush(self) -> None:
        channel = self._channel
        if channel is None or channel.readyState != "open":
            return
        while self._out and channel.bufferedAmount <= SLOW_BYTES:
            self._send_now(channel, self._out.take())
        self._moved.set()
        if not self._out:
            self._is_slow = False
        elif self._stall is None:
            self._stall = asyncio.get_running_loop().call_soon(self._watch, channel)

    def _watch(self, channel: RTCDataChannel) -> None:
        """Give the peer up unless it takes something in time."""
        self._is_slow = bool(self._out)
        timeout_s, left = self._out.limits.timeout_s, channel.bufferedAmount
        self._stall = asyncio.get_running_loop().call_later(timeout_s, self._look, channel, left)

    def _look(self, channel: RTCDataChannel, left: int) -> None:
        self._stall = None
        if not self._out or channel.readyState != "open":
            return
        if channel.bufferedAmount == left:
            self._give_up(channel)
        else:
            self._watch(channel)

    def _give_up(self, channel: RTCDataChannel) -> None:
        """Tell the peer why nothing more comes, and close. The error has the id of the event before it, which a client that is
        back names."""
        self._out.clear()
        message = "Too many events wait to be read; the connection is closed. Take the call up again, and read faster."
        error = {"type": "invalid_request_error", "code": TOO_SLOW, "message": message, "param": None, "event_id": None}
        channel.send(encoded({"type": "error", "event_id": self._out.last_id, "error": error}))
        channel.close()
        self._on_slow()
