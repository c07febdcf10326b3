"""The bad network that tests and benchmarks make on purpose: real UDP sockets on loopback, a seed that repeats."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest

from voiceagent.client.impairment import MAX_FLOWS, ImpairedRelay, Impairment
from voiceagent.errors import MediaError

PACKETS = 60
ANSWER = (
    "v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 96\r\na=candidate:1 1 udp 2130706431 127.0.0.1 {port} typ host\r\na=end-of-candidates\r\n"
    "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=candidate:1 1 udp 2130706431 127.0.0.1 {port} typ host\r\n"
)


@contextmanager
def udp_socket() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as made:
        made.bind(("127.0.0.1", 0))
        made.setblocking(False)
        yield made


@asynccontextmanager
async def relayed(impairment: Impairment) -> AsyncIterator[tuple[ImpairedRelay, socket.socket, socket.socket]]:
    """A relay with a flow that is open, its caller's socket and its server's."""
    loop, relay = asyncio.get_running_loop(), ImpairedRelay(impairment)
    with udp_socket() as server, udp_socket() as caller:
        answer = await relay.rewrite_answer(ANSWER.format(port=server.getsockname()[1]))
        caller.connect(("127.0.0.1", port_of(answer)))
        while not relay._flows:  # what comes while a flow opens is lost, as in a call
            await loop.sock_sendall(caller, b"first")
            await asyncio.sleep(0)
        try:
            yield relay, caller, server
        finally:
            await relay.close()


def port_of(sdp: str) -> int:
    found = re.search(r"127\.0\.0\.1 (\d+) typ host", sdp)
    assert found is not None
    return int(found[1])


async def passed(impairment: Impairment) -> tuple[list[int], int]:
    """The numbers of the packets that came through a relay, in their order, and how many it lost of them."""
    loop = asyncio.get_running_loop()
    async with relayed(impairment) as (relay, caller, server):
        before = relay.lost
        for number in range(PACKETS):
            await loop.sock_sendall(caller, bytes([number]))
        got: list[int] = []
        async with asyncio.timeout(10):
            while len(got) + relay.lost - before < PACKETS:
                data = await loop.sock_recv(server, 100)
                if data != b"first":
                    got.append(data[0])
        return got, relay.lost - before


async def test_a_good_network_passes_every_packet_in_order() -> None:
    assert await passed(Impairment()) == (list(range(PACKETS)), 0)


async def test_packets_are_lost_with_their_probability() -> None:
    got, lost = await passed(Impairment(loss=0.3, seed=5))
    assert 0.1 * PACKETS < lost < 0.5 * PACKETS
    assert got == sorted(got)


async def test_jitter_reorders_unless_the_order_is_to_stay() -> None:
    shuffled, _ = await passed(Impairment(jitter_ms=20, seed=1))
    kept, _ = await passed(Impairment(jitter_ms=20, reorder=False, seed=1))
    assert sorted(shuffled) == kept == list(range(PACKETS))
    assert shuffled != kept


async def test_the_servers_packets_come_back_to_the_caller_who_began_the_flow() -> None:
    loop = asyncio.get_running_loop()
    async with relayed(Impairment()) as (_, caller, server):
        await loop.sock_sendall(caller, b"question")
        while True:
            data, address = await loop.sock_recvfrom(server, 100)
            if data == b"question":
                break
        await loop.sock_sendto(server, b"answer", address)
        assert await asyncio.wait_for(loop.sock_recv(caller, 100), 5) == b"answer"


async def test_the_relay_stands_in_the_answer_in_place_of_the_server_and_in_no_offer() -> None:
    relay = ImpairedRelay(Impairment())
    try:
        answer = await relay.rewrite_answer(ANSWER.format(port=4567))
        assert "4567" not in answer
        assert answer.count(f" {port_of(answer)} typ host") == 2, "each media section names the relay"
        assert "candidate" not in relay.rewrite_offer(ANSWER.format(port=4567))
    finally:
        await relay.close()


async def test_an_answer_without_an_address_is_one_clear_line() -> None:
    with pytest.raises(MediaError, match="no IPv4 host candidate"):
        await ImpairedRelay(Impairment()).rewrite_answer("v=0\r\nm=audio 9 UDP/TLS/RTP/SAVPF 96\r\n")


async def test_flows_are_bounded() -> None:
    async with relayed(Impairment()) as (relay, _, _):
        for port in range(20_000, 20_000 + 3 * MAX_FLOWS):
            relay.from_caller(b"first", ("127.0.0.1", port))
        await relay._opening.finished()
        assert 1 < len(relay._flows) <= MAX_FLOWS


@pytest.mark.parametrize(
    "wrong", [Impairment(loss=1.5), Impairment(loss=-0.1), Impairment(jitter_ms=-1), Impairment(delay_ms=-1)]
)
def test_what_no_network_does_is_refused(wrong: Impairment) -> None:
    with pytest.raises(MediaError, match="expected"):
        ImpairedRelay(wrong)
