"""Whole calls from a SIP phone: a real server process with the real engines, the bundled voice as the caller, and everything that
is heard taken from the phone's own recording."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.fakes import Said, Words
from tests.server_process import ServerProcess, running_server
from tests.telephone.sip_parts import (
    GATEWAY_SECRET,
    HOST,
    PASSWORD,
    RATE_HZ,
    WEBHOOK_SECRET,
    Phone,
    free_port,
    janus,
    pbx,
    phone,
    until,
)
from tests.telephone.test_telephone_calls import INTERRUPTION, LONG, WEATHER, ended
from voiceagent.audio.levels import dbfs
from voiceagent.audio.resample import resample
from voiceagent.conversation import actions as act
from voiceagent.resources import demo_agent_file

AGENT = """
name: Line
instructions: You are a friendly voice assistant. Answer in one or two short sentences.
tools: [tools.py]
phrases: {{greeting: "Hello, how can I help you?"}}
telephony:
  sip:
    account: sip:agent@{host}:{pbx}
    gateway: ws://{host}:{janus}
"""
FRAME = RATE_HZ // 50


class Exchange:
    """A server, registered at a PBX."""

    def __init__(self, server: ServerProcess, pbx_port: int) -> None:
        self.server = server
        self.pbx_port = pbx_port
        self.agent = f"sip:agent@{HOST}:{pbx_port}"


@pytest.fixture
async def exchange(tmp_path: Path) -> AsyncIterator[Exchange]:
    async with an_exchange(tmp_path) as made:
        yield made


@asynccontextmanager
async def an_exchange(tmp_path: Path, more: str = "", further: tuple[str, ...] = ()) -> AsyncIterator[Exchange]:
    """`more` goes on where the agent's `sip` part ends; `further` options are the server's."""
    pbx_port, janus_port = free_port(), free_port(socket.SOCK_STREAM)
    (tmp_path / "agent.yaml").write_text((AGENT + more).format(host=HOST, pbx=pbx_port, janus=janus_port))
    (tmp_path / "tools.py").write_text((demo_agent_file().parent / "tools.py").read_text())
    environment = {
        "VOICEAGENT_SIP_PASSWORD": PASSWORD,
        "VOICEAGENT_JANUS_SECRET": GATEWAY_SECRET,
        "VOICEAGENT_RESULTS_SECRET": GATEWAY_SECRET,
        "VOICEAGENT_WEBHOOK_SECRET": WEBHOOK_SECRET,
    }
    options = ("--config", str(tmp_path / "agent.yaml"), "--event-logs", "20", "--log-level", "info", *further)
    async with pbx(tmp_path, pbx_port), janus(tmp_path / "janus", janus_port):
        with ExitStack() as stack:  # in a thread, because a language model may answer from this loop while the server starts
            starting = running_server(tmp_path, *options, environment=environment)
            running = await asyncio.to_thread(stack.enter_context, starting)
            await until(lambda: "is registered" in (tmp_path / "server.log").read_text())
            yield Exchange(running, pbx_port)


def loud_frames(pcm: NDArray[np.int16]) -> NDArray[np.intp]:
    """Which frames of 20 ms hold speech."""
    frames = pcm[: len(pcm) // FRAME * FRAME].reshape(-1, FRAME)
    return np.flatnonzero([dbfs(frame) > -45 for frame in frames])


async def quiet_after_speech(phone: Phone, since: int, quiet_s: float) -> NDArray[np.int16]:
    """The speech that was heard from a sample on, once none has come for so long."""

    def is_quiet(pcm: NDArray[np.int16]) -> bool:
        loud = loud_frames(pcm[since:])
        return len(loud) > 10 and len(pcm[since:]) // FRAME - loud[-1] > quiet_s * 50

    heard = (await phone.wait_heard(is_quiet))[since:]
    loud = loud_frames(heard)
    return heard[max(0, loud[0] - 5) * FRAME : (loud[-1] + 6) * FRAME]


async def spoken(said: Said, text: str) -> NDArray[np.int16]:
    pcm, rate_hz = await said(text)
    return resample(pcm, rate_hz, RATE_HZ)


LEFT_MS = 400.0
"""An interruption still has so much to say when the reply has stopped."""


async def test_a_request_that_a_phone_speaks_is_answered_with_the_tools_result(
    exchange: Exchange,
    said: Said,
    words: Words,
    tmp_path: Path,
) -> None:
    async with phone(tmp_path, "alice", exchange.pbx_port) as alice:
        await alice.do("dial", exchange.agent)
        greeting = await quiet_after_speech(alice, 0, 0.6)
        assert "help" in (await words(greeting, RATE_HZ)).lower()
        asked, request = len(alice.heard()), await spoken(said, WEATHER)
        await alice.say(request)
        answer = await words(await quiet_after_speech(alice, asked + len(request), 2.0), RATE_HZ)
        await alice.do("hangup")
        await alice.wait_told("CALL_CLOSED")
        steps = await ended(exchange.server, 1)
    calls = [action for _, actions in steps for action in actions if isinstance(action, act.ToolStarted)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [("get_weather", {"city": "Paris", "day": "tomorrow"})]
    assert "degrees" in answer.lower()
    assert any("Paris" in action.heard for _, actions in steps for action in actions if isinstance(action, act.ReplyHeard))
    asked_with = [action.messages[0].content for _, actions in steps for action in actions if isinstance(action, act.Generate)]
    assert f'"caller":"sip:alice@{HOST}:{exchange.pbx_port}"' in asked_with[-1]


async def test_an_interruption_by_a_phone_stops_the_reply_in_its_recording(
    exchange: Exchange,
    said: Said,
    tmp_path: Path,
) -> None:
    async with phone(tmp_path, "alice", exchange.pbx_port) as alice:
        await alice.do("dial", exchange.agent)
        await quiet_after_speech(alice, 0, 0.6)
        asked, interruption = len(alice.heard()), await spoken(said, INTERRUPTION)
        await alice.say(await spoken(said, LONG))
        await alice.wait_heard(lambda pcm: len(loud_frames(pcm[asked:])) > 40)
        interrupted = len(alice.spoken())
        await alice.say(interruption)
        await quiet_after_speech(alice, len(alice.heard()) + len(interruption), 1.0)
        heard, told = alice.heard(), alice.spoken()
        await alice.do("hangup")
        await alice.wait_told("CALL_CLOSED")
        steps = await ended(exchange.server, 1)
    later = max(0, len(told) - len(heard)) // FRAME  # the phone begins to record what it hears with the first packet
    begins = interrupted // FRAME + loud_frames(told[interrupted:])[0] - later
    loud = loud_frames(heard)
    spoken_to_the_end = loud[loud < begins + len(interruption) // FRAME]
    stopped_ms = 20 * (spoken_to_the_end[-1] - begins)
    replies = [action for _, actions in steps for action in actions if isinstance(action, act.ReplyHeard)]
    print(f"stopped {stopped_ms} ms after the interruption began")
    assert -100 < stopped_ms < 1000 * len(interruption) / RATE_HZ - LEFT_MS  # make bench ARGS=phone measures how soon
    assert "Berlin" in replies[-1].heard


async def test_dial_has_a_phone_ring_and_says_in_one_line_what_came_of_it(exchange: Exchange, tmp_path: Path) -> None:
    async def dial(to: str) -> tuple[int, str, str]:
        command = (sys.executable, "-m", "voiceagent", "dial", to, "--url", exchange.server.url)
        asking = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=os.environ
        )
        out, err = await asking.communicate()
        return asking.returncode or 0, out.decode(), err.decode()

    async with phone(tmp_path, "bob", exchange.pbx_port, answers=True) as bob:
        bobs = f"sip:bob@{HOST}:{exchange.pbx_port}"
        code, out, _ = await dial(bobs)
        assert code == 0
        assert out.startswith(f"{bobs} took the call: rtc_")
        await quiet_after_speech(bob, 0, 0.6)
        await bob.do("hangup")
    busy = f"sip:busy@{HOST}:{exchange.pbx_port}"
    assert await dial(busy) == (1, "", f"error: {busy} is busy (486 Busy Here)\n")
