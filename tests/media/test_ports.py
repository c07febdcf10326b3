"""Calls on the ports and addresses that the settings name: a firewall, a container or a NAT can be set for them."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.fakes import MakeService
from tests.media.conftest import MediaServer, echo, tone
from tests.media.test_connections import offer_of
from tests.sdp import ports_of
from voiceagent.agent_service import AgentService
from voiceagent.client.caller import Caller
from voiceagent.errors import ConfigError, MediaError
from voiceagent.media.leg import Leg
from voiceagent.media.webrtc.ports import MediaPorts, MediaSettings
from voiceagent.media.webrtc.session_description import with_address
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.settings.agent import AgentConfig, load_agent

LOOPBACK, OUTSIDE = "127.0.0.1", "127.0.0.2"


@pytest.fixture
def free_port() -> int:
    """One that no program has."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def taken_port(free_port: int) -> Iterator[int]:
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as other:
        other.bind((LOOPBACK, free_port))
        yield free_port


async def speak_and_hear(caller: Caller) -> None:
    async with asyncio.timeout(20):
        caller.say(tone(0.5))
        await caller.wait_heard(0.0)


async def test_a_call_is_taken_on_a_port_of_the_range_and_nowhere_else(media_server: MediaServer) -> None:
    media_server.behaviour = echo
    media_server.options = {"ports": MediaPorts(range(41_000, 41_010), LOOPBACK)}
    answers: list[str] = []
    media_server.change_answer = lambda answer: answers.append(answer) or answer  # type: ignore[func-returns-value]
    async with Caller(media_server.url) as caller:
        await speak_and_hear(caller)
    [(host, port)] = ports_of(answers[0])
    assert host == LOOPBACK
    assert port in range(41_000, 41_010)


async def test_when_all_ports_are_taken_the_next_call_is_refused_and_the_others_go_on(
    media_server: MediaServer, free_port: int
) -> None:
    media_server.behaviour = echo
    media_server.options = {"ports": MediaPorts(range(free_port, free_port + 1), LOOPBACK)}
    async with Caller(media_server.url) as first:
        with pytest.raises(MediaError, match=rf"all UDP ports of media.ports, {free_port}-{free_port}, are in use on 127.0.0.1"):
            await Caller(media_server.url).connect()
        await speak_and_hear(first)
    await media_server.finish()
    async with Caller(media_server.url) as third:
        await speak_and_hear(third)


async def test_a_port_that_another_program_holds_is_passed_over(media_server: MediaServer, taken_port: int) -> None:
    media_server.options = {"ports": MediaPorts(range(taken_port, taken_port + 3), LOOPBACK)}
    answers: list[str] = []
    media_server.change_answer = lambda answer: answers.append(answer) or answer  # type: ignore[func-returns-value]
    async with Caller(media_server.url):
        assert ports_of(answers[0]) < {(LOOPBACK, taken_port + 1), (LOOPBACK, taken_port + 2)}


async def test_an_offer_that_fails_gives_its_port_back(free_port: int) -> None:
    ports = MediaPorts(range(free_port, free_port + 1), LOOPBACK)
    peer, offer = await offer_of()
    await peer.close()
    for _ in range(3):
        leg, _ = await WebRtcLeg.answer(offer, ports=ports)
        await leg.close()
        await asyncio.sleep(0)  # the loop closes sockets in its next round


async def test_the_port_that_was_free_longest_is_taken_first() -> None:
    ports = MediaPorts(range(42_000, 42_003), LOOPBACK)
    seen = []
    for _ in range(5):
        with closing(ports.open(LOOPBACK)) as opened:
            seen.append(opened.getsockname()[1])
        ports.release(LOOPBACK, seen[-1])
    assert seen == [42_000, 42_001, 42_002, 42_000, 42_001]


class Forwarder(asyncio.DatagramProtocol):
    """One port of a NAT: what comes to it from outside goes to the server, and what the server answers goes back from it."""

    def __init__(self, inside: tuple[str, int]) -> None:
        self.inside = inside
        self.to_server = 0
        self._back: dict[Any, asyncio.DatagramTransport] = {}
        self._waiting: set[Any] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def connection_made(self, transport: Any) -> None:
        self.outside = transport

    def datagram_received(self, data: bytes, caller: Any) -> None:
        self.to_server += 1
        if caller in self._back:
            self._back[caller].sendto(data)
        elif caller not in self._waiting:
            self._waiting.add(caller)
            task = asyncio.create_task(self._open(data, caller))
            self._tasks.add(task)

    async def _open(self, data: bytes, caller: Any) -> None:
        nat = self

        class Back(asyncio.DatagramProtocol):
            def datagram_received(self, answer: bytes, _: Any) -> None:
                nat.outside.sendto(answer, caller)

        loop = asyncio.get_running_loop()
        self._back[caller], _ = await loop.create_datagram_endpoint(Back, remote_addr=self.inside, local_addr=(LOOPBACK, 0))
        self._back[caller].sendto(data)

    def close(self) -> None:
        for transport in (self.outside, *self._back.values()):
            transport.close()


@asynccontextmanager
async def nat(port: int) -> AsyncIterator[Forwarder]:
    """Forwards one port of `OUTSIDE` to the same port of `LOOPBACK`."""
    loop = asyncio.get_running_loop()
    _, forwarder = await loop.create_datagram_endpoint(lambda: Forwarder((LOOPBACK, port)), local_addr=(OUTSIDE, port))
    try:
        yield forwarder
    finally:
        forwarder.close()


async def test_a_call_comes_in_through_a_nat_at_the_address_that_it_was_told(media_server: MediaServer, free_port: int) -> None:
    media_server.behaviour = echo
    media_server.options = {"ports": MediaPorts(range(free_port, free_port + 1), LOOPBACK, OUTSIDE)}
    own = re.compile(rf"a=candidate:\S+ \d udp \d+ {re.escape(LOOPBACK)} [^\n]*\n")
    told: set[tuple[str, int]] = set()

    def from_outside(answer: str) -> str:
        told.update(ports_of(answer))
        return own.sub("", answer)  # nobody outside reaches that

    media_server.change_answer = from_outside
    async with nat(free_port) as forwarder, Caller(media_server.url) as caller:
        await speak_and_hear(caller)
        assert forwarder.to_server > 0, "there is no other way in"
    assert told == {(LOOPBACK, free_port), (OUTSIDE, free_port)}


async def test_the_address_that_is_told_is_tried_first() -> None:
    peer, offer = await offer_of()
    await peer.close()
    leg, answer = await WebRtcLeg.answer(offer, ports=MediaPorts(None, LOOPBACK, "203.0.113.7"))
    await leg.close()
    found = re.findall(r"a=candidate:(\S+) \d udp (\d+) (\S+) \d+ typ host", answer)
    preference = {host: int(priority) for _, priority, host in found}
    assert preference["203.0.113.7"] > preference[LOOPBACK]
    assert len({foundation for foundation, _, _ in found}) == len(preference)


def test_an_address_is_told_once_for_each_port_and_family_of_a_section() -> None:
    own = [("192.0.2.1", 40_000), ("192.0.2.2", 40_000), ("192.0.2.1", 40_001), ("fd00::1", 40_002)]
    lines = [f"a=candidate:{'f' * 32} 1 udp 2130706431 {host} {port} typ host" for host, port in own]
    answer = with_address("\r\n".join(["m=audio", *lines, "m=application", *lines]) + "\r\n", "203.0.113.7")
    assert ports_of(answer) == {*own, ("203.0.113.7", 40_000), ("203.0.113.7", 40_001)}
    assert answer.count("203.0.113.7 40000") == 2, "once in each section"
    assert with_address(answer, "") == answer


@pytest.fixture
async def one_port_server(make_service: MakeService, free_port: int) -> AsyncIterator[TestClient[Any, Any]]:
    ports = MediaPorts(range(free_port, free_port + 1), LOOPBACK)

    async def answer(offer: str) -> tuple[Leg, str]:
        return await WebRtcLeg.answer(offer, ports=ports)

    app = make_app(make_service(answer=answer))
    async with TestClient(TestServer(app)) as client:
        await app[READINESS].wait()
        yield client


async def test_the_server_refuses_in_one_line_and_says_when_to_call_again(one_port_server: TestClient[Any, Any]) -> None:
    peer, offer = await offer_of()
    await peer.close()
    headers = {"Content-Type": "application/sdp"}
    first = await one_port_server.post("/v1/realtime/calls", data=offer, headers=headers)
    assert first.status == 201
    refused = await one_port_server.post("/v1/realtime/calls", data=offer, headers=headers)
    assert refused.status == 503
    assert refused.headers["Retry-After"]
    error = (await refused.json())["error"]
    assert error["code"] == "no_media_port"
    assert (await one_port_server.delete(first.headers["Location"])).status == 200


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("ports: 40100-40000", r"ports is '40100-40000', expected the first and the last of a range within 1024-65535"),
        ("ports: many", r"ports is 'many', expected the first and the last"),
        ("ports: 80-90", r"ports is '80-90'"),
        ("ports: 60000-70000", r"ports is '60000-70000'"),
        ("ports: 40000", r"Expected `str`, got `int`"),
        ("address: example.org", r"address is 'example.org', expected the IP address of one host"),
        ("address: 0.0.0.0", r"address is '0.0.0.0'"),
        ("bind: 224.0.0.1", r"bind is '224.0.0.1'"),
    ],
)
def test_a_bad_setting_is_one_line(tmp_path: Path, setting: str, said: str) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text(f"name: A\nmedia:\n  {setting}\n")
    with pytest.raises(ConfigError, match=said) as refused:
        load_agent(file)
    assert "\n" not in str(refused.value)
    assert "media" in str(refused.value)


def test_an_address_of_another_machine_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match=r"media\.bind: 203\.0\.113\.7 cannot be used .* expected an address of this machine"):
        MediaPorts.from_settings(MediaSettings(bind="203.0.113.7"), {})


def test_the_environment_goes_before_the_file() -> None:
    environment = {"VOICEAGENT_MEDIA_PORTS": "40000-40001", "VOICEAGENT_MEDIA_ADDRESS": "203.0.113.9"}
    ports = MediaPorts.from_settings(MediaSettings(ports="50000-50001", address="203.0.113.7"), environment)
    assert (ports.ports, ports.address) == (range(40_000, 40_002), "203.0.113.9")
    with pytest.raises(ConfigError, match=r"\$VOICEAGENT_MEDIA_PORTS: ports is 'x'"):
        MediaPorts.from_settings(MediaSettings(), {"VOICEAGENT_MEDIA_PORTS": "x"})
    with pytest.raises(ConfigError, match=r"\$VOICEAGENT_MEDIA_ADDRESS: address is 'x'"):
        MediaPorts.from_settings(MediaSettings(), {"VOICEAGENT_MEDIA_ADDRESS": "x"})


def test_fewer_ports_than_calls_are_told_at_the_start(caplog: pytest.LogCaptureFixture) -> None:
    from voiceagent.latency.budgets import load_budgets
    from voiceagent.resources import default_budgets_file

    agent = AgentConfig(profile="embedded", media=MediaSettings(ports="40000-40003"))
    AgentService(agent, load_budgets(default_budgets_file())).service()
    assert "media.ports has 4 ports for 16 calls" in caplog.text
