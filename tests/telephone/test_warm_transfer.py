"""A caller is transferred to a colleague whom the agent calls first: real telephones (baresip), PBX (kamailio) and gateway
(Janus); the agent speaks in tones. Before them, what is relayed, mixed and heard by who waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.fakes import MakeService
from tests.telephone.sip_parts import Phone, phone, until
from tests.telephone.sip_world import GONE_HZ, LAST_WORDS_HZ, SUMMARY_HZ, SipTestCall, SipWorld, sip_world
from tests.telephone.tones import is_loud, level_at, tone
from voiceagent.audio import g711
from voiceagent.audio.format import PHONE_FRAME_SAMPLES
from voiceagent.media.rtp import RtpPacket
from voiceagent.server.http.app import CALLS
from voiceagent.settings.telephone import TransferTarget
from voiceagent.telephone.messages import Encoding
from voiceagent.telephone.sip.audio import PCMA, PCMU, LateEncoder, PhoneAudio, SipReceiver, mixed
from voiceagent.telephone.sip.janus_client import SIP_PATIENCE, SipPatience
from voiceagent.telephone.transfer.warm import (
    CALLER_GONE,
    FIRST_FRAMES,
    MAX_FRAMES,
    PERIOD_FRAMES,
    TONE_FRAMES,
    AudioRelay,
    ColleagueCall,
    WaitingTone,
)


def frame(value: int) -> NDArray[np.int16]:
    return np.full(PHONE_FRAME_SAMPLES, value, np.int16)


def test_a_relay_gathers_frames_first_and_again_when_it_has_run_dry() -> None:
    relay = AudioRelay()
    for _ in range(2):
        for number in range(FIRST_FRAMES):
            assert relay.take() is None
            relay.put(frame(number))
        taken = [relay.take() for _ in range(FIRST_FRAMES)]
        assert [each[0] for each in taken if each is not None] == list(range(FIRST_FRAMES))
        assert relay.take() is None


def test_a_relay_that_fills_up_drops_its_oldest_frames() -> None:
    relay = AudioRelay()
    for number in range(MAX_FRAMES + 1):
        relay.put(frame(number))
    assert relay.dropped == MAX_FRAMES + 1 - FIRST_FRAMES
    first = relay.take()
    assert first is not None
    assert first[0] == relay.dropped


def test_who_waits_hears_a_short_tone_now_and_then_and_never_over_a_voice() -> None:
    tone = WaitingTone()
    sounding = [tone.take(may_sound=True) is not None for _ in range(2 * PERIOD_FRAMES)]
    assert sounding == ([True] * TONE_FRAMES + [False] * (PERIOD_FRAMES - TONE_FRAMES)) * 2
    assert tone.take(may_sound=False) is None
    assert [tone.take(may_sound=True) for _ in range(PERIOD_FRAMES - TONE_FRAMES)] == [None] * (PERIOD_FRAMES - TONE_FRAMES)


def test_what_is_relayed_in_the_agents_silence_keeps_each_byte() -> None:
    payload = bytes(range(PHONE_FRAME_SAMPLES))
    for encoding in (Encoding.MULAW, Encoding.ALAW):
        is_alaw = encoding is Encoding.ALAW
        relayed = g711.decode(payload, alaw=is_alaw)
        encoder = LateEncoder(lambda voice: relayed)  # noqa: B023
        encoder.use(encoding)
        sent = encoder.encode(np.zeros(480, np.int16))
        assert (g711.decode(sent, alaw=is_alaw) == relayed).all()


def test_two_voices_that_are_loud_together_do_not_wrap() -> None:
    assert set(mixed(frame(30_000), frame(30_000))) == {32_767}
    assert set(mixed(frame(-30_000), frame(-30_000))) == {-32_768}


async def test_a_phone_that_goes_over_to_the_other_law_is_heard_on() -> None:
    heard: list[NDArray[np.int16]] = []
    receiver = SipReceiver(PhoneAudio(PCMU, 101), lambda pcm, at_ms, lost: heard.append(pcm), lambda key: None, 8_000)
    level = 8_031  # of both laws
    for number in range(20):
        law = PCMA if number >= 10 else PCMU
        payload = g711.encode(frame(level), alaw=law == PCMA)
        receiver.receive(RtpPacket(law, 0, number, number * PHONE_FRAME_SAMPLES, 1, payload))
    receiver.close()
    pcm = np.concatenate(heard)
    assert len(pcm) == 20 * PHONE_FRAME_SAMPLES
    assert (abs(pcm.astype(int) - level) < 300).all()
    assert receiver.counters["packets_lost"] == 0


CALLER_HZ, COLLEAGUE_HZ = 700, 1000
LOUD = 3000


def targets(world: SipWorld) -> dict[str, TransferTarget]:
    def warm(user: str, **settings: Any) -> TransferTarget:
        return TransferTarget(world.uri(user), "warm", **settings)

    return {
        "sales": warm("bob"),
        "support": warm("bob", accept_key="1", ring_timeout_s=1.0),
        "busy line": warm("busy"),
        "declining": warm("declines"),
        "nobody": warm("nobody"),
    }


@pytest.fixture
def patience() -> SipPatience:
    """The line's. A test that parametrizes this name sets its own."""
    return SIP_PATIENCE


@pytest.fixture
async def world(tmp_path: Path, make_service: MakeService, patience: SipPatience) -> AsyncIterator[SipWorld]:
    async with sip_world(tmp_path, make_service, transfers=targets, patience=patience) as made:
        made.echoes = False
        yield made


async def connected(world: SipWorld, caller: Phone) -> SipTestCall:
    """A call of the agent's with a caller."""
    await caller.do("dial", world.uri("agent"))
    await world.wait(lambda: bool(world.calls and world.calls[0].heard))
    return world.calls[0]


def told(call: SipTestCall) -> str:
    """How the last transfer went."""
    return call.transfers[-1] if call.transfers else ""


async def test_a_colleague_is_told_first_then_both_are_bridged_until_one_hangs_up(world: SipWorld, tmp_path: Path) -> None:
    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True) as bob,
    ):
        call = await connected(world, alice)
        await alice.say(tone(30.0, CALLER_HZ))
        await world.wait(lambda: level_at(np.concatenate(call.heard), CALLER_HZ, 16_000) > LOUD)
        call.transfer("sales")
        await bob.wait_heard(partial(is_loud, SUMMARY_HZ))
        await bob.say(tone(30.0, COLLEAGUE_HZ))
        for each in (alice, bob):
            await each.wait_heard(partial(is_loud, LAST_WORDS_HZ))
        await world.wait(lambda: bool(call.ended))
        assert call.ended == "transferred"
        assert call.transfers == [""]
        assert len(world.calls) == 1, "the agent has no call with the colleague"
        began = len(alice.heard()), len(bob.heard())
        await alice.wait_heard(lambda pcm: level_at(pcm[began[0] :], COLLEAGUE_HZ) > LOUD)
        await bob.wait_heard(lambda pcm: level_at(pcm[began[1] :], CALLER_HZ) > LOUD)
        assert level_at(alice.heard(), SUMMARY_HZ) < 500, "the caller hears nothing of what the colleague is told"
        await alice.do("sndcode", "5")
        await bob.wait_told("CALL_DTMF_START")
        await alice.do("hangup")
        await bob.wait_told("CALL_CLOSED")


@pytest.mark.parametrize("comfort_noise_dbov", [None, -50.0])
async def test_who_waits_hears_a_tone_and_is_not_heard_and_a_colleague_who_hangs_up_ends_both(
    tmp_path: Path,
    make_service: MakeService,
    comfort_noise_dbov: float | None,
) -> None:
    async with (
        sip_world(tmp_path, make_service, transfers=targets, comfort_noise_dbov=comfort_noise_dbov) as world,
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True) as bob,
    ):
        world.echoes, world.summary_s = False, 2.0
        call = await connected(world, alice)
        call.transfer("sales")
        await bob.wait_told("CALL_ESTABLISHED")
        heard = len(call.heard)
        await alice.say(tone(1.0, CALLER_HZ))
        await alice.wait_heard(lambda pcm: level_at(pcm, 425) > 500)
        await world.wait(lambda: bool(call.ended))
        assert not np.concatenate(call.heard[heard + 5 :]).any()
        assert level_at(bob.heard(), CALLER_HZ) < 500
        await bob.do("hangup")
        await alice.wait_told("CALL_CLOSED")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("busy line", "is busy (486 Busy Here)"),
        ("declining", "declined (603 Decline)"),
        ("nobody", "is an unknown number (404 Not Found)"),
    ],
)
async def test_a_colleague_who_does_not_take_the_call_is_told_and_the_caller_is_with_the_agent_again(
    world: SipWorld, tmp_path: Path, name: str, why: str
) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        call = await connected(world, alice)
        call.transfer(name)
        await world.wait(lambda: bool(call.transfers))
        assert why in told(call)
        await alice.say(tone(5.0, CALLER_HZ))
        await world.wait(lambda: level_at(np.concatenate(call.heard[-20:]), CALLER_HZ, 16_000) > LOUD)
        assert not call.ended


@pytest.mark.parametrize("patience", [SipPatience(accept_s=0.5)], ids=["impatient"])
async def test_a_colleague_who_does_not_answer_presses_no_key_declines_or_hangs_up_leaves_the_caller_with_the_agent(
    world: SipWorld, tmp_path: Path
) -> None:
    async def fails(why: str, after: int) -> None:
        await world.wait(lambda: len(call.transfers) > after)
        assert why in told(call)
        await bob.wait_told("CALL_CLOSED", after + 1)

    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port) as bob,
    ):
        call = await connected(world, alice)
        call.transfer("support")
        await fails("did not answer within 1 s", 0)
        answers = enumerate(("did not press 1", "they declined the call", "they hung up before they were connected"), 1)
        for after, why in answers:
            established = len(bob.told("CALL_ESTABLISHED"))
            call.transfer("support")
            await bob.wait_told("CALL_INCOMING", after + 1)
            await bob.do("accept")
            await bob.wait_told("CALL_ESTABLISHED", established + 1)
            if "declined" in why:
                await bob.do("sndcode", "2")
            elif "hung up" in why:
                await bob.do("hangup")
            await fails(why, after)
        call.transfer("support")
        await bob.wait_told("CALL_INCOMING", 5)
        await bob.do("accept")
        await bob.wait_told("CALL_ESTABLISHED", 4)
        await bob.do("sndcode", "1")
        await world.wait(lambda: call.ended == "transferred")


async def test_a_caller_who_hangs_up_ends_the_colleagues_call_and_an_answered_one_with_a_word(
    world: SipWorld, tmp_path: Path
) -> None:
    world.summary_s = 20.0
    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port) as bob,
    ):
        for number, is_answered in enumerate((False, True), 1):
            await alice.do("dial", world.uri("agent"))
            await world.wait(lambda: len(world.calls) == number and bool(world.calls[-1].heard))  # noqa: B023
            call = world.calls[-1]
            call.transfer("sales")
            await bob.wait_told("CALL_INCOMING", number)
            if is_answered:
                await bob.do("accept")
                await bob.wait_heard(partial(is_loud, SUMMARY_HZ))
            await alice.do("hangup")
            await bob.wait_told("CALL_CLOSED", number)
            await world.wait(lambda: call.ended == "hangup" and bool(call.transfers))  # noqa: B023
            assert told(call) == CALLER_GONE
            assert call.leg.has_hung_up_waiting
            assert is_loud(GONE_HZ, bob.heard()) == is_answered
        await until(lambda: not len(world.app[CALLS]))
        async with world.session.get(f"{world.url}/metrics") as response:
            assert 'voiceagent_calls_ended_total{reason="caller_hung_up"} 1' in await response.text()


@pytest.mark.parametrize("both", [False, True])
async def test_a_caller_who_hangs_up_while_the_accept_key_is_awaited_is_told_of_and_both_may_hang_up_at_once(
    world: SipWorld, tmp_path: Path, both: bool
) -> None:
    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True) as bob,
    ):
        call = await connected(world, alice)
        call.transfer("support")
        await bob.wait_heard(partial(is_loud, SUMMARY_HZ))
        await asyncio.gather(alice.do("hangup"), *([bob.do("hangup")] if both else []))
        await bob.wait_told("CALL_CLOSED")
        await world.wait(lambda: bool(call.transfers))
        assert told(call) in ((CALLER_GONE, "they hung up before they were connected.") if both else (CALLER_GONE,))
        assert both or is_loud(GONE_HZ, bob.heard())
        await until(lambda: not len(world.app[CALLS]))


async def test_a_call_that_gives_its_transfer_up_as_the_caller_hangs_up_leaves_the_colleague_with_a_word(
    world: SipWorld, tmp_path: Path
) -> None:
    world.summary_s = 20.0
    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True) as bob,
    ):
        call = await connected(world, alice)
        transfer = asyncio.ensure_future(call.transfer_to("sales"))
        await bob.wait_heard(partial(is_loud, SUMMARY_HZ))
        await alice.do("hangup")
        await asyncio.wait((call.leg.over,))
        transfer.cancel()
        await bob.wait_told("CALL_CLOSED")
        assert is_loud(GONE_HZ, bob.heard())


async def test_an_answering_machine_does_not_get_the_caller(world: SipWorld, tmp_path: Path) -> None:
    world.summary_s = 20.0
    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True) as bob,
    ):
        call = await connected(world, alice)
        call.transfer("sales")
        await bob.wait_told("CALL_ESTABLISHED")
        await bob.say(np.concatenate([np.zeros(4_000, np.int16), tone(0.5, 1400)]))
        await world.wait(lambda: "an answering machine took the call" in told(call))
        await bob.wait_told("CALL_CLOSED")
        assert not call.ended


async def test_a_caller_who_asks_for_a_person_is_bridged_with_one_who_is_called_first_or_is_the_agents_again(
    world: SipWorld, tmp_path: Path
) -> None:
    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True) as bob,
    ):
        call = await connected(world, alice)
        why = await call.transfer_to("busy line")
        assert "is busy (486 Busy Here)" in why
        assert "_" not in why
        await alice.say(tone(30.0, CALLER_HZ))
        await world.wait(lambda: level_at(np.concatenate(call.heard[-20:]), CALLER_HZ, 16_000) > LOUD)
        assert await call.transfer_to("sales") == ""
        await world.wait(lambda: call.ended == "transferred")
        began = len(bob.heard())
        await bob.wait_heard(lambda pcm: level_at(pcm[began:], CALLER_HZ) > LOUD)
        assert level_at(alice.heard(), SUMMARY_HZ) < 500
        await alice.do("hangup")
        await bob.wait_told("CALL_CLOSED")


async def test_a_transfer_that_is_given_up_as_both_are_bridged_leaves_them_bridged(
    world: SipWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge = ColleagueCall._bridge

    def bridged(colleague: ColleagueCall) -> None:
        bridge(colleague)
        transfer.cancel()

    monkeypatch.setattr(ColleagueCall, "_bridge", bridged)
    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True) as bob,
    ):
        call = await connected(world, alice)
        transfer = asyncio.ensure_future(call.transfer_to("sales"))
        await asyncio.wait((transfer,))
        await world.wait(lambda: call.ended == "transferred")
        await alice.say(tone(5.0, CALLER_HZ))
        began = len(bob.heard())
        await bob.wait_heard(lambda pcm: level_at(pcm[began:], CALLER_HZ) > LOUD)
        await bob.do("hangup")
        await alice.wait_told("CALL_CLOSED")


async def test_a_transfer_that_is_given_up_before_ends_the_colleagues_call(world: SipWorld, tmp_path: Path) -> None:
    world.summary_s = 20.0
    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True) as bob,
    ):
        call = await connected(world, alice)
        transfer = asyncio.ensure_future(call.transfer_to("sales"))
        await bob.wait_heard(partial(is_loud, SUMMARY_HZ))
        transfer.cancel()
        await bob.wait_told("CALL_CLOSED")
        assert not call.ended


async def test_a_killed_gateway_ends_a_transfer_and_both_telephones_that_are_bridged(world: SipWorld, tmp_path: Path) -> None:
    async with (
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True) as bob,
    ):
        call = await connected(world, alice)
        call.transfer("sales")
        await world.wait(lambda: call.ended == "transferred")
        await until(lambda: len(world.app[CALLS]) == 1)  # the bridged telephones keep one place
        await world.kill_janus()
        await world.app[CALLS].over()
        alice.kill()
        bob.kill()


async def test_a_transfer_without_a_free_line_is_told(tmp_path: Path, make_service: MakeService) -> None:
    async with (
        sip_world(tmp_path, make_service, transfers=targets, calls=2) as world,
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "carol", world.pbx_port) as carol,
    ):
        call = await connected(world, alice)
        await carol.do("dial", world.uri("agent"))
        await carol.wait_told("CALL_ESTABLISHED")
        call.transfer("sales")
        await world.wait(lambda: "All 2 lines are busy" in told(call))
