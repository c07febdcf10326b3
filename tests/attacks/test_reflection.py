"""An offer cannot make the server send much to others: what goes to addresses that have not answered is at most three times the
offer, whatever it names; addresses that are not on the Internet get nothing unless the agent says so."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.attacks.figures import at_most, hold
from tests.attacks.packets import serving, short_log, stun_request
from tests.media.conftest import tone
from tests.media.test_connections import offer_of
from voiceagent.client.caller import Caller
from voiceagent.client.impairment import Address, ImpairedRelay, Impairment, _Side
from voiceagent.errors import MediaError
from voiceagent.media.webrtc.datagram_gate import AMPLIFICATION, MAX_ADDRESSES, Budget, DatagramGate
from voiceagent.media.webrtc.session_description import MAX_CANDIDATES, is_usable_host, read_offer
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg

UFRAGS = ("abcd", "u" * 64, "u" * 256)


class Victims:
    """Sockets of loopback that count what comes."""

    def __init__(self, sockets: list[socket.socket]) -> None:
        self._sockets = sockets
        self.addresses: list[Address] = [one.getsockname() for one in sockets]

    def received(self) -> list[int]:
        """The size of each datagram that came."""
        sizes = []
        for one in self._sockets:
            try:
                while True:
                    sizes.append(len(one.recv(65_536)))
            except BlockingIOError:
                continue
        return sizes


@contextmanager
def victims(count: int) -> Iterator[Victims]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
            one.setblocking(False)
        yield Victims(sockets)


async def evil_offer(addresses: list[Address], ufrag: str) -> str:
    """A good offer with these candidates and this username fragment, whose checks are as long as it makes them."""
    peer, sdp = await offer_of()
    await peer.close()
    lines = []
    for line in sdp.splitlines():
        if line.startswith(("a=candidate", "a=end-of")):
            continue
        lines.append(f"a=ice-ufrag:{ufrag}" if line.startswith("a=ice-ufrag") else line)
        if line.startswith("a=mid"):
            lines += [
                f"a=candidate:{n} 1 udp {2130706431 - n} {host} {port} typ host" for n, (host, port) in enumerate(addresses)
            ]
    return "\r\n".join(lines) + "\r\n"


@pytest.mark.parametrize("ufrag", UFRAGS, ids=len)
async def test_what_an_offer_makes_the_server_send_is_at_most_three_times_the_offer(ufrag: str) -> None:
    async def offer_with(candidates: int) -> None:
        with victims(candidates) as named:
            offer = await evil_offer(named.addresses, ufrag)
            leg, _ = await WebRtcLeg.answer(offer, private_candidates=True)
            assert not await leg.wait_connected()
            assert leg.end_reason == "lost"
            await leg.close()
            sizes = named.received()
            assert sizes
            hold(
                at_most(
                    "bytes to addresses that do not answer, for one of the offer's",
                    sum(sizes) / len(offer),
                    AMPLIFICATION,
                    "",
                ),
                at_most("datagrams to addresses that do not answer, for an offer", len(sizes), 100, ""),
            )

    async with asyncio.timeout(20):
        await asyncio.gather(*map(offer_with, (1, MAX_CANDIDATES, 40)))


async def test_twenty_evil_offers_at_once_send_what_their_bytes_pay_for() -> None:
    with victims(40) as named, short_log():
        offers = [await evil_offer(named.addresses[seed:] + named.addresses[:seed], UFRAGS[seed % 3]) for seed in range(20)]
        legs = [(await WebRtcLeg.answer(offer, private_candidates=True))[0] for offer in offers]
        async with asyncio.timeout(30):
            await asyncio.gather(*[leg.wait_connected() for leg in legs])
            await asyncio.gather(*[leg.close() for leg in legs])
        sent, offered = sum(named.received()), sum(map(len, offers))
        hold(at_most("the same of twenty offers at once", sent / offered, AMPLIFICATION, ""))


async def test_signed_checks_of_the_offerer_pay_for_no_more_than_their_own_bytes() -> None:
    """It holds the password, and names others in the offer."""
    with victims(8) as named, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.bind(("127.0.0.1", 0))
        own.setblocking(False)
        offer = await evil_offer(named.addresses, UFRAGS[2])
        leg, answer = await WebRtcLeg.answer(offer, private_candidates=True)
        values = dict(line[2:].split(":", 1) for line in answer.splitlines() if line.startswith("a=ice-"))
        port = next(line.split() for line in answer.splitlines() if line.startswith("a=candidate") and "." in line.split()[4])
        check = stun_request(f"{values['ice-ufrag']}:{UFRAGS[2]}", values["ice-pwd"])
        own_bytes = 0
        async with asyncio.timeout(20):
            while not leg.end_reason:
                own.sendto(check, (port[4], int(port[5])))
                own_bytes += len(check)
                await asyncio.sleep(0.02)
        await leg.close()
        assert sum(named.received()) + sum(Victims([own]).received()) <= AMPLIFICATION * len(offer) + own_bytes


async def test_an_address_off_the_internet_gets_nothing_by_default() -> None:
    with victims(8) as named:
        leg, _ = await WebRtcLeg.answer(await evil_offer(named.addresses, "abcd"), connect_timeout_s=1.0)
        async with asyncio.timeout(10):
            await leg.wait_connected()
        await leg.close()
        assert named.received() == []


@pytest.mark.parametrize(
    ("host", "by_default", "by_setting"),
    [
        ("8.8.8.8", True, True),
        ("2001:4860:4860::8888", True, True),
        *[
            (host, False, True)
            for host in (
                "10.0.0.1",
                "172.16.0.1",
                "192.168.1.1",
                "100.64.0.1",
                "169.254.169.254",
                "127.0.0.1",
                "192.0.2.1",
                "fd00::1",
                "fe80::1",
                "::1",
                "::ffff:127.0.0.1",
                "2002:7f00:1::",
                "64:ff9b::a00:1",
            )
        ],
        *[
            (host, False, False)
            for host in (
                "0.0.0.0",
                "0.1.2.3",
                "::",
                "224.0.0.1",
                "ff02::1",
                "255.255.255.255",
                "240.0.0.1",
                "a.local",
                "::ffff:0.0.0.0",
            )
        ],
    ],
)
def test_only_addresses_where_a_caller_can_be_are_used(host: str, by_default: bool, by_setting: bool) -> None:
    assert (is_usable_host(host, False), is_usable_host(host, True)) == (by_default, by_setting)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("ice-ufrag", "abc", r"a=ice-ufrag has 3 characters, 'abc'; expected 4 to 256 letters, digits, \+ and /"),
        ("ice-ufrag", "u" * 257, "a=ice-ufrag has 257 characters"),
        ("ice-ufrag", "u" * 20_000, "a=ice-ufrag has 20000 characters"),
        ("ice-ufrag", "ab:cd", "'ab:cd'"),
        ("ice-pwd", "p" * 21, r"a=ice-pwd has 21 characters, .*expected 22 to 256"),
        ("ice-pwd", "p" * 22 + "é", "a=ice-pwd has 23 characters"),
    ],
)
async def test_credentials_keep_to_the_standard(name: str, value: str, said: str) -> None:
    peer, sdp = await offer_of()
    await peer.close()
    lines = [f"a={name}:{value}" if line.startswith(f"a={name}") else line for line in sdp.splitlines()]
    with pytest.raises(MediaError, match=said):
        read_offer("\r\n".join(lines))


def test_silent_addresses_leave_two_thirds_for_those_that_called() -> None:
    budget = Budget(1000)
    gate = DatagramGate(budget)
    for port in range(1, 100):
        gate.may_send(("192.0.2.1", port), 100)
    assert budget.sent_bytes == 1000
    gate.check_received(("192.0.2.9", 9), 50)
    while gate.may_send(("192.0.2.9", 9), 50):
        pass
    assert budget.sent_bytes == 3050
    gate.check_answered(("192.0.2.9", 9))
    assert gate.may_send(("192.0.2.9", 9), 1_000_000)
    assert gate.counters.unsent == 90


def test_addresses_that_called_are_forgotten_but_not_the_one_in_use() -> None:
    gate = DatagramGate(Budget(1000))
    in_use = ("192.0.2.1", 1)
    forgotten = [gate.check_received(("192.0.2.1", port), 80, {in_use}) for port in range(1, 1000)]
    assert forgotten[MAX_ADDRESSES] == ("192.0.2.1", 2)
    assert gate.knows(in_use)
    assert sum(gate.knows(("192.0.2.1", port)) for port in range(1, 1000)) == MAX_ADDRESSES


class LossyChecks(ImpairedRelay):
    """Loses only STUN."""

    def _impair(self, direction: str, side: _Side, data: bytes, to: Address) -> None:
        if data[:1] <= b"\x03":
            super()._impair(direction, side, data, to)
        else:
            side.send(data, to)


async def test_calls_come_up_in_time_when_3_of_10_checks_are_lost() -> None:
    async with asyncio.timeout(30), serving() as server:

        async def call(seed: int) -> None:
            relay = LossyChecks(Impairment(loss=0.3, seed=seed))
            async with Caller(server.url, relay=relay, connect_timeout_s=5.0) as caller:
                caller.say(tone(0.1))
                await caller.wait_said()

        ended = await asyncio.gather(*[call(seed) for seed in range(20)], return_exceptions=True)
        assert sum(one is None for one in ended) >= 18, ended
