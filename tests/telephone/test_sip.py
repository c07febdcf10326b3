"""SIP calls through real parts on loopback: baresip as the phone, kamailio as the PBX, Janus as the gateway."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from tests.fakes import MakeService
from tests.programs import program
from tests.sdp import ports_of
from tests.speech import said
from tests.telephone.fed_call import FedCall, phone_call
from tests.telephone.logged_lines import Lines
from tests.telephone.sip_parts import HOST, RATE_HZ, phone
from tests.telephone.sip_world import SipWorld, sip_world
from tests.telephone.tones import is_loud, level_at, tone
from voiceagent.audio import voice_processing
from voiceagent.audio.levels import dbfs
from voiceagent.audio.resample import resample
from voiceagent.media.audio_cleaner import AudioCleaning
from voiceagent.media.webrtc.ports import ANY_PORT, MediaPorts
from voiceagent.server.calls.calls import StartCall
from voiceagent.server.http.app import CALLS
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.telephone import SipSettings, TelephonySettings, TransferTarget
from voiceagent.task_owner import TaskOwner
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.sip import janus_messages as janus
from voiceagent.telephone.sip.call import RINGS_S, CallRefused, SipCall
from voiceagent.telephone.sip.janus_client import JanusHandle
from voiceagent.telephone.sip.line import soonest
from voiceagent.telephone.sip.sip_leg import SipLeg
from voiceagent.tools.tool import RunScope, ToolError
from voiceagent.turn_taking.languages import LANGUAGES

KEYS = "0123456789*#"


@pytest.fixture
async def world(tmp_path: Path, make_service: MakeService) -> AsyncIterator[SipWorld]:
    async with sip_world(tmp_path, make_service, transfers={"sales": f"sip:bob@{HOST}"}, send_keys=True) as made:
        yield made


async def test_a_phone_calls_hears_itself_and_hangs_up(world: SipWorld, tmp_path: Path) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await alice.wait(lambda: bool(alice.told("CALL_ESTABLISHED")))
        await alice.say(tone(3.0, 700))
        await alice.wait_heard(lambda pcm: level_at(pcm, 700) > 4000)
        await alice.do("hangup")
        await world.wait(lambda: bool(world.calls and world.calls[0].ended))
    call = world.calls[0]
    assert call.ended == "hangup"
    assert level_at(np.concatenate(call.heard), 700, 16_000) > 4000
    assert call.leg.facts.caller == f"sip:alice@{HOST}:{world.pbx_port}"
    assert call.leg.counters["packets_lost"] == 0


@pytest.fixture
def slow_janus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has each Janus that starts now pause once it has told of a call."""
    pause, source = tmp_path / "pause.so", Path(__file__).with_name("slow_to_note_a_call.c")
    subprocess.run([program("cc", "gcc"), "-shared", "-fPIC", "-o", pause, source, "-ldl"], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(pause))


@pytest.mark.usefixtures("slow_janus")
async def test_a_call_is_answered_when_janus_tells_of_it_before_it_can_take_an_answer(world: SipWorld, tmp_path: Path) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await alice.wait_told("CALL_ESTABLISHED")
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))


async def test_what_a_trunk_says_of_a_diverted_call_is_known_on_each_line(world: SipWorld, tmp_path: Path) -> None:
    async with (
        phone(tmp_path, "diverted", world.pbx_port) as caller,
        phone(tmp_path / "other", "diverted", world.pbx_port) as other,
    ):
        for number, each in enumerate((caller, other), 1):
            await each.do("dial", world.uri("agent"))
            await world.wait(lambda: len(world.calls) == number)  # noqa: B023
    for call in world.calls:
        assert call.leg.facts.parameters == {
            "asserted_identity": "<sip:ann@pbx.test>",
            "diversion": "<sip:300@pbx.test>;reason=no-answer",
        }


async def test_the_agent_hangs_up_and_the_phone_is_told(world: SipWorld, tmp_path: Path) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await alice.wait(lambda: bool(alice.told("CALL_ESTABLISHED")))
        await world.wait(lambda: bool(world.calls))
        world.calls[0].hang_up("done")
        await alice.wait(lambda: bool(alice.told("CALL_CLOSED")))


async def test_a_caller_who_gives_up_before_the_call_is_taken_leaves_nothing(world: SipWorld, tmp_path: Path) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        for number in range(2):
            await alice.do("dial", world.uri("agent"))
            await alice.wait_told("CALL_LOCAL_SDP", number + 1)
            await alice.do("hangup")
            await alice.wait_told("CALL_CLOSED", number + 1)
        await alice.do("dial", world.uri("agent"))
        await alice.wait(lambda: bool(alice.told("CALL_ESTABLISHED")))


async def test_calls_in_and_out_take_ports_of_the_range_and_nobody_else_gets_one(
    tmp_path: Path,
    make_service: MakeService,
) -> None:
    ports = MediaPorts(range(43_000, 43_001), HOST)
    async with sip_world(tmp_path, make_service, ports=ports) as world, AsyncExitStack() as stack:
        alice = await stack.enter_async_context(phone(tmp_path, "alice", world.pbx_port))
        bob = await stack.enter_async_context(phone(tmp_path, "bob", world.pbx_port, answers=True))
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: len(world.calls) == 1)
        await alice.wait_told("CALL_ESTABLISHED")
        assert ports_of(world.calls[0].leg.local_sdp) == {(HOST, 43_000)}
        status, problem = await world.dial(world.uri("bob"))
        assert (status, problem["error"]["code"]) == (503, "no_media_port")
        world.calls[0].hang_up("done")
        await world.app[CALLS].over()
        status, _ = await world.dial(world.uri("bob"))
        assert status < 300
        await world.wait(lambda: len(world.calls) == 2)
        await bob.wait_told("CALL_ESTABLISHED")
        assert ports_of(world.calls[1].leg.local_sdp) == {(HOST, 43_000)}


async def test_three_calls_are_up_at_once_and_a_fourth_hears_busy(world: SipWorld, tmp_path: Path) -> None:
    names = ("alice", "carol", "dave", "erin")
    async with AsyncExitStack() as stack:
        phones = [await stack.enter_async_context(phone(tmp_path, name, world.pbx_port)) for name in names]
        for number, each in enumerate(phones[:3]):
            await each.do("dial", world.uri("agent"))
            await each.wait_told("CALL_ESTABLISHED")
            await each.say(tone(5.0, 500 + 200 * number))
        for number, each in enumerate(phones[:3]):
            heard = await each.wait_heard(partial(is_loud, 500 + 200 * number))
            assert all(level_at(heard, 500 + 200 * other) < 1000 for other in range(3) if other != number)
        await phones[3].do("dial", world.uri("agent"))
        await phones[3].wait(lambda: bool(phones[3].told("CALL_CLOSED")))
        assert "486" in phones[3].told("CALL_CLOSED")[0]["param"]
        before = [len(call.heard) for call in world.calls]
        await world.wait(lambda: all(len(call.heard) > of + 20 for call, of in zip(world.calls, before, strict=True)))
        assert not any(call.ended for call in world.calls)


async def test_a_caller_who_rings_on_a_line_that_was_just_taken_for_a_call_of_ours_hears_busy(
    world: SipWorld, tmp_path: Path, lines: Lines
) -> None:
    for line in world.line._lines:
        line.reserve(places=True)
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await alice.wait(lambda: bool(alice.told("CALL_CLOSED")))
        assert "486" in alice.told("CALL_CLOSED")[0]["param"]
        await lines.wait("its line was just taken for a call that is being made")
        assert all(line.places for line in world.line._lines), "they are still kept for the call that is being made"
        for line in world.line._lines:
            line.free()
        await alice.do("dial", world.uri("agent"))
        await alice.wait_told("CALL_ESTABLISHED")


async def no_colleague(target: TransferTarget, start_call: StartCall) -> str:
    return ""


def test_a_call_of_ours_leaves_the_line_that_takes_the_next_caller_alone() -> None:
    settings = SipSettings("sip:agent@pbx.example.org")
    first, second, third = lines = [SipCall(settings, ANY_PORT, TaskOwner(), no_colleague) for _ in range(3)]
    assert soonest(lines, first, 100.0) is second
    second.freed_s = 99.95
    assert soonest(lines, first, 100.0) is third
    assert soonest([first, second], first, 100.0) is first, "Janus still resets the other one"


class Gateway:
    """Keeps when it was sent what."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, float]] = []

    async def send(self, request: janus.Request) -> None:
        self.sent.append((str(request.body["request"]), asyncio.get_running_loop().time()))


async def test_a_refusal_waits_until_janus_can_send_it_and_a_call_of_ours_waits_for_the_refusal() -> None:
    call = SipCall(SipSettings("sip:agent@pbx.example.org"), ANY_PORT, TaskOwner(), no_colleague)
    gateway = Gateway()
    call.handle = cast("JanusHandle", gateway)
    call.rang()
    rang_s = asyncio.get_running_loop().time()
    refusal = asyncio.create_task(call.decline(janus.BUSY))
    await asyncio.sleep(0)
    with pytest.raises(CallRefused, match="did not answer"):
        await call.dial("sip:bob@pbx.example.org", 2 * RINGS_S)
    await refusal
    assert [request for request, _ in gateway.sent] == ["decline", "call", "hangup"]
    assert gateway.sent[0][1] >= rang_s + RINGS_S - 0.01, "else Janus would lose it, and the caller would hear it ring on"


async def test_the_echo_of_a_telephones_loudspeaker_is_cancelled(world: SipWorld, tmp_path: Path) -> None:
    voice_processing.load()  # as the server does when it starts: it takes a quarter of a second
    async with phone(tmp_path, "alice", world.pbx_port, echoes=True) as alice:
        world.echoes = False
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        call = world.calls[0]
        call.leg.cleaner.use(AudioCleaning(echo_cancellation=True))
        agent = np.asarray(
            resample(
                said("Your order left our warehouse on Monday morning, and the driver tried to deliver it twice."), 16_000, 24_000
            )
        )
        assert max([await echo_cancelled_db(world, agent, reply) for reply in range(2, 5)]) > 10


async def echo_cancelled_db(world: SipWorld, agent: np.ndarray, reply: int) -> float:
    """By how much the echo of what the agent says is softer once it was cleaned. The machine may hold the phone up meanwhile, and
    then its echo comes at another time: so it is said more than once."""
    call = world.calls[0]
    before = len(call.cleaned)
    call.say(agent, reply)
    await world.wait(lambda: (len(call.cleaned) - before) * 0.02 > len(agent) / 24_000 + 0.5)
    frames = len(call.cleaned) - before
    heard = dbfs(np.concatenate(call.heard[-frames:]))
    assert heard > -40
    return heard - dbfs(np.concatenate(call.cleaned[before:]))


async def test_keys_go_both_ways(world: SipWorld, tmp_path: Path) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await alice.wait(lambda: bool(alice.told("CALL_ESTABLISHED")))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        call = world.calls[0]
        await alice.do("sndcode", "42")
        await alice.do("sndcode", "#")
        await world.wait(lambda: len(call.typed) >= 3)
        assert call.typed[0] == {"type": "output_audio_buffer.clear"}, "the first key stops the agent's voice"
        assert call.typed[1]["item"]["content"] == [{"type": "input_text", "text": "42"}]
        assert call.typed[2] == {"type": "response.create"}
        call.leg.press(KEYS)
        await alice.wait_told("CALL_DTMF_START", len(KEYS))
        assert "".join(event["param"] for event in alice.told("CALL_DTMF_START")) == KEYS


async def test_the_agent_calls_a_phone_that_takes_the_call(world: SipWorld, tmp_path: Path) -> None:
    async with phone(tmp_path, "bob", world.pbx_port, answers=True) as bob:
        status, told = await world.dial(world.uri("bob"), instructions="Ask for the order's number.")
        assert status == 201, told
        call = world.calls[0]
        assert call.session["instructions"] == "Ask for the order's number."
        call.say(resample(tone(2.0, 900), RATE_HZ, 24_000))
        await bob.wait_heard(lambda pcm: level_at(pcm, 900) > 4000)
        call.leg.press("19")
        await bob.wait(lambda: len(bob.told("CALL_DTMF_START")) == 2)
        await bob.do("hangup")
        await world.wait(lambda: bool(call.ended))
        assert call.ended == "hangup"


async def test_the_agent_finds_its_way_through_a_menu_by_keys_with_pauses(world: SipWorld, tmp_path: Path) -> None:
    """The menu beeps for each key that it hears, the higher the more keys."""
    async with phone(tmp_path, "bob", world.pbx_port, answers=True) as bob:
        assert (await world.dial(world.uri("bob")))[0] == 201
        call = world.calls[0]
        call.echoes = False
        call.leg.press("1w2")
        await bob.wait(lambda: len(bob.told("CALL_DTMF_START")) == 2)
        assert [event["param"] for event in bob.told("CALL_DTMF_START")] == ["1", "2"]
        await bob.say(tone(2.0, 1200))
        await world.wait(lambda: level_at(np.concatenate(call.heard), 1200, 16_000) > 4000)
        call.leg.press("ww#")
        await bob.wait(lambda: len(bob.told("CALL_DTMF_START")) == 3)
        await bob.say(tone(2.0, 500))
        await world.wait(lambda: level_at(np.concatenate(call.heard[-50:]), 500, 16_000) > 4000)
        with pytest.raises(ValueError, match="keys are 'x', expected some of"):
            call.leg.press("x")


async def test_a_line_puts_a_caller_through_or_tells_the_language_model_why_not_and_the_call_goes_on(
    tmp_path: Path,
    make_service: MakeService,
) -> None:
    transfers = {"sales": "sip:bob@pbx.test", "desk": "sip:busy@pbx.test"}
    async with (
        sip_world(tmp_path, make_service, transfers=transfers) as world,
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port) as bob,
    ):
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        call, scope = world.calls[0], RunScope()
        assert await call.transfer_to("nobody") == "there is nobody called 'nobody'"
        settings = TelephonySettings(sip=SipSettings("sip:agent@pbx.test"), transfers=transfers)
        phone_of_call = phone_call(AgentConfig(telephony=settings), call.leg)
        (tool,) = phone_of_call.tools
        for feature in phone_of_call.features:
            feature.begin(FedCall())
        with pytest.raises(ToolError, match="The transfer to desk failed: 486 Busy Here"):
            await tool.run(tool.parse('{"to": "desk"}'), scope)
        heard = len(call.heard)
        await world.wait(lambda: len(call.heard) > heard + 20)
        assert not call.ended
        transferring = asyncio.create_task(tool.run(tool.parse('{"to": "sales"}'), scope))
        await bob.wait_told("CALL_INCOMING")
        asked_meanwhile = asyncio.ensure_future(call.transfer_to("desk"))
        await bob.do("accept")
        await world.wait(lambda: call.ended == "transferred")
        assert await transferring == {"status": "transferred"}
        assert await asked_meanwhile == "", "it is one transfer"
        await alice.wait_told("CALL_ESTABLISHED", 2)
        assert not call.typed


async def test_the_tools_of_a_line_are_those_of_its_settings(world: SipWorld, tmp_path: Path) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        settings = TelephonySettings(sip=SipSettings("sip:agent@pbx.test"), transfers={"sales": "+15550100"}, send_keys=True)
        agent = AgentConfig(language="de", telephony=settings)
        transfer, press_keys = phone_call(agent, world.calls[0].leg).tools
        assert (transfer.name, transfer.description) == ("transfer", LANGUAGES["de"].phone.transfer)
        assert (press_keys.name, press_keys.description) == ("press_keys", LANGUAGES["de"].phone.press_keys)
        assert await press_keys.run(press_keys.parse('{"keys": "4"}'), RunScope()) == {"status": "pressed"}
        await alice.wait_told("CALL_DTMF_START")
        with pytest.raises(ToolError):
            transfer.parse('{"to": "desk"}')


@pytest.mark.parametrize(
    ("user", "status", "code", "why"),
    [
        ("busy", 409, "busy", "is busy (486 Busy Here)"),
        ("declines", 409, "declined", "declined (603 Decline)"),
        ("nobody", 404, "unknown_number", "is an unknown number (404 Not Found)"),
    ],
)
async def test_a_call_that_does_not_come_about_is_told_in_one_line(
    world: SipWorld, user: str, status: int, code: str, why: str
) -> None:
    got, told = await world.dial(world.uri(user))
    assert (got, told["error"]["code"]) == (status, code)
    assert told["error"]["message"] == f"{world.uri(user)} {why}."
    again, told = await world.dial(world.uri(user))
    assert again == status, f"its line is free again: {told}"
    assert not world.calls
    facts = CallFacts(world.uri("agent"), world.uri(user), outbound=True)
    assert world.unanswered == [(facts, code), (facts, code)]


async def test_a_phone_that_nobody_takes_up_is_given_up(tmp_path: Path, make_service: MakeService) -> None:
    async with (
        sip_world(tmp_path, make_service, ring_timeout_s=1.0) as world,
        phone(tmp_path, "bob", world.pbx_port) as bob,
    ):
        status, told = await world.dial(world.uri("bob"))
        assert (status, told["error"]["code"]) == (409, "no_answer")
        assert told["error"]["message"] == f"{world.uri('bob')} did not answer within 1 s."
        assert [reason for _, reason in world.unanswered] == ["no_answer"]
        await bob.wait(lambda: bool(bob.told("CALL_CLOSED")))


async def test_a_wrong_password_is_one_line_that_names_its_variable(
    tmp_path: Path,
    make_service: MakeService,
    lines: Lines,
) -> None:
    async with sip_world(tmp_path, make_service, password="wrong") as world:
        told = await lines.wait("refused our user or password")
        assert "$VOICEAGENT_SIP_PASSWORD" in told
        assert "wrong" not in told
        assert not world.line.registered.is_set()


async def test_a_wrong_secret_of_the_gateway_is_one_line(
    tmp_path: Path,
    make_service: MakeService,
    lines: Lines,
) -> None:
    async with sip_world(tmp_path, make_service, secret="wrong"):
        assert "Janus refuses our secret" in await lines.wait("Janus")


@pytest.mark.parametrize("level_dbov", [-60.0, None], ids=["on", "off"])
async def test_a_phone_hears_comfort_noise_while_nobody_speaks_or_silence_where_it_is_off(
    tmp_path: Path,
    make_service: MakeService,
    level_dbov: float | None,
) -> None:
    async with sip_world(tmp_path, make_service, comfort_noise_dbov=level_dbov) as world:
        world.echoes = False
        async with phone(tmp_path, "alice", world.pbx_port) as alice:
            await alice.do("dial", world.uri("agent"))
            heard = (await alice.wait_heard(lambda pcm: len(pcm) > RATE_HZ))[RATE_HZ // 2 :]
    assert dbfs(heard) == pytest.approx(level_dbov, abs=2) if level_dbov else dbfs(heard) < -80


async def test_a_phone_holds_the_call_in_mid_reply_and_the_reply_goes_on(world: SipWorld, tmp_path: Path, lines: Lines) -> None:
    world.echoes = False
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        call = world.calls[0]
        call.say(tone(4.0, 900, 24_000))
        await world.wait(lambda: len(call.sent) > 50)
        await alice.do("hold")
        await lines.wait("is on hold")
        held_at = len(call.sent)
        heard = len(call.heard)
        await world.wait(lambda: len(call.heard) > heard + 50)
        assert len(call.sent) <= held_at + 1
        assert not np.concatenate(call.heard[heard + 1 :]).any(), "what is played to us on hold is not heard"
        await alice.do("resume")
        await lines.wait("goes on")
        await world.wait(lambda: bool(call.sent) and call.sent[-1][2] >= 4000.0)
        await alice.do("hangup")
        await world.wait(lambda: call.ended == "hangup")


async def test_a_phone_that_hangs_up_is_not_lost_if_its_audio_ends_before_the_gateways_word_comes(
    world: SipWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        leg = world.calls[0].leg
        assert isinstance(leg, SipLeg)
        end, closed, gone = leg.end, leg.closed_by_gateway, asyncio.Event()

        async def bring(reason: str) -> None:
            await gone.wait()
            end(reason)

        def close() -> None:
            closed()
            gone.set()

        bringing: list[asyncio.Task[None]] = []
        monkeypatch.setattr(leg, "end", lambda reason: bringing.append(asyncio.create_task(bring(reason))))
        monkeypatch.setattr(leg, "closed_by_gateway", close)
        await alice.do("hangup")
        await world.wait(lambda: bool(world.calls[0].ended))
        assert world.calls[0].ended == "hangup"


async def test_a_killed_gateway_ends_its_calls_and_is_taken_up_again_when_it_is_back(
    world: SipWorld, tmp_path: Path, lines: Lines
) -> None:
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        await world.kill_janus()
        await world.wait(lambda: bool(world.calls[0].ended))
        assert world.calls[0].ended == "lost"
        await lines.wait("the connection to Janus was closed")
        await lines.wait("Janus does not answer")
        await alice.do("hangup")
        status, told = await world.dial(world.uri("bob"))
        assert (status, told["error"]["code"]) == (503, "no_line")
        await world.begin_janus()
        await lines.wait("is registered again")
        assert sum("Janus does not answer" in line for line in lines.lines) == 1
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: len(world.calls) == 2)


async def test_a_lost_trunk_is_told_once_and_registered_with_again_when_it_is_back(
    world: SipWorld, tmp_path: Path, lines: Lines
) -> None:
    await world.end_pbx()
    assert "check telephony.sip.proxy" in await lines.wait("the trunk or PBX does not answer", 60)
    await world.begin_pbx()
    await lines.wait("is registered again", 60)
    assert sum("does not answer" in line for line in lines.lines) == 1
    async with phone(tmp_path, "alice", world.pbx_port) as alice:
        await alice.do("dial", world.uri("agent"))
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
