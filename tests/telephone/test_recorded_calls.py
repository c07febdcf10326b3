"""Whole telephone calls that are recorded: a real server process with the bundled models, and a vendor's peer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from numpy.typing import NDArray

from tests.server_process import ServerProcess, running_server
from tests.telephone.peers import Peer, after_path, after_stream, ask, environment
from tests.telephone.sip_parts import until
from tests.telephone.test_recording import played
from tests.telephone.test_telephone_calls import AGENT, ended
from tests.telephone.test_voicemail_calls import SECRET
from voiceagent.audio.format import HEARD_HZ
from voiceagent.conversation import actions as act
from voiceagent.resources import demo_agent_file

ANNOUNCEMENT, GREETING, WAIT = "What time is it in Berlin?", "What can you do?", "It is five o'clock in Berlin."
"""In words that the bundled voice says well."""


class Recorded:
    """A server, and what it tells of its calls."""

    def __init__(self, server: ServerProcess, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()


@pytest.fixture
async def recorded(tmp_path: Path) -> AsyncIterator[Recorded]:
    async def take(request: web.Request) -> web.Response:
        made.told.put_nowait(await request.json())
        return web.Response(status=204)

    app = web.Application()
    app.router.add_post("/", take)
    async with TestServer(app) as receiver:
        phrases = f'phrases: {{greeting: "{GREETING}", transfer: "{WAIT}"}}'
        agent = AGENT.replace('phrases: {greeting: "Hello, how can I help you?"}', phrases) + (
            f"  results: {{url: {receiver.make_url('/')}}}\n"
            "  transfers: {desk: '+15550123'}\n"
            "  human: {transfer: desk}\n"
            f'  recording: {{folder: kept, announcement: "{ANNOUNCEMENT}", may_refuse: true, min_free_mb: 1}}\n'
        )
        (tmp_path / "agent.yaml").write_text(agent)
        (tmp_path / "tools.py").write_text((demo_agent_file().parent / "tools.py").read_text())
        options = ("--config", str(tmp_path / "agent.yaml"), "--event-logs", "5")
        with running_server(tmp_path, *options, environment={**environment(), **SECRET}) as running:
            made = Recorded(running, tmp_path / "kept")
            yield made


def first_loud_s(pcm: NDArray[np.int16], rate_hz: int, since_s: float = 0.0) -> float:
    return since_s + int(np.flatnonzero(np.abs(pcm[int(since_s * rate_hz) :].astype(int)) > 1000)[0]) / rate_hz


async def test_a_call_is_announced_recorded_on_one_clock_and_transferred(
    recorded: Recorded,
    session: aiohttp.ClientSession,
) -> None:
    loop = asyncio.get_running_loop()
    async with Peer(session, recorded.server.url, "twilio", patience_s=30.0) as peer:
        await peer.wait(lambda: len(peer.heard) > 60)
        tone = np.round(8000 * np.sin(2 * np.pi * 440 * np.arange(800) / 8000)).astype(np.int16)
        peer.say(tone)
        began_s = loop.time()
        await peer.wait(lambda: peer.is_quiet(0.8))
        heard_s = next(at for at, pcm in peer.heard if np.abs(pcm.astype(int)).max() > 1000)
        (written,) = recorded.folder.glob("rtc_*.wav")
        await until(lambda: len(played(written)) > 2 * HEARD_HZ)  # while the call goes on
        await peer.press("0#")
        await peer.wait(lambda: peer.close_code is not None)
    steps = await ended(recorded.server, 1)
    replies = [action.heard for _, actions in steps for action in actions if isinstance(action, act.ReplyEnded)]
    assert replies == [f"{ANNOUNCEMENT} {GREETING}", WAIT]
    _, answer = await ask(session, recorded.server.url, after_stream("twilio", after_path(peer.answer)))
    assert "<Number>+15550123</Number>" in answer
    result = await asyncio.wait_for(recorded.told.get(), 10)
    assert (result["recording"], result["reason"]) == (written.name, "transferred")
    assert written.name == f"{result['call_id']}.wav"
    assert written.stat().st_mode & 0o777 == 0o600
    pcm = played(written)
    assert len(pcm) / HEARD_HZ == pytest.approx(result["duration_s"], abs=0.5)
    caller_s, agent_s = first_loud_s(pcm[:, 0], HEARD_HZ), first_loud_s(pcm[:, 1], HEARD_HZ)
    assert (caller_s - agent_s) - (began_s - heard_s) == pytest.approx(0.0, abs=0.15), "as far apart as for the caller"


async def test_a_caller_presses_a_key_and_the_recording_is_deleted_and_that_is_said(
    recorded: Recorded,
    session: aiohttp.ClientSession,
) -> None:
    async with Peer(session, recorded.server.url, "twilio", patience_s=30.0) as peer:
        await peer.wait(lambda: len(peer.heard) > 10)
        assert list(recorded.folder.glob("rtc_*.wav"))
        await peer.press("9#")
        await peer.wait(lambda: bool(peer.clears))
        await peer.wait(lambda: peer.heard[-1][0] > peer.clears[-1] + 0.5 and peer.is_quiet(0.8))
        assert not list(recorded.folder.iterdir())
    steps = await ended(recorded.server, 1)
    replies = [action.heard for _, actions in steps for action in actions if isinstance(action, act.ReplyEnded)]
    assert replies[1] == "The recording is deleted."
    assert "recording" not in await asyncio.wait_for(recorded.told.get(), 10)
    assert not list(recorded.folder.iterdir())
