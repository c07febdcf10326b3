"""SIP calls whose phone, or whose gateway, vanishes without a word: each part is stopped in the middle of a call."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from tests.fakes import MakeService
from tests.telephone.logged_lines import Lines
from tests.telephone.sip_parts import phone
from tests.telephone.sip_world import SipWorld, sip_world
from tests.telephone.tones import is_loud, tone
from voiceagent.telephone.sip.janus_client import SipPatience


@pytest.fixture
async def world(tmp_path: Path, make_service: MakeService) -> AsyncIterator[SipWorld]:
    patience = SipPatience(connect_s=1.0, answer_s=1.0, keepalive_s=0.3, silence_s=1.5)
    async with sip_world(tmp_path, make_service, patience=patience) as made:
        yield made


async def test_a_call_whose_phone_vanishes_is_lost_and_its_line_is_free_again(
    world: SipWorld,
    tmp_path: Path,
    lines: Lines,
) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        alice.process.send_signal(signal.SIGSTOP)  # a killed one's port answers that it is closed
        try:
            await world.wait(lambda: bool(world.calls[0].ended))
        finally:
            alice.process.send_signal(signal.SIGCONT)
        assert world.calls[0].ended == "lost"
        assert f"a call with {world.uri('alice')} is lost: no audio came" in await lines.wait("is lost")
        await alice.wait_told("CALL_CLOSED")


async def test_a_call_that_is_held_for_long_is_not_lost(world: SipWorld, tmp_path: Path, lines: Lines) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        call = world.calls[0]
        await alice.do("hold")
        await lines.wait("is on hold")
        heard = len(call.heard)
        await world.wait(lambda: len(call.heard) > heard + 100)
        await alice.do("resume")
        await lines.wait("goes on")
        heard = len(call.heard)
        await world.wait(lambda: len(call.heard) > heard + 20)
        assert not call.ended


async def test_a_stalled_gateway_ends_its_calls_is_told_once_and_is_taken_up_again(
    world: SipWorld,
    tmp_path: Path,
    lines: Lines,
) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        with world.stalled_janus():
            await world.wait(lambda: bool(world.calls[0].ended))
            assert world.calls[0].ended == "lost"
            await lines.wait("Janus does not answer (no answer)")
            status, told = await world.dial(world.uri("bob"))
            assert (status, told["error"]["code"]) == (503, "no_line")
        await lines.wait("is registered again")
        assert sum("Janus does not answer" in line for line in lines.lines) == 1
        await alice.wait_told("CALL_CLOSED")
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: len(world.calls) == 2 and bool(world.calls[1].heard))


async def test_a_call_goes_on_when_the_trunk_dies_and_a_hang_up_that_cannot_be_told_ends_it_as_lost(
    world: SipWorld, tmp_path: Path
) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        call = world.calls[0]
        await world.end_pbx()
        await alice.say(tone(5.0, 700))
        await alice.wait_heard(partial(is_loud, 700))
        assert not call.ended
        await alice.do("hangup")
        await world.wait(lambda: call.ended == "lost")
        alice.kill()
