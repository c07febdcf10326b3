"""A caller, who holds the keys of its own call, cannot stop the server through its data channel: packets that cannot be handled
are lost, who goes on is ended, and other calls do not notice."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from struct import pack

import numpy as np
import psutil
import pytest
from aiortc import RTCSctpTransport

from tests.attacks.data_abuser import ABUSES, data, established, packet
from tests.attacks.figures import at_most, hold, within
from tests.attacks.packets import serving, short_log, unhandled_errors
from tests.media.conftest import listen, tone
from voiceagent.client.caller import Caller
from voiceagent.media.webrtc.sctp_screen import MAX_STREAMS, MAX_TSNS_AHEAD
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg

LIMITED_WITHIN_S = 2.0


def chunk(kind: int, body: bytes, flags: int = 0) -> bytes:
    """An SCTP chunk with whatever body."""
    return pack("!BBH", kind, flags, 4 + len(body)) + body + bytes(-len(body) % 4)


def hostile_packets(sctp: RTCSctpTransport) -> dict[str, bytes]:
    next_tsn, acknowledged = sctp._local_tsn, sctp._last_received_tsn or 0
    everything = b"".join(pack("!HH", 1, 65_535) for _ in range(250))
    dcep_open = pack("!BBHLHH", 3, 0, 0, 0, 1, 0) + b"x"
    return {
        "a parameter of length 0": packet(sctp, chunk(4, pack("!HH", 1, 0))),
        "a reset of length 0": packet(sctp, chunk(130, pack("!HHL", 13, 0, 0))),
        "an error of length 0": packet(sctp, chunk(9, bytes(64))),
        "all that there is acknowledged 250 times": packet(
            sctp, chunk(3, pack("!LLHH", acknowledged, 1 << 20, 250, 0) + everything)
        ),
        "what was never sent acknowledged": packet(sctp, chunk(3, pack("!LLHH", (acknowledged + 5000) % 2**32, 1 << 20, 0, 0))),
        "data cut short": packet(sctp, chunk(0, b"abc", 3)),
        "a chunk of length 0": packet(sctp, pack("!BBH", 0, 3, 0)),
        "a chunk longer than its packet": packet(sctp, pack("!BBH", 0, 3, 60_000)),
        "no chunk": packet(sctp, b""),
        "a skip cut short": packet(sctp, chunk(192, b"ab")),
        "another start": packet(sctp, chunk(1, pack("!LLHHL", 1, 1 << 20, 65_535, 65_535, 7))),
        "a reset cut short": packet(sctp, chunk(130, pack("!HH", 13, 7) + b"abc")),
        "a channel that is open": packet(sctp, chunk(0, pack("!LHHL", next_tsn, 1, 0, 50) + dcep_open, 7)),
        "a text that is none": packet(sctp, chunk(0, pack("!LHHL", (next_tsn + 1) % 2**32, 1, 0, 51) + b"\xff\xfe", 7)),
        "an answer to no channel": packet(sctp, chunk(0, pack("!LHHL", (next_tsn + 2) % 2**32, 9, 0, 50) + b"\x02", 7)),
    }


async def test_packets_that_cannot_be_handled_are_lost_and_the_call_goes_on() -> None:
    async def answer(leg: WebRtcLeg) -> None:
        async for text in leg.client_events():
            leg.send_event({"got": json.loads(text)["type"]})

    errors = await unhandled_errors()
    async with asyncio.timeout(30), serving(answer) as server:
        with short_log():
            async with Caller(server.url) as caller:
                sctp = caller._peer.sctp if caller._peer else None
                assert sctp is not None
                await established(sctp)
                packets = hostile_packets(sctp)
                sctp._local_tsn = (sctp._local_tsn + 3) % 2**32
                for hostile in packets.values():
                    await sctp.transport._send_data(hostile)
                caller.send_event({"type": "still here"})
                assert (await anext(caller.events())).data == {"got": "still here"}
                assert server.legs[0].counters["packets_malformed"] >= len(packets) - 1
                assert server.legs[0].end_reason == ""
            await server.finish()
        assert server.legs[0].end_reason == "hangup"
    assert errors == []


async def test_what_waits_for_missing_data_and_the_streams_are_bounded() -> None:
    async with asyncio.timeout(30), serving(listen) as server, Caller(server.url) as caller:
        sctp = caller._peer.sctp if caller._peer else None
        assert sctp is not None
        await established(sctp)
        first = sctp._local_tsn
        for n in range(600):
            await sctp.transport._send_data(data(sctp, first + 2 + 2 * n, 1, stream=n, flags=0x03))
        caller.say(tone(0.2))
        await caller.wait_said()
        of_server = server.legs[0]._peer.sctp
        assert of_server is not None
        assert 0 < len(of_server._sack_misordered) <= MAX_TSNS_AHEAD
        assert len(of_server._inbound_streams) <= MAX_STREAMS
        assert server.legs[0].counters["data_refused"] > 400
        assert server.legs[0].end_reason == ""


@contextmanager
def echoing_server() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "tests.attacks.media_server_process"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            assert process.stdin is not None
            if not process.stdin.closed:
                process.stdin.close()
            process.wait(15)


@pytest.mark.parametrize("kind", ABUSES)
async def test_who_goes_on_is_ended_and_another_callers_audio_keeps_its_pace(kind: str) -> None:
    with echoing_server() as (url, server):
        async with asyncio.timeout(40), Caller(url) as other:
            arrivals_ms: list[float] = []
            other.say(tone(4.0))
            await other.wait_heard(0.0)
            other.on_packet = lambda rtp, at_ms: arrivals_ms.append(at_ms)
            memory = psutil.Process(server.pid).memory_info().rss
            abuser = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.attacks.data_abuser", url, kind, stdout=asyncio.subprocess.PIPE
            )
            said, _ = await abuser.communicate()
            grown = psutil.Process(server.pid).memory_info().rss - memory
            until_ms = time.monotonic() * 1000.0
            assert other.end_reason == ""
            gaps_ms = np.diff([at_ms for at_ms in arrivals_ms if at_ms <= until_ms])
        p99_ms = float(np.percentile(gaps_ms, 99))
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.close()
        reasons = json.loads(server.stdout.readline())
        assert "abuse" in reasons
        name = kind.replace("_", " ")
        hold(
            within(f"data channel, {name}: limited after", float(said), LIMITED_WITHIN_S, "s"),
            within(f"data channel, {name}: packet gap p99 of a caller beside it", p99_ms, 40.0, "ms"),
            at_most(f"data channel, {name}: memory", grown / 1e6, 16.0, "MB"),
        )
