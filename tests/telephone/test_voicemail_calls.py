"""Whole calls that we made: a machine is hung up on or left its message after the beep, a person is talked with as ever. A real
server process with the bundled models, and the bundled voice as whoever answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.fakes import Said
from tests.server_process import ServerProcess, running_server
from tests.telephone.peers import CALLED, CALLER, Peer, environment
from tests.telephone.test_telephone_calls import AGENT, WEATHER, ended, spoken
from tests.telephone.tones import RATE_HZ, line
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.resources import demo_agent_file

GREETING = "What's the weather in Paris tomorrow? What can you do? What time is it in Berlin? What's the weather in Rome?"
MESSAGE = "It is five o'clock in Berlin."
SECRET = {"VOICEAGENT_RESULTS_SECRET": "s3cret"}
Serve = Callable[..., AbstractContextManager[ServerProcess]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """A server whose `telephony.voicemail` is this, and that tells its calls' results to an address."""

    @contextmanager
    def start(voicemail: str, results_url: str = "") -> Iterator[ServerProcess]:
        agent = AGENT.replace('phrases: {greeting: "Hello, how can I help you?"}\n', "") + f"  voicemail: {voicemail}\n"
        agent += f"  results: {{url: {results_url}}}\n" if results_url else ""
        (tmp_path / "agent.yaml").write_text(agent)
        (tmp_path / "tools.py").write_text((demo_agent_file().parent / "tools.py").read_text())
        options = ("--config", str(tmp_path / "agent.yaml"), "--event-logs", "5")
        with running_server(tmp_path, *options, environment={**environment(), **SECRET}) as running:
            yield running

    return start


def beep(peer: Peer) -> np.ndarray:
    at_s = np.arange(int(0.5 * peer.rate_hz)) / peer.rate_hz
    return np.round(6000 * np.sin(2 * np.pi * 1000 * at_s)).astype(np.int16)


async def test_a_machine_is_left_its_message_after_the_beep_and_then_hung_up_on(
    serve: Serve,
    session: aiohttp.ClientSession,
    said: Said,
) -> None:
    with serve(f'{{action: leave_message, message: "{MESSAGE}"}}') as server:
        async with Peer(session, server.url, "twilio", direction="outbound-api", patience_s=40.0) as peer:
            peer.say(await spoken(said, GREETING, peer))
            peer.say(np.zeros(peer.rate_hz, np.int16))
            peer.say(beep(peer))
            await peer.wait(lambda: peer.close_code is not None)
            after = [at for at, pcm in peer.heard if at > peer.spoken_until and np.abs(pcm.astype(int)).max() > 500]
        steps = await ended(server, 1)
    assert 0.0 < after[0] - peer.spoken_until < 1.5
    (last,) = [event for event, _ in steps if isinstance(event, ev.LastWords)]
    known = next(at for at, (event, _) in enumerate(steps) if isinstance(event, ev.ReplyCancelled))
    until = next(at for at, (event, _) in enumerate(steps) if isinstance(event, ev.LastWords))
    meanwhile = [action for _, actions in steps[known + 1 : until] for action in actions]
    assert not [action for action in meanwhile if isinstance(action, act.ReplyHeard) and action.heard], (
        "nobody talks to a machine"
    )
    assert last.text == MESSAGE
    heard = [action.heard for _, actions in steps for action in actions if isinstance(action, act.ReplyHeard)]
    assert heard[-1] == MESSAGE
    assert [action for _, actions in steps for action in actions if isinstance(action, act.End)] == [act.End("message_left")]


async def test_who_puts_us_through_has_no_message_spoken_over_them_or_into_the_ringing(
    serve: Serve,
    session: aiohttp.ClientSession,
    said: Said,
) -> None:
    with serve(f'{{action: leave_message, message: "{MESSAGE}"}}') as server:
        async with Peer(session, server.url, "twilio", direction="outbound-api", patience_s=40.0) as peer:
            peer.say(await spoken(said, WEATHER, peer))
            peer.say(np.zeros(peer.rate_hz * 3 // 2, np.int16))
            peer.say(line("ring-back, United States", 14.0)[:: RATE_HZ // peer.rate_hz])
            peer.say(await spoken(said, "What time is it in Berlin?", peer))
            await peer.wait(lambda: bool(peer.heard) and peer.heard[-1][0] > peer.spoken_until and peer.is_quiet(1.0))
            assert peer.close_code is None
        steps = await ended(server, 1)
    assert not [event for event, _ in steps if isinstance(event, ev.LastWords)]
    heard = [action.heard for _, actions in steps for action in actions if isinstance(action, act.ReplyHeard)]
    assert "Berlin" in heard[-1]


async def test_a_machine_is_hung_up_on_and_nobody_who_calls_us_is_taken_for_one(
    serve: Serve,
    session: aiohttp.ClientSession,
    said: Said,
) -> None:
    with serve("{action: hang_up}") as server:
        async with Peer(session, server.url, "twilio", direction="outbound-api", patience_s=40.0) as peer:
            peer.say(await spoken(said, GREETING, peer))
            peer.say(np.zeros(peer.rate_hz, np.int16))
            peer.say(beep(peer))
            await peer.wait(lambda: peer.close_code is not None)
        steps = await ended(server, 1)
        assert [action for _, actions in steps for action in actions if isinstance(action, act.End)] == [
            act.End("answering_machine")
        ]
        async with Peer(session, server.url, "twilio", patience_s=40.0) as peer:
            peer.say(beep(peer))
            peer.say(np.concatenate([await spoken(said, WEATHER, peer), np.zeros(peer.rate_hz // 2, np.int16), beep(peer)]))
            await peer.wait(lambda: bool(peer.heard) and peer.is_quiet(1.0))
            assert peer.close_code is None


async def test_a_person_whom_we_called_is_answered_and_the_result_is_told(
    serve: Serve,
    session: aiohttp.ClientSession,
    said: Said,
) -> None:
    told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def take(request: web.Request) -> web.Response:
        told.put_nowait(await request.json())
        return web.Response(status=204)

    app = web.Application()
    app.router.add_post("/", take)
    async with TestServer(app) as receiver:
        with serve("{action: hang_up}", str(receiver.make_url("/"))) as server:
            async with Peer(session, server.url, "twilio", direction="outbound-api", patience_s=40.0) as peer:
                for asked in (WEATHER, "What time is it in Berlin?"):
                    began = asyncio.get_running_loop().time()
                    peer.say(await spoken(said, asked, peer))
                    await peer.wait(lambda began=began: bool(peer.heard) and peer.heard[-1][0] > began and peer.is_quiet(1.0))  # type: ignore[misc]
            steps = await ended(server, 1)
            result = await asyncio.wait_for(told.get(), 10)
    heard = [action.heard for _, actions in steps for action in actions if isinstance(action, act.ReplyHeard)]
    assert any("Paris" in words for words in heard)
    assert "Berlin" in heard[-1]
    assert (result["direction"], result["reason"], result["caller"], result["called"]) == ("outbound", "hangup", CALLER, CALLED)
    assert result["tools"][0] == "get_weather"
    assert result["turns"] == 2
    assert "transcript" not in result
