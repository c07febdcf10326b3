"""What a full channel of events lets go of is counted, and told from what nobody could have taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from voiceagent.media.webrtc.event_channel import MAX_BUFFERED_BYTES, MAX_WAITING, EventChannel


class StuckChannel:
    """A data channel whose state is what the test wants."""

    def __init__(self, state: str, buffered_bytes: int = 0) -> None:
        self.readyState = state
        self.bufferedAmount = buffered_bytes
        self.listeners: dict[str, Callable[..., None]] = {}

    def on(self, event: str, listener: Callable[..., None]) -> None:
        self.listeners[event] = listener

    def send(self, text: str) -> None:
        return None


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
        (StuckChannel("open", MAX_BUFFERED_BYTES + 1), 3, 3, 3),
        (StuckChannel("open"), 3, 0, 0),
        (StuckChannel("closed"), 3, 3, 0),
    ],
    ids=["nobody opens one", "it never opens", "the peer does not read", "it is open", "the peer has gone"],
)
def test_what_a_peer_would_have_taken_is_an_overflow(
    channel: StuckChannel | None, count: int, dropped: int, overflowed: int
) -> None:
    events = sent_to(channel, count)
    assert (events.dropped_out, events.overflowed_out) == (dropped, overflowed)


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
