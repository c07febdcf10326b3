"""The channel of events: what waits for a slow peer, and what a full one lets go of, which is told from what nobody could have
taken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from voiceagent.media.outgoing_events import ReaderLimits
from voiceagent.media.webrtc.event_channel import MAX_WAITING, SLOW_BYTES, EventChannel


class StuckChannel:
    """A data channel whose state is what the test wants."""

    def __init__(self, state: str, buffered_bytes: int = 0) -> None:
        self.readyState = state
        self.bufferedAmount = buffered_bytes
        self.listeners: dict[str, Callable[..., None]] = {}
        self.sent: list[dict[str, Any]] = []

    def on(self, event: str, listener: Callable[..., None]) -> None:
        self.listeners[event] = listener

    def send(self, text: str) -> None:
        self.sent.append(json.loads(text))

    def close(self) -> None:
        self.readyState = "closing"

    def take_all(self) -> None:
        """The peer reads."""
        self.bufferedAmount = 0
        self.listeners["bufferedamountlow"]()


def sent_to(channel: StuckChannel | None, count: int) -> EventChannel:
    events = EventChannel()
    if channel is not None:
        events.attach(channel)  # type: ignore[arg-type]  # what is used of aiortc's
    for number in range(count):
        events.send({"n": number})
    return events


@pytest.mark.parametrize(
    ("channel", "count", "dropped", "overflowed"),
    [
        (None, MAX_WAITING + 3, 3, 0),
        (StuckChannel("connecting"), MAX_WAITING + 3, 3, 3),
        (StuckChannel("open"), 3, 0, 0),
        (StuckChannel("closed"), 3, 3, 0),
    ],
    ids=["nobody opens one", "it never opens", "it is open", "the peer has gone"],
)
def test_what_a_peer_would_have_taken_is_an_overflow(
    channel: StuckChannel | None, count: int, dropped: int, overflowed: int
) -> None:
    events = sent_to(channel, count)
    assert (events.dropped_out, events.overflowed_out) == (dropped, overflowed)


def delta(number: int) -> dict[str, object]:
    return {"type": "response.output_text.delta", "event_id": f"event_{number}", "item_id": "a", "delta": f"{number} "}


async def test_what_a_slow_peer_has_not_taken_waits_and_is_joined() -> None:
    channel: Any = StuckChannel("open")
    events = EventChannel()
    events.attach(channel)
    events.send({"type": "first"})
    channel.bufferedAmount = SLOW_BYTES + 1
    events.send(delta(0))
    await asyncio.sleep(0)  # until then it counts as one burst
    for number in range(1, 400):
        events.send(delta(number))
    events.send({"type": "last"})
    assert [event["type"] for event in channel.sent] == ["first"]
    channel.take_all()
    joined = {**delta(399), "delta": "".join(f"{number} " for number in range(400))}
    assert channel.sent == [{"type": "first"}, joined, {"type": "last"}]
    assert events.dropped_out == 0


@pytest.mark.parametrize("limits", [ReaderLimits(events=2), ReaderLimits(size_bytes=50), ReaderLimits(timeout_s=0.05)])
async def test_a_peer_that_takes_nothing_is_told_why_the_channel_is_closed(limits: ReaderLimits) -> None:
    channel: Any = StuckChannel("open")
    gave_up = asyncio.Event()
    events = EventChannel(gave_up.set, limits)
    events.attach(channel)
    events.send(delta(1))
    channel.bufferedAmount = SLOW_BYTES + 1
    for number in range(4):
        events.send({"type": "x", "event_id": f"x_{number}"})
        await asyncio.sleep(0)
    async with asyncio.timeout(10):
        await gave_up.wait()
    assert channel.readyState == "closing"
    first, told = channel.sent
    assert (told["type"], told["error"]["code"]) == ("error", "too_slow")
    assert told["event_id"] == first["event_id"], "a client that comes back names it, and gets what came behind it"


async def test_what_the_reader_does_not_take_is_an_overflow() -> None:
    channel: Any = StuckChannel("open")
    events = EventChannel()
    events.attach(channel)
    for _ in range(MAX_WAITING + 2):
        channel.listeners["message"]("{}")
    assert (events.dropped_in, events.overflowed_in) == (2, 2)


async def test_what_cannot_be_read_is_no_overflow() -> None:
    channel: Any = StuckChannel("open")
    events = EventChannel()
    events.attach(channel)
    channel.listeners["message"](b"binary")
    assert (events.dropped_in, events.overflowed_in) == (1, 0)


async def test_a_peer_is_told_the_reason_of_the_end_after_what_waits_is_dropped() -> None:
    channel = StuckChannel("open", SLOW_BYTES + 1)
    events = sent_to(channel, 3)
    assert channel.sent == []
    events.end()
    events.send({"type": "voiceagent.call_ended"})
    assert channel.sent == [{"type": "voiceagent.call_ended"}]
    assert events.dropped_out == 0
