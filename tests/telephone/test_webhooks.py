"""What a webhook is believed, how often it is answered, and what forging it costs."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import pytest

from tests.telephone.conftest import EchoServer
from tests.telephone.peers import CALLED, CALLER, SECRETS, Request, ask, status, stream_path, vonage_get, webhook
from tests.telephone.sip_parts import until
from tests.telephone.test_foreign import received
from tests.telephone.test_refusals import forgeries, status_of_stream
from voiceagent.server.http.app import CALLS
from voiceagent.server.http.slowing import AT_ONCE, RefusalLimits
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.streams.signatures import SignedRequest
from voiceagent.telephone.streams.vendors import VENDORS, StreamLimits
from voiceagent.telephone.streams.webhooks import REMEMBERED_S, AnsweredWebhooks, facts_of

SIGNS_NO_QUERY = ["telnyx", "vonage", "jambonz"]
NO_TIME = ["twilio", "signalwire", "plivo"]
SIGNING = [vendor for vendor in SECRETS if vendor != "exotel"]


def is_signed(vendor: str, found: SignedRequest) -> bool:
    return bool(VENDORS[vendor].check(replace(found, now_s=time.time()), SECRETS[vendor]))


def elsewhere(request: Request, query: str) -> Request:
    """The same signed webhook, at another query."""
    return replace(request, path=f"{request.path.partition('?')[0]}?{query}")


# --- what is believed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vendor", SIGNS_NO_QUERY)
async def test_parameters_that_the_vendor_does_not_sign_are_left_out_in_one_line(
    echo: EchoServer, vendor: str, caplog: pytest.LogCaptureFixture
) -> None:
    relayed = elsewhere(webhook(vendor), "customer_id=666&direction=outbound")
    assert is_signed(vendor, received(relayed)), "nothing shows that its address was changed"
    status, _ = await ask(echo.session, echo.url, relayed)
    assert status == 200
    facts = facts_of(received(relayed), VENDORS[vendor])
    assert (facts.caller, facts.called, facts.parameters, facts.outbound) == (CALLER, CALLED, {}, False)
    lines = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert lines == [f"2 parameters of a webhook's address were left out: {vendor} does not sign them"]


@pytest.mark.parametrize("vendor", ["twilio", "signalwire", "plivo"])
def test_parameters_of_another_address_break_the_signature_of_vendors_that_sign_it(vendor: str) -> None:
    assert is_signed(vendor, received(webhook(vendor, "shop=Bonn")))
    assert not is_signed(vendor, received(elsewhere(webhook(vendor, "shop=Bonn"), "shop=Berlin")))
    assert not is_signed(vendor, received(elsewhere(webhook(vendor), "shop=Berlin")))


@pytest.mark.parametrize("vendor", SIGNS_NO_QUERY)
async def test_a_captured_webhook_cannot_be_turned_into_a_get_that_tells_of_another_call(echo: EchoServer, vendor: str) -> None:
    names = VENDORS[vendor]
    query = urlencode({names.caller: "+15550666", names.called: CALLED, names.call_id: "made-up"})
    captured = webhook(vendor)
    for body in (b"", captured.body):
        relayed = replace(elsewhere(captured, query), method="GET", body=body)
        assert (await ask(echo.session, echo.url, relayed))[0] == 403


async def test_vonages_default_method_is_believed_as_far_as_its_query_is_hashed(echo: EchoServer) -> None:
    real = vonage_get("c-1", "outbound")
    status, _ = await ask(echo.session, echo.url, real)
    assert status == 200
    facts = facts_of(received(real), VENDORS["vonage"])
    assert facts == CallFacts(CALLER, CALLED, "c-1", {}, outbound=True)
    for query in (
        real.path.replace("15550100", "15550666"),
        f"{real.path}&shop=Berlin",
        real.path.replace("outbound", "inbound"),
    ):
        assert (await ask(echo.session, echo.url, replace(real, path=query)))[0] == 403


@pytest.mark.parametrize("own", ["+15550199", "15550199", "+1 (555) 0199"])
def test_a_call_from_a_number_of_ours_is_outbound_however_it_is_written(own: str) -> None:
    vonage = VENDORS["vonage"]
    assert facts_of(received(webhook("vonage", caller="15550199")), vonage, (own,)).outbound
    assert not facts_of(received(webhook("vonage", caller="15550100")), vonage, (own,)).outbound
    assert not facts_of(received(webhook("vonage", caller="")), vonage, ("",)).outbound


# --- how often ----------------------------------------------------------------------------------------------------------


def again(vendor: str, call_id: str, first: Request) -> Request:
    """The same webhook, as the vendor sends it when no answer came in time."""
    return webhook(vendor, call_id=call_id) if vendor == "plivo" else first


@pytest.mark.parametrize("vendor", SIGNING)
async def test_a_webhook_that_comes_again_gets_the_same_answer_until_the_stream_has_come(echo: EchoServer, vendor: str) -> None:
    first = webhook(vendor, call_id="c-1")
    _, answer = await ask(echo.session, echo.url, first)
    assert await ask(echo.session, echo.url, again(vendor, "c-1", first)) == (200, answer)
    socket = await echo.session.ws_connect(echo.url.replace("http", "ws") + stream_path(answer))
    status, body = await ask(echo.session, echo.url, again(vendor, "c-1", first))
    assert (status, json.loads(body)["error"]["code"]) == (409, "repeated_webhook")
    await socket.close()
    status, body = await ask(echo.session, echo.url, again(vendor, "c-1", first))
    assert status == 409, "and not after the call either"
    assert (await ask(echo.session, echo.url, webhook(vendor)))[0] == 200, "the next call is answered"
    assert echo.app[CALLS].metrics.vendors_refused == {"repeated": 2}


@pytest.mark.parametrize("vendor", NO_TIME)
@pytest.mark.parametrize("limits", [StreamLimits(ticket_s=-1.0)], ids=["no time"])
async def test_a_webhook_whose_stream_never_came_is_answered_for_a_minute_only(
    echo: EchoServer, vendor: str, caplog: pytest.LogCaptureFixture
) -> None:
    first = webhook(vendor, call_id="c-1")
    assert (await ask(echo.session, echo.url, first))[0] == 200
    caplog.clear()
    assert (await ask(echo.session, echo.url, again(vendor, "c-1", first)))[0] == 409
    (line,) = [record.getMessage() for record in caplog.records if record.name.startswith("voiceagent")]
    assert line.startswith(f"a webhook of {vendor} from ")
    assert line.endswith("was refused: its call was answered before")


async def test_a_vendor_with_a_password_may_tell_of_a_call_as_often_as_it_likes(echo: EchoServer) -> None:
    first = webhook("exotel", call_id="c-1")
    answers = [await ask(echo.session, echo.url, first) for _ in range(3)]
    assert [status for status, _ in answers] == [200] * 3
    assert len({stream_path(answer) for _, answer in answers}) == 3


async def test_plivos_nonce_is_used_once(echo: EchoServer) -> None:
    first = webhook("plivo", call_id="c-1")
    assert (await ask(echo.session, echo.url, first))[0] == 200
    assert (await ask(echo.session, echo.url, first))[0] == 409


async def test_words_that_move_from_one_field_into_another_make_no_new_webhook(echo: EchoServer) -> None:
    """Twilio signs names and values without anything between them."""
    first = webhook("twilio", call_id="c-1")
    _, answer = await ask(echo.session, echo.url, first)
    fields = dict(parse_qsl(first.body.decode()))
    moved = {"CallSid": fields["CallSid"] + "CallStatus" + fields.pop("CallStatus")}
    relayed = replace(first, body=urlencode({**fields, **moved}).encode())
    assert is_signed("twilio", received(relayed))
    await (await echo.session.ws_connect(echo.url.replace("http", "ws") + stream_path(answer))).close()
    assert (await ask(echo.session, echo.url, relayed))[0] == 409


def test_answers_are_remembered_for_a_day_and_their_number_has_a_limit() -> None:
    remembered = AnsweredWebhooks(most=6)
    for number in range(4):
        remembered.remember("twilio", f"c-{number}", f"s-{number}", f"t-{number}", float(number))
    assert len(remembered) == 6
    assert [remembered.ticket("twilio", f"c-{number}", "", 4.0) for number in range(4)] == ["", "t-1", "t-2", "t-3"]
    assert remembered.ticket("twilio", "", "s-3", 4.0) == "t-3"
    assert remembered.ticket("plivo", "c-3", "s-3", 4.0) == "", "another vendor's"
    assert remembered.ticket("twilio", "c-2", "", REMEMBERED_S + 2.5) == ""
    assert len(remembered) == 2
    assert remembered.ticket("twilio", "", "", 4.0) == "", "a call without an id is not any other's"


# --- what forging costs -------------------------------------------------------------------------------------------------


async def test_an_answer_does_not_tell_which_vendors_are_configured(echo: EchoServer) -> None:
    forged = {vendor: forgeries(vendor)[0] for vendor in ("twilio", "telnyx")}
    answers = {await ask(echo.session, echo.url, request) for request in forged.values()}
    answers.add(await ask(echo.session, echo.url, Request("POST", "/telephony/asterisk", {})))
    answers.add(await ask(echo.session, echo.url, Request("POST", "/telephony/nobody", {})))
    unreadable = replace(webhook("twilio"), body="é".encode("latin-1"))
    answers.add(await ask(echo.session, echo.url, unreadable))
    assert len(answers) == 1
    assert next(iter(answers))[0] == 403


async def test_a_stream_without_a_ticket_does_not_tell_either(echo: EchoServer) -> None:
    assert {await status_of_stream(echo, f"/telephony/{name}/stream/made-up") for name in ("twilio", "asterisk", "nobody")} == {
        403
    }
    assert echo.app[CALLS].metrics.vendors_refused == {"unknown_stream": 1, "unknown_vendor": 2}


@pytest.mark.parametrize("limits", [StreamLimits(refusals=RefusalLimits(pause_s=60.0, waiting=3))], ids=["strict"])
async def test_a_forger_waits_and_is_counted_and_the_vendor_at_its_address_does_not(echo: EchoServer) -> None:
    forged = forgeries("twilio")[0]
    for _ in range(int(AT_ONCE)):
        assert (await ask(echo.session, echo.url, forged))[0] == 403
    slowed = {asyncio.create_task(ask(echo.session, echo.url, forged)) for _ in range(5)}
    await until(lambda: sum(task.done() for task in slowed) == 2)
    assert [task.result()[0] for task in slowed if task.done()] == [429, 429]
    assert (await ask(echo.session, echo.url, webhook("twilio")))[0] == 200
    metrics = echo.app[CALLS].metrics
    assert metrics.vendors_refused == {"forged": AT_ONCE + 5}
    assert 'voiceagent_vendors_refused_total{reason="forged"} 10' in metrics.render()
    for task in slowed:
        task.cancel()


# --- a call that nobody took ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vendor", SECRETS)
async def test_a_call_of_ours_that_nobody_took_is_told_once_by_its_vendors_own_word(echo: EchoServer, vendor: str) -> None:
    words = {"busy": "busy", "failed": "call_failed"}
    words |= {"unanswered": "no_answer", "rejected": "declined"} if vendor == "vonage" else {"no-answer": "no_answer"}
    for told in ("ringing", "completed", *words):
        told_before = len(echo.unanswered)
        for _ in range(2):  # a vendor that got no answer in time tells it again
            assert (await ask(echo.session, echo.url, status(vendor, told, f"c-{told}")))[0] == 200
        assert len(echo.unanswered) - told_before == (told in words)
    assert [reason for _, reason in echo.unanswered] == list(words.values())
    facts = echo.unanswered[0][0]
    assert (facts.vendors_id, facts.outbound) == ("c-busy", True)
    if vendor != "exotel":
        assert (facts.caller, facts.called) == (CALLER, CALLED)


async def test_a_call_that_came_to_us_or_was_taken_is_none_of_those_that_nobody_took(echo: EchoServer) -> None:
    assert (await ask(echo.session, echo.url, status("twilio", "no-answer", "c-in", "inbound")))[0] == 200
    assert (await ask(echo.session, echo.url, webhook("twilio", direction="outbound-api", call_id="c-taken")))[0] == 200
    assert (await ask(echo.session, echo.url, status("twilio", "failed", "c-taken")))[0] == 200
    assert not echo.unanswered


@pytest.mark.parametrize("vendor", SECRETS)
async def test_nobody_else_can_tell_how_a_call_went(echo: EchoServer, vendor: str) -> None:
    real = status(vendor, "busy", "c-1")
    for forged in (replace(real, headers={}), replace(real, body=real.body + b" ", headers=dict.fromkeys(real.headers, "x"))):
        assert (await ask(echo.session, echo.url, forged))[0] == 403
    assert not echo.unanswered
