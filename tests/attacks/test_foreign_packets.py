"""Who knows a port but not the call's password cannot end the call, nor keep it from coming up, nor fill the log: empty
datagrams, forged DTLS, malformed and unsigned STUN, RTP, RTCP and noise to every UDP port of the process."""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.attacks.figures import at_most, hold
from tests.attacks.packets import FORGED_RECORDS, Foreigners, foreign_packet, serving, short_log, unhandled_errors
from tests.media.conftest import echo, listen, tone
from tests.server_process import running_server
from voiceagent.client.caller import AgentFrame, Caller
from voiceagent.client.impairment import Address, ImpairedRelay, Impairment

MANY = 1000
"""Packets that a server must have had before its log is judged."""


async def echoed_frames(caller: Caller) -> int:
    """Say a second of tone, 50 frames; how many of them come back."""
    came: list[AgentFrame] = []
    caller.on_frame = came.append
    caller.say(tone(1.0))
    await caller.wait_said()
    await caller.wait_quiet(200)
    return sum(int(abs(frame.pcm.astype(int)).max()) > 1000 and not frame.concealed for frame in came)


@pytest.mark.parametrize("seed", range(20))
async def test_a_call_comes_up_and_goes_on_among_foreign_packets(seed: int) -> None:
    errors = await unhandled_errors()
    async with asyncio.timeout(30), serving(echo) as server:
        with short_log(), Foreigners(os.getpid(), seed) as foreigners:
            async with Caller(server.url) as caller:
                sent = foreigners.sent
                assert await echoed_frames(caller) >= 45
                assert foreigners.sent > sent + 200
                assert (caller.end_reason, server.legs[0].end_reason) == ("", "")
            await server.finish()
        assert server.legs[0].end_reason == "hangup"
        counters = server.legs[0].counters
        assert counters["datagrams_foreign"] > 100
        assert counters["stun_malformed"] > 10
        assert counters["stun_unauthenticated"] > 0
    assert errors == []


class SpoofingRelay(ImpairedRelay):
    """Sends `forged` from the caller's own address, after each packet of the first `packets`."""

    def __init__(self, forged: bytes, packets: int) -> None:
        super().__init__(Impairment())
        self._forged = forged
        self._left = packets

    def from_caller(self, data: bytes, caller: Address) -> None:
        super().from_caller(data, caller)
        side = self._flows.get(caller)
        if side is not None and self._left:
            self._left -= 1
            side.send(self._forged, self._server)


@pytest.mark.parametrize("name", FORGED_RECORDS)
async def test_a_record_forged_at_the_callers_own_address_is_discarded(name: str) -> None:
    async with asyncio.timeout(30), serving(echo) as server:
        with short_log():
            async with Caller(server.url, relay=SpoofingRelay(FORGED_RECORDS[name], 40), connect_timeout_s=5.0) as caller:
                caller.say(tone(0.5))
                await caller.wait_said()
                await caller.wait_heard(0.0)
                assert server.legs[0].end_reason == ""
            await server.finish()


async def test_noise_from_the_callers_own_address_does_not_end_the_call() -> None:
    """RTP and RTCP that no key opens, DTLS that none made, malformed STUN: after the set-up, thousands of them."""
    chance = random.Random(7)
    errors = await unhandled_errors()
    relay = ImpairedRelay(Impairment())
    async with asyncio.timeout(30), serving(echo) as server:
        with short_log():
            async with Caller(server.url, relay=relay) as caller:
                caller.say(tone(1.0))
                side = next(iter(relay._flows.values()))
                while caller._waiting_samples:
                    for _ in range(20):
                        side.send(foreign_packet(chance), relay._server)
                    await asyncio.sleep(0.01)
                assert await echoed_frames(caller) >= 45
                assert server.legs[0].end_reason == ""
            await server.finish()
        assert server.legs[0].end_reason == "hangup"
    assert errors == []


async def test_no_port_answers_who_has_no_password() -> None:
    """Nor reflects anything to whom a source address is forged to name."""
    async with asyncio.timeout(30), serving(listen) as server, Caller(server.url):
        chance = random.Random(3)
        loop = asyncio.get_running_loop()
        answered: list[bytes] = []

        class Listener(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
                answered.append(data)

        ports = [port.laddr for port in psutil.Process().net_connections("udp4")]
        transport, _ = await loop.create_datagram_endpoint(Listener, local_addr=(ports[0][0], 0))
        while server.legs[0].counters["datagrams_foreign"] < 500:
            for port in ports:
                transport.sendto(foreign_packet(chance), tuple(port))
            await asyncio.sleep(0.001)
        transport.close()
        assert answered == []


def test_a_real_server_logs_nothing_of_foreign_packets(tmp_path: Path) -> None:
    async def call(url: str) -> None:
        async with asyncio.timeout(40), Caller(url) as caller:
            await caller.wait_heard(0.0)
            caller.say(np.zeros(24_000, dtype=np.int16))
            await caller.wait_said()
            assert caller.end_reason == ""

    async def calls(url: str) -> None:
        await asyncio.gather(*[call(url) for _ in range(3)])

    with running_server(tmp_path) as server, Foreigners(server.process.pid, 1) as foreigners:
        while foreigners.sent <= MANY:
            asyncio.run(calls(server.url))
    log = (tmp_path / "server.log").read_text()
    assert "Traceback" not in log
    hold(at_most("log of a server whose ports all get foreign packets", len(log.encode()), 10_240, "bytes"))
