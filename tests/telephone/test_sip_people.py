"""Whole calls over SIP in which somebody else than the agent matters: a caller asks for a person, and a machine takes a call that
we made. A real server process with the bundled models; baresip is the caller, and the machine."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import numpy as np
import pytest

from tests.fakes import Said
from tests.server_process import running_server
from tests.telephone.sip_parts import GATEWAY_SECRET, HOST, PASSWORD, RATE_HZ, free_port, janus, pbx, phone, until
from tests.telephone.test_sip_calls import AGENT, Exchange, loud_frames, quiet_after_speech, spoken
from tests.telephone.test_telephone_calls import ended
from tests.telephone.test_voicemail_calls import GREETING, MESSAGE
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.resources import demo_agent_file

WAIT, FAILED = "What time is it in Berlin?", "It is five o'clock in Berlin."
"""In words that the bundled voice says well."""


@pytest.fixture
async def exchange(tmp_path: Path) -> AsyncIterator[Exchange]:
    pbx_port, janus_port = free_port(), free_port(socket.SOCK_STREAM)
    head = AGENT.format(host=HOST, pbx=pbx_port, janus=janus_port)
    phrases = f'phrases: {{transfer: "{WAIT}", transfer_failed: "{FAILED}"}}'
    agent = head.replace('phrases: {greeting: "Hello, how can I help you?"}', phrases) + (
        f"  transfers: {{desk: 'sip:busy@{HOST}:{pbx_port}'}}\n"
        "  human: {transfer: desk}\n"
        f'  voicemail: {{action: leave_message, message: "{MESSAGE}"}}\n'
    )
    (tmp_path / "agent.yaml").write_text(agent)
    (tmp_path / "tools.py").write_text((demo_agent_file().parent / "tools.py").read_text())
    environment = {"VOICEAGENT_SIP_PASSWORD": PASSWORD, "VOICEAGENT_JANUS_SECRET": GATEWAY_SECRET}
    options = ("--config", str(tmp_path / "agent.yaml"), "--event-logs", "20", "--log-level", "info")
    async with pbx(tmp_path, pbx_port), janus(tmp_path / "janus", janus_port):
        with running_server(tmp_path, *options, environment=environment) as running:
            await until(lambda: "is registered" in (tmp_path / "server.log").read_text())
            yield Exchange(running, pbx_port)


async def test_a_caller_presses_the_key_for_a_person_hears_of_a_busy_line_and_goes_on_with_the_agent(
    exchange: Exchange, tmp_path: Path
) -> None:
    async with phone(tmp_path, "alice", exchange.pbx_port) as alice:
        await alice.do("dial", exchange.agent)
        await alice.wait_told("CALL_ESTABLISHED")
        await alice.do("sndcode", "0")
        await alice.do("sndcode", "#")
        await alice.wait_heard(lambda pcm: len(loud_frames(pcm)) > 20)
        await quiet_after_speech(alice, 0, 2.5)
        await alice.do("hangup")
        await alice.wait_told("CALL_CLOSED")
        steps = await ended(exchange.server, 1)
    events = [event for event, _ in steps]
    assert [type(event) for event in events if isinstance(event, ev.PersonRequested | ev.TransferFailed)] == [
        ev.PersonRequested,
        ev.TransferFailed,
    ]
    heard = [action.heard for _, actions in steps for action in actions if isinstance(action, act.ReplyEnded)]
    assert heard == [WAIT, FAILED]
    assert not [action for _, actions in steps for action in actions if isinstance(action, act.Generate)]
    assert "was not transferred to desk: 486 Busy Here" in (tmp_path / "server.log").read_text()


async def test_a_machine_that_takes_a_call_over_sip_is_left_its_message_after_the_beep(
    exchange: Exchange,
    said: Said,
    tmp_path: Path,
) -> None:
    at_s = np.arange(RATE_HZ // 2) / RATE_HZ
    beep = np.round(6000 * np.sin(2 * np.pi * 1000 * at_s)).astype(np.int16)
    greeting = np.concatenate([await spoken(said, GREETING), np.zeros(RATE_HZ, np.int16), beep])
    async with phone(tmp_path, "bob", exchange.pbx_port, answers=True) as bob, aiohttp.ClientSession() as session:
        to = {"to": f"sip:bob@{HOST}:{exchange.pbx_port}"}
        async with session.post(f"{exchange.server.url}/v1/voiceagent/dial", json=to) as response:
            assert response.status == 201, await response.text()
        await bob.say(greeting)
        await bob.wait_told("CALL_CLOSED")
        steps = await ended(exchange.server, 1)
    heard = [action.heard for _, actions in steps for action in actions if isinstance(action, act.ReplyHeard)]
    assert heard[-1] == MESSAGE
    assert [action for _, actions in steps for action in actions if isinstance(action, act.End)] == [act.End("message_left")]
