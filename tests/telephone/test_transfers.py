"""Transfers of vendors' calls: the stream ends, the vendor asks what follows, dials, and tells how that went. By peers that are
written from the vendors' documents."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import aiohttp
import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.fakes import MakeService
from tests.telephone.conftest import EchoCall, EchoServer
from tests.telephone.fed_call import FedCall, phone_call
from tests.telephone.peers import (
    CALLER,
    PUBLIC_URL,
    SECRETS,
    Peer,
    after_path,
    after_stream,
    ask,
    environment,
    stream_path,
    webhook,
)
from voiceagent.conversation import actions as act
from voiceagent.media.leg import Leg
from voiceagent.server.calls.calls import CallHandle, StartCall
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.telephone import SipSettings, TelephonySettings, with_shared
from voiceagent.telephone.features.key_tools import PressKeys
from voiceagent.telephone.features.recording import Recordings
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.streams.stream_leg import StreamLeg
from voiceagent.telephone.streams.vendors import VENDORS, Telephone
from voiceagent.telephone.transfer.feature import TransferFeature
from voiceagent.telephone.transfer.stream_transfers import DIALLED_S, MAX_OPEN, VALID_S, StreamTransfers
from voiceagent.tools.tool import RunScope, ToolError
from voiceagent.turn_taking.languages import LANGUAGES

TARGETS = {"sales": "+15550123", "desk": "sip:200@pbx.example.org"}
NOBODY_BRIEFS = cast(Any, None)
"""A vendor's transfer is blind."""
OUTCOMES = {
    "twilio": "DialCallStatus",
    "signalwire": "DialCallStatus",
    "telnyx": "DialCallStatus",
    "plivo": "DialStatus",
    "jambonz": "dial_call_status",
}


@pytest.fixture
async def transferring(make_service: MakeService) -> AsyncIterator[EchoServer]:
    """Takes calls of all vendors, whose calls may be transferred."""
    calls: list[EchoCall] = []
    servers: list[EchoServer] = []

    def start_call(leg: Leg, call_id: str, session: dict[str, Any]) -> CallHandle:
        assert isinstance(leg, StreamLeg)
        calls.append(EchoCall(leg, echoes=True))
        servers[0].begun.set()
        return calls[-1]

    @asynccontextmanager
    async def load() -> AsyncIterator[StartCall]:
        yield start_call

    telephone = Telephone.from_settings(TelephonySettings(tuple(SECRETS), PUBLIC_URL, transfers=TARGETS), environment())
    app = make_app(make_service(load=load, telephone=telephone))
    async with TestClient(TestServer(app)) as client, aiohttp.ClientSession() as session:
        await app[READINESS].wait()
        servers.append(EchoServer(client, session, calls, app))
        yield servers[0]


async def called(server: EchoServer, peer: Peer) -> StreamLeg:
    await asyncio.wait_for(server.begun.wait(), 5)
    server.begun.clear()
    return server.calls[-1].leg


def dialled(answer: str, target: str) -> bool:
    if answer.startswith("["):
        (verb,) = json.loads(answer)
        whom = {"type": "phone", "number": target} if target.startswith("+") else {"type": "sip", "sipUri": target}
        return bool(verb["verb"] == "dial" and verb["target"] == [whom])
    return "<Dial " in answer and f">{target}</" in answer


def hangs_up(answer: str) -> bool:
    return answer == '[{"verb": "hangup"}]' or answer.endswith("<Response><Hangup/></Response>")


@pytest.mark.parametrize("vendor", OUTCOMES)
async def test_a_call_is_transferred_by_what_follows_its_stream(transferring: EchoServer, vendor: str) -> None:
    session, url = transferring.session, transferring.url
    async with Peer(session, url, vendor) as peer:
        leg = await called(transferring, peer)
        assert await leg.transfer("nobody", NOBODY_BRIEFS) == "there is nobody called 'nobody'"
        assert leg.end_reason == ""
        assert await leg.transfer("desk" if vendor == "twilio" else "sales", NOBODY_BRIEFS) == ""
        await peer.wait(lambda: peer.close_code is not None)
    after = after_path(peer.answer)
    status, answer = await ask(session, url, after_stream(vendor, after))
    assert status == 200
    assert dialled(answer, TARGETS["desk" if vendor == "twilio" else "sales"]), answer
    assert after_path(answer) == after, "who dials tells there how it went"
    assert (await ask(session, url, after_stream(vendor, after)))[1] == answer, "who asks again is told the same"
    assert (await ask(session, url, replace(after_stream(vendor, after), headers={})))[0] == 403
    status, answer = await ask(session, url, after_stream(vendor, after, **{OUTCOMES[vendor]: "completed"}))
    assert (status, hangs_up(answer)) == (200, True)
    assert transferring.calls[0].ended == "transferred"


@pytest.mark.parametrize("vendor", OUTCOMES)
async def test_a_caller_whom_nobody_takes_over_is_the_agents_again(transferring: EchoServer, vendor: str) -> None:
    session, url = transferring.session, transferring.url
    async with Peer(session, url, vendor, query="shop=Bonn") as peer:
        leg = await called(transferring, peer)
        await leg.transfer("sales", NOBODY_BRIEFS)
        await peer.wait(lambda: peer.close_code is not None)
    after = after_path(peer.answer)
    await ask(session, url, after_stream(vendor, after))
    status, answer = await ask(session, url, after_stream(vendor, after, **{OUTCOMES[vendor]: "busy"}))
    assert status == 200
    repeated = after_stream(vendor, after, **{OUTCOMES[vendor]: "busy"})
    assert (await ask(session, url, repeated))[1] == answer, "who asks again is told the same"
    async with Peer(session, url, vendor, answer=answer):
        again = await called(transferring, peer)
        signed = {"shop": "Bonn"} if VENDORS[vendor].signs_query else {}
        assert (again.facts.comes_back, again.facts.caller, again.facts.parameters) == (True, CALLER, signed)
        assert hangs_up((await ask(session, url, repeated))[1]), "no second stream"
    status, answer = await ask(session, url, after_stream(vendor, after_path(answer)))
    assert (status, hangs_up(answer)) == (200, True)


async def test_a_caller_who_has_refused_to_be_recorded_is_not_when_the_call_comes_back(
    transferring: EchoServer, tmp_path: Path
) -> None:
    recording = {"folder": "kept", "announcement": "This call is recorded.", "may_refuse": True}
    agent = msgspec.convert({"name": "a", "instructions": "", "telephony": {"recording": recording}}, AgentConfig)
    recordings = Recordings(agent.telephony.recording, str(tmp_path))
    session, url = transferring.session, transferring.url
    async with Peer(session, url, "twilio") as peer:
        leg = await called(transferring, peer)
        made = phone_call(agent, leg, recordings)
        assert str(made.agent.phrases.text("greeting")).startswith("This call is recorded.")
        await peer.press("9#")
        await peer.wait(lambda: leg.facts.refuses_recording)
        await leg.transfer("sales", NOBODY_BRIEFS)
        await peer.wait(lambda: peer.close_code is not None)
        await made.leg.close()
    await recordings.close()
    after = after_path(peer.answer)
    await ask(session, url, after_stream("twilio", after))
    _, answer = await ask(session, url, after_stream("twilio", after, DialCallStatus="busy"))
    async with Peer(session, url, "twilio", answer=answer):
        again = await called(transferring, peer)
        made = phone_call(agent, again, recordings)
        assert made.leg is again
        assert "recorded" not in str(made.agent.phrases.text("greeting"))


@pytest.mark.parametrize("vendor", OUTCOMES)
async def test_a_call_that_ends_otherwise_or_is_unknown_is_hung_up(transferring: EchoServer, vendor: str) -> None:
    session, url = transferring.session, transferring.url
    async with Peer(session, url, vendor) as peer:
        await called(transferring, peer)
    for path in (after_path(peer.answer), after_path(peer.answer), f"/telephony/{vendor}/after/unknown"):
        status, answer = await ask(session, url, after_stream(vendor, path))
        assert (status, hangs_up(answer)) == (200, True)


@pytest.mark.parametrize("vendor", ["exotel", "vonage"])
async def test_vendors_that_do_not_ask_what_follows_cannot_transfer(transferring: EchoServer, vendor: str) -> None:
    async with Peer(transferring.session, transferring.url, vendor) as peer:
        leg = await called(transferring, peer)
        assert not leg.can_transfer
    status, answer = await ask(
        transferring.session, transferring.url, replace(webhook(vendor), path=f"/telephony/{vendor}/after/x")
    )
    assert status == 404
    assert f"Calls of {vendor} cannot be transferred." in answer


async def test_without_somebody_to_transfer_to_nothing_follows_a_stream(echo: EchoServer) -> None:
    status, answer = await ask(echo.session, echo.url, webhook("twilio"))
    assert status == 200
    assert "action=" not in answer
    assert stream_path(answer)


def test_what_follows_is_forgotten_in_time_and_is_never_more_than_its_limit() -> None:
    transfers, facts = StreamTransfers(), CallFacts()
    transfers.expect("long", "twilio", facts, 0.0)
    transfers.began("long")
    for number in range(MAX_OPEN + 10):
        transfers.expect(str(number), "twilio", facts, 1.0)
    assert not transfers.dial("0", "+15550123"), "the oldest goes"
    assert transfers.dial("long", "+15550123"), "one with a stream stays"
    assert transfers.find("long", "telnyx", 2.0) is None, "of another vendor"
    assert transfers.find("long", "twilio", VALID_S * 100) is not None, "however long it streams"
    transfers.dialled("long", 1.0)
    transfers.ended("long", 1.5)  # a vendor asked before its stream was over
    assert transfers.find("long", "twilio", 1.0 + DIALLED_S) is not None
    assert transfers.find("long", "twilio", 2.0 + DIALLED_S) is None
    assert transfers.find("50", "twilio", 2.0 + VALID_S) is None
    transfers.expect("new", "twilio", facts, 2.0 + VALID_S)
    assert transfers.find("60", "twilio", 2.0) is None, "what is too old is forgotten"


def test_a_sip_line_transfers_to_those_of_all_lines_and_to_its_own() -> None:
    sip = SipSettings("sip:agent@pbx.example.org:5070;transport=udp", transfers={"desk": "sip:7@pbx.example.org"})
    assert with_shared(sip, TARGETS, send_keys=False).transfers == {
        "sales": "sip:+15550123@pbx.example.org:5070",
        "desk": "sip:7@pbx.example.org",
    }


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"transfers": {"sales": "5550123"}}, r"transfers.sales is '5550123', expected a SIP address such as \+1555"),
        ({"transfers": {"a|b": "+15550123"}}, "transfers has 'a|b', expected a name"),
        ({"human": {"transfer": "sales"}}, "human.transfer is 'sales', expected one of transfers: there are none"),
        ({"transfers": TARGETS, "human": {"transfer": "you"}}, "human.transfer is 'you', expected one of transfers: sales, desk"),
        ({"transfers": TARGETS, "vendors": ["vonage"]}, "transfers needs a line that can transfer: sip, or a vendor of twilio, "),
        (
            {
                "transfers": TARGETS,
                "human": {"transfer": "own"},
                "sip": {"account": "sip:a@pbx.test", "transfers": {"own": "sip:1@b"}},
            },
            "human.transfer is 'own', which only sip knows; expected one of transfers",
        ),
        (
            {"transfers": TARGETS, "human": {"transfer": "desk", "key": "9"}, "recording": {"may_refuse": True}},
            "recording.refuse_key is '9', and so is human.key",
        ),
        ({"human": {"key": "#"}}, "Expected `str` matching regex"),
    ],
)
def test_a_transfer_that_cannot_be_is_refused_at_the_start(settings: dict[str, Any], problem: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=problem.replace("|b", r"\|b")):
        msgspec.convert({"vendors": ["twilio"], "url": PUBLIC_URL, **settings}, TelephonySettings)


async def test_a_vendor_that_can_presses_keys_with_pauses_and_others_offer_no_tool_for_it(transferring: EchoServer) -> None:
    async with Peer(transferring.session, transferring.url, "plivo") as peer:
        leg = await called(transferring, peer)
        assert leg.presses_keys
        tool = PressKeys(leg.press, "Press.")
        began_s = asyncio.get_running_loop().time()
        scope = RunScope()
        assert await tool.run(tool.parse('{"keys": "1w23#"}'), scope) == {"status": "pressed"}
        await peer.wait(lambda: peer.keys == ["1", "23#"])
        assert asyncio.get_running_loop().time() - began_s >= 0.5
        with pytest.raises(ToolError, match="keys are 'x', expected some of"):
            await tool.run({"keys": "x"}, scope)
    async with Peer(transferring.session, transferring.url, "twilio") as peer:
        assert not (await called(transferring, peer)).presses_keys


async def test_the_language_model_transfers_a_caller_once_its_reply_is_over(transferring: EchoServer) -> None:
    settings = TelephonySettings(transfers=TARGETS, vendors=("twilio",), url=PUBLIC_URL)
    async with Peer(transferring.session, transferring.url, "twilio") as peer, asyncio.TaskGroup() as group:
        leg = await called(transferring, peer)
        feature = TransferFeature(leg, AgentConfig(telephony=settings), cast(Any, None))
        feature.begin(FedCall(group))
        (tool,) = feature.tools()
        assert await tool.run(tool.parse('{"to": "desk"}'), RunScope()) == {"status": LANGUAGES["en"].phone.transferring}
        feature.carry_out(act.ReplyStarted(1, 1))
        await asyncio.sleep(0)
        assert not leg.end_reason, "not before the agent has said so"
        feature.carry_out(act.ReplyEnded(1, "completed", "I transfer you.", ""))
        await peer.wait(lambda: peer.close_code is not None)
        assert transferring.calls[-1].leg.end_reason == "transferred"
        with pytest.raises(ToolError):
            tool.parse('{"to": "you"}')
