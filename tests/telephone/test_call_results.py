"""Call results reach the operator's server: signed, tried again, bounded, and without a word of what was said unless it is asked
for."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.server_process import complaints
from tests.telephone.fed_call import FedCall
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.errors import ConfigError
from voiceagent.settings.telephone import ResultSettings
from voiceagent.telephone.features.call_results import MAX_WAITING, SIGNATURE, CallResults, ResultOf
from voiceagent.telephone.messages import CallFacts

SECRET = {"VOICEAGENT_RESULTS_SECRET": "s3cret"}
FACTS = CallFacts("+15550100", "+15550199", "CA1", {"order": "42"}, outbound=True)


class Receiver:
    """The operator's server: answers with these statuses in turn, then 204."""

    def __init__(self) -> None:
        self.statuses: list[int] = []
        self.taken: list[tuple[bytes, str]] = []
        self.open = asyncio.Event()
        self.open.set()
        self.changed = asyncio.Event()
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        self.taken.append((await request.read(), request.headers[SIGNATURE]))
        self.changed.set()
        await self.open.wait()
        return web.Response(status=self.statuses.pop(0) if self.statuses else 204)

    async def wait(self, count: int) -> None:
        async with asyncio.timeout(5):
            while len(self.taken) < count:
                self.changed.clear()
                await self.changed.wait()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    made = Receiver()
    app = web.Application()
    app.router.add_post("/calls", made.take)
    async with TestServer(app) as server:
        made.url = str(server.make_url("/calls"))
        yield made
        made.open.set()


def results_for(receiver: Receiver, lost: list[str] | None = None, *, transcript: bool = False) -> CallResults:
    counted = lost if lost is not None else []
    return CallResults(ResultSettings(receiver.url, transcript=transcript), SECRET, counted.append, (0.01, 0.01))


def a_call(results: CallResults) -> None:
    leg = SimpleNamespace(facts=FACTS, has_hung_up_waiting=False)
    call = ResultOf(results, cast(Any, leg))
    call.begin(FedCall())
    call.stepped(ev.CallStarted(0.0), ())
    call.stepped(ev.Played(4000.0, 1, 0, 10.0), (act.CallerFinal(1, "my secret words"), act.ToolStarted(1, "c", "book", "{}")))
    call.stepped(ev.HangUp(12_340.0, "hangup"), (act.ReplyEnded(1, "completed", "Booked.", ""), act.End("hangup")))
    call.ended()


async def test_a_result_is_signed_and_holds_facts_but_no_words(receiver: Receiver) -> None:
    results = results_for(receiver)
    await results.open()
    a_call(results)
    await receiver.wait(1)
    await results.close()
    ((body, signed),) = receiver.taken
    at, digest = (part.partition("=")[2] for part in signed.split(","))
    assert hmac.new(b"s3cret", f"{at}.".encode() + body, hashlib.sha256).hexdigest() == digest
    told = json.loads(body)
    assert told.pop("began_at") > 1_600_000_000
    assert told == {
        "type": "call.ended",
        "call_id": "rtc_1",
        "vendors_id": "CA1",
        "direction": "outbound",
        "caller": "+15550100",
        "called": "+15550199",
        "parameters": {"order": "42"},
        "duration_s": 12.3,
        "reason": "hangup",
        "turns": 0,
        "tools": ["book"],
    }


async def test_a_call_of_ours_that_nobody_took_has_a_result_too(receiver: Receiver) -> None:
    results = results_for(receiver)
    await results.open()
    results.unanswered(FACTS, "busy")
    await receiver.wait(1)
    await results.close()
    told = json.loads(receiver.taken[0][0])
    assert (told["answered_by"], told["reason"], told["duration_s"]) == ("no_answer", "busy", 0.0)
    assert (told["direction"], told["called"], told["vendors_id"]) == ("outbound", "+15550199", "CA1")
    assert told["call_id"].startswith("rtc_")


async def test_without_an_address_nothing_waits_to_be_told() -> None:
    lost: list[str] = []
    results = CallResults(ResultSettings(), {}, lost.append)
    for _ in range(MAX_WAITING + 1):
        results.unanswered(FACTS, "busy")
    assert not lost


async def test_what_was_said_is_told_where_it_is_asked_for(receiver: Receiver) -> None:
    results = results_for(receiver, transcript=True)
    await results.open()
    a_call(results)
    await receiver.wait(1)
    await results.close()
    said = [{"who": "caller", "text": "my secret words"}, {"who": "agent", "text": "Booked."}]
    assert json.loads(receiver.taken[0][0])["transcript"] == said


async def test_a_result_is_tried_again_until_it_is_taken(receiver: Receiver) -> None:
    lost: list[str] = []
    receiver.statuses = [503, 429]
    results = results_for(receiver, lost)
    await results.open()
    a_call(results)
    await receiver.wait(3)
    await results.close()
    assert len({body for body, _ in receiver.taken}) == 1
    assert not lost


@pytest.mark.parametrize(("statuses", "attempts"), [([500] * 9, 3), ([410], 1), ([302], 1)])
async def test_what_is_never_taken_is_given_up_in_one_line(
    receiver: Receiver, caplog: pytest.LogCaptureFixture, statuses: list[int], attempts: int
) -> None:
    lost: list[str] = []
    receiver.statuses, first = statuses, statuses[0]
    results = results_for(receiver, lost)
    await results.open()
    with caplog.at_level(logging.WARNING):
        a_call(results)
        await receiver.wait(attempts)
        await results.close()
    assert len(receiver.taken) == attempts
    assert lost == ["call results"]
    (line,) = complaints(caplog)
    assert f"status {first}" in line


async def test_a_receiver_that_hangs_bounds_what_waits_and_the_oldest_goes(receiver: Receiver) -> None:
    lost: list[str] = []
    receiver.open.clear()
    results = results_for(receiver, lost)
    await results.open()
    for _ in range(MAX_WAITING + 10):
        results.put({"n": 1})
    assert lost == ["call results"] * 10
    receiver.open.set()
    await results.close()


async def test_without_an_address_nothing_is_sent_and_an_address_needs_its_secret() -> None:
    results = CallResults(ResultSettings(), {})
    await results.open()
    await results.close()
    with pytest.raises(ConfigError, match="VOICEAGENT_RESULTS_SECRET"):
        CallResults(ResultSettings("https://crm.example.org/calls"), {})
    with pytest.raises(ValueError, match="url is"):
        ResultSettings("https://user:password@crm.example.org/calls")
