"""Callers that never quite come, or go without a word, are let go in time, and leave nothing behind; and why a call ended is told
apart: the caller hung up, or was lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import aioice.ice
import psutil
import pytest

from tests.attacks.figures import at_most, hold
from tests.attacks.packets import record, serving
from tests.media.conftest import MediaServer, tone
from tests.media.test_connections import offer_of, settled
from voiceagent.client.caller import Caller
from voiceagent.client.impairment import Address, ImpairedRelay, Impairment, _Side
from voiceagent.client.signalling import answer_to
from voiceagent.errors import MediaError

CONNECT_S = 5.0
FREED_S = 10.0


class Filter(ImpairedRelay):
    """Lets through only what `passes` says, by a packet's first byte."""

    def __init__(self, passes: Callable[[int], bool] = lambda first: True) -> None:
        super().__init__(Impairment())
        self.passes = passes

    def _impair(self, direction: str, side: _Side, data: bytes, to: Address) -> None:
        if self.passes(data[0]):
            super()._impair(direction, side, data, to)


def is_stun(first: int) -> bool:
    return first < 4


async def until_freed(server: MediaServer, calls: int) -> float:
    """How long it takes until so many calls have ended and freed everything."""
    started_s = time.monotonic()
    for _ in range(500):
        if len(server.legs) >= calls:
            break
        await asyncio.sleep(0.01)
    await server.finish()
    return time.monotonic() - started_s


async def never_shakes_hands(server: MediaServer) -> None:
    """Checks and answers checks, and nothing more."""
    with pytest.raises(MediaError):
        await Caller(server.url, relay=Filter(is_stun), connect_timeout_s=8.0).connect()


class Babbler(Filter):
    """Sends something like DTLS with every check, and none that is."""

    def _impair(self, direction: str, side: _Side, data: bytes, to: Address) -> None:
        super()._impair(direction, side, data, to)
        if is_stun(data[0]):
            side.send(record(23, bytes(32), epoch=1), to)


async def babbles(server: MediaServer) -> None:
    with pytest.raises(MediaError):
        await Caller(server.url, relay=Babbler(is_stun), connect_timeout_s=8.0).connect()


async def only_offers(server: MediaServer) -> None:
    peer, sdp = await offer_of()
    await peer.close()
    await answer_to(server.url, None, sdp)


@pytest.mark.parametrize("visit", [only_offers, never_shakes_hands, babbles])
async def test_half_a_call_is_let_go_in_time_and_leaves_nothing(visit: Callable[[MediaServer], Awaitable[None]]) -> None:
    process = psutil.Process()
    async with asyncio.timeout(40), serving() as server:
        async with Caller(server.url):  # what the first call of a process opens stays
            pass
        await server.finish()
        server.legs.clear()
        before = await settled(process)
        _, taken_s, *_ = await asyncio.gather(visit(server), until_freed(server, 3), visit(server), visit(server))
        assert [leg.end_reason for leg in server.legs] == ["lost"] * 3
        assert taken_s > CONNECT_S - 1.0
        hold(at_most("half-open calls freed after", taken_s, CONNECT_S + 1.5, "s"))
        assert await settled(process) == before


async def test_callers_that_vanish_are_freed_within_10_s() -> None:
    async with asyncio.timeout(40), serving() as server:
        relays = [Filter() for _ in range(3)]
        callers = [Caller(server.url, relay=relay) for relay in relays]
        for caller in callers:
            await caller.connect()
            caller.say(tone(0.1))
            await caller.wait_said()
        for relay in relays:
            relay.passes = lambda first: False
        taken_s = await until_freed(server, 3)
        assert [leg.end_reason for leg in server.legs] == ["lost"] * 3
        hold(at_most("vanished callers freed after", taken_s, FREED_S, "s"))
        for caller in callers:
            await caller.hangup()


async def test_a_call_whose_consent_is_lost_is_lost_not_hung_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audio still comes, but no check is answered any more (RFC 7675)."""
    monkeypatch.setattr(aioice.ice, "CONSENT_INTERVAL", 0.1)
    monkeypatch.setattr(aioice.ice, "CONSENT_FAILURES", 2)
    relay = Filter()
    async with asyncio.timeout(30), serving() as server, Caller(server.url, relay=relay) as caller:
        relay.passes = lambda first: not is_stun(first)
        caller.say(tone(5.0))
        await server.finish()
        assert server.legs[0].end_reason == "lost"
