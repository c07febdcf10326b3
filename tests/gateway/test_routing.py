"""Which worker a request is for."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from voiceagent.gateway.routing import ANY, FIRST, NEW, SEARCH, Route, RouteKind, needs_body, route_of

CALL = "rtc_0a2f" + "0" * 20
TOKEN = "rs_0a2f" + "0" * 20 + "A" * 43
SECRET = "ek_0a2f" + "A" * 39
OWNER = Route(RouteKind.OWNER, 0x0A2F)


@pytest.mark.parametrize(
    ("method", "path", "query", "token"),
    [
        ("POST", f"/v1/realtime/calls/{CALL}/hangup", {}, "key"),
        ("DELETE", f"/v1/realtime/calls/{CALL}", {}, "key"),
        ("POST", f"/v1/realtime/calls/{CALL}/refer", {}, "key"),
        ("POST", f"/v1/calls/{CALL}/end", {}, "key"),
        ("GET", f"/v1/calls/{CALL}/events", {"from": "3"}, "key"),
        ("GET", f"/v1/calls/{CALL}/recording", {}, "key"),
        ("DELETE", "/whep/whep_0a2f" + "0" * 20, {}, "key"),
        ("GET", "/v1/realtime", {"call_id": CALL}, "key"),
        ("POST", "/whep", {"call_id": CALL}, "key"),
        ("POST", "/v1/realtime/calls", {}, SECRET),
        ("GET", "/v1/voiceagent/ice_servers", {}, SECRET),
        ("GET", "/telephony/twilio/stream/0a2f" + "A" * 28, {}, ""),
        ("POST", "/telephony/twilio/after/0a2f" + "A" * 28, {}, ""),
    ],
)
def test_what_belongs_to_a_call_goes_to_its_worker(method: str, path: str, query: dict[str, str], token: str) -> None:
    assert route_of(method, path, query, token) == OWNER


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/v1/realtime", NEW),
        ("POST", "/v1/realtime/calls", NEW),
        ("POST", "/whip", NEW),
        ("POST", "/v1/realtime/client_secrets", NEW),
        ("POST", "/whep", SEARCH),
        ("POST", "/v1/voiceagent/dial", FIRST),
        ("GET", "/", ANY),
        ("GET", "/v1/voiceagent/about", ANY),
        ("OPTIONS", "/v1/models", ANY),
    ],
)
def test_the_rest_goes_where_there_is_room(method: str, path: str, expected: Route) -> None:
    assert route_of(method, path, {}, "key") == expected


@pytest.mark.parametrize("path", ["/v1/realtime", "/v1/realtime/calls"])
def test_a_call_that_is_taken_up_again_may_have_gone_on_at_another_worker(path: str) -> None:
    assert route_of("POST", path, {"after": "e1"}, TOKEN) == Route(RouteKind.RESUMED, 0x0A2F)


def chat(*said: str, token: str = "key", last_event: str = "") -> Route:
    roles = ("user", "assistant")
    body = json.dumps({"messages": [{"role": roles[n % 2], "content": text} for n, text in enumerate(said)]}).encode()
    return route_of("POST", "/v1/chat/completions", {}, token, body=body, last_event=last_event)


def test_a_written_conversation_stays_at_one_worker() -> None:
    assert chat("Hi") == chat("Hi", "Hello.", "A table, please.")
    assert chat("Hi").kind is RouteKind.HASHED
    assert len({chat("Hi"), chat("Hi", token="other"), chat("Good day")}) == 3
    assert chat("Hi", last_event="chatcmpl-0a2f" + "0" * 20 + ":7") == OWNER


def test_a_vendors_webhook_that_comes_again_goes_to_the_same_worker() -> None:
    def webhook(path: str = "/telephony/twilio", **fields: str) -> Route:
        assert needs_body("POST", path)
        return route_of("POST", path, {}, "", body=urlencode(fields).encode())

    assert webhook(CallSid="CA1", From="+1").kind is RouteKind.HASHED
    assert webhook(CallSid="CA1", From="+1") == webhook(CallSid="CA1", Retry="2")
    assert webhook(CallSid="CA1") == webhook("/telephony/twilio/status", CallSid="CA1", CallStatus="busy")
    assert webhook(CallSid="CA1") != webhook(CallSid="CA2")
    as_json = route_of("POST", "/telephony/jambonz", {}, "", body=b'{"call_sid": "x"}')
    assert as_json == route_of("POST", "/telephony/jambonz", {}, "", body=b'{"call_sid": "x", "more": [1]}')
    assert route_of("GET", "/telephony/exotel", {"CallSid": "CA1"}, "").kind is RouteKind.HASHED


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"{", b"[1]", b"{" * 200, b"&" * 1000, b'{"call_sid": ["a"]}', b"null"])
def test_a_body_of_any_kind_is_placed(body: bytes) -> None:
    for path in ("/telephony/jambonz", "/v1/chat/completions"):
        assert route_of("POST", path, {}, "", body=body).kind in (RouteKind.NEW, RouteKind.HASHED)


def test_a_stream_without_a_webhook_is_a_new_call() -> None:
    assert route_of("GET", "/telephony/asterisk", {"call_id": ""}, "", is_socket=True) == NEW
