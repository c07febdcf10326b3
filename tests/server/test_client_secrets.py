"""Client secrets: asked for with a key, bound to a session, an origin, one call; refused when they are over."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.fakes import MakeService, Switchboard
from voiceagent.server.access.client_secrets import MAX_OF_A_KEY, ClientSecrets
from voiceagent.server.access.key_file import KeyFile, KeyLimits
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.server.http.problems import Problem

SECRETS, CALLS = "/v1/realtime/client_secrets", "/v1/realtime/calls"
OFFER = "v=0\r\n"
KEY = {"Authorization": "Bearer the-first-key"}
OTHER = {"Authorization": "Bearer the-other-key"}
SHOP = "https://shop.example"
Client = TestClient[Any, Any]
Open = Callable[..., Awaitable[Client]]


@pytest.fixture
async def client(make_service: MakeService) -> Any:
    app = make_app(make_service(keys=("the-first-key", "the-other-key"), allowed_origins=(SHOP,)))
    async with TestClient(TestServer(app)) as opened:
        await app[READINESS].wait()
        yield opened


async def secret_of(client: Client, body: dict[str, Any] | None = None, headers: dict[str, str] = KEY) -> str:
    response = await client.post(SECRETS, json=body or {}, headers=headers)
    assert response.status == 200, await response.text()
    return str((await response.json())["value"])


async def call(client: Client, secret: str, session: str = "", **headers: str) -> aiohttp.ClientResponse:
    data: Any = OFFER
    sent = {"Authorization": f"Bearer {secret}", **headers}
    if session:
        data = aiohttp.FormData({"sdp": OFFER, "session": session}, default_to_multipart=True)
    else:
        sent["Content-Type"] = "application/sdp"
    return await client.post(CALLS, data=data, headers=sent)


async def code_of(response: aiohttp.ClientResponse, status: int) -> str:
    body = await response.json()
    assert response.status == status, body
    assert "\n" not in body["error"]["message"]
    return str(body["error"]["code"])


async def test_a_secret_is_answered_in_openais_form(client: Client) -> None:
    session = {"type": "realtime", "instructions": "Sell shoes."}
    response = await client.post(
        SECRETS, json={"session": session, "expires_after": {"anchor": "created_at", "seconds": 60}}, headers=KEY
    )
    body = await response.json()
    assert body["value"].startswith("ek_")
    assert response.headers["Cache-Control"] == "no-store"
    assert body["session"]["instructions"] == "Sell shoes."
    assert body["session"]["object"] == "realtime.session"
    assert body["voiceagent"] == {"origin": None, "once": False, "fixed": ["instructions"]}


async def test_a_call_has_the_session_of_its_secret(client: Client, switchboard: Switchboard) -> None:
    secret = await secret_of(client, {"session": {"instructions": "Sell shoes.", "audio": {"output": {"voice": "amy"}}}})
    response = await call(
        client, secret, '{"tool_choice": "none", "audio": {"output": {"speed": 1.2}}, "voiceagent": {"fixed": []}}'
    )
    assert response.status == 201
    assert switchboard.calls[-1].session == {
        "instructions": "Sell shoes.",
        "audio": {"output": {"voice": "amy", "speed": 1.2}},
        "tool_choice": "none",
        "voiceagent": {"fixed": ("instructions", "audio.output.voice")},
    }
    assert await code_of(await call(client, secret, '{"instructions": "Sell hats."}'), 400) == "setting_fixed"
    told = await secret_of(client, {"voiceagent": {"parameters": {"customer": "42"}}})
    forged = '{"voiceagent": {"parameters": {"customer": "1"}}}'
    assert (await call(client, told, forged)).status == 201
    assert switchboard.calls[-1].session["voiceagent"]["parameters"] == {"customer": "42"}
    loose = await secret_of(client, {"session": {"instructions": "Sell shoes."}, "voiceagent": {"fixed": []}})
    assert (await call(client, loose, '{"instructions": "Sell hats."}')).status == 201
    assert switchboard.calls[-1].session["instructions"] == "Sell hats."


async def test_no_client_writes_the_servers_part_of_a_session(client: Client, switchboard: Switchboard) -> None:
    assert (await call(client, "the-first-key", '{"voiceagent": {"fixed": ["tools"]}}')).status == 201
    assert switchboard.calls[-1].session == {}


async def test_a_secret_for_one_call_begins_one_and_ends_it(client: Client, switchboard: Switchboard) -> None:
    secret = await secret_of(client, {"voiceagent": {"once": True}})
    bad = await client.post(
        CALLS, data="no sdp", headers={"Authorization": f"Bearer {secret}", "Content-Type": "application/sdp"}
    )
    assert await code_of(bad, 400) == "invalid_offer"
    first = await call(client, secret)
    assert first.status == 201, "an offer that could not be answered has not used it up"
    assert await code_of(await call(client, secret), 401) == "client_secret_used"
    ended = await client.post(f"{first.headers['Location']}/hangup", headers={"Authorization": f"Bearer {secret}"})
    assert ended.status == 200


async def test_a_secret_opens_calls_and_nothing_else(client: Client) -> None:
    secret = {"Authorization": f"Bearer {await secret_of(client)}"}
    for path in ("/v1/voiceagent/ice_servers", "/v1/voiceagent/about", "/v1/voiceagent/budgets"):
        assert (await client.get(path, headers=secret)).status == 200
    assert await code_of(await client.get("/metrics", headers=secret), 403) == "key_needed"
    for path in (SECRETS, "/v1/voiceagent/drain", "/v1/voiceagent/dial", f"{CALLS}/rtc_1/accept", "/v1/chat/completions"):
        assert await code_of(await client.post(path, json={}, headers=secret), 403) == "key_needed"


async def test_a_page_ends_its_own_call_and_no_other_but_its_key_ends_all(client: Client) -> None:
    one, two = await secret_of(client), await secret_of(client)
    location = (await call(client, one)).headers["Location"]
    for stranger in (f"Bearer {two}", "Bearer the-other-key"):
        response = await client.post(f"{location}/hangup", headers={"Authorization": stranger})
        assert await code_of(response, 404) == "call_not_found"
    assert (await client.post(f"{location}/hangup", headers={"Authorization": f"Bearer {one}"})).status == 200
    location = (await call(client, two)).headers["Location"]
    assert (await client.post(f"{location}/hangup", headers=KEY)).status == 200


async def test_a_secret_counts_towards_the_limits_of_its_key(make_service: MakeService, tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    key = file.add("kiosk", KeyLimits(calls=2))
    ring = KeyRing(file=file)
    app = make_app(make_service(keys=ring))
    async with TestClient(TestServer(app)) as client:
        await app[READINESS].wait()
        one, two = [await secret_of(client, headers={"Authorization": f"Bearer {key}"}) for _ in range(2)]
        assert [(await call(client, secret)).status for secret in (one, two)] == [201, 201]
        refused = await call(client, one)
        assert await code_of(refused, 429) == "too_many_calls"
        assert (await refused.json())["error"]["param"] == "calls"
        file.revoke("kiosk")
        file.add("kiosk")
        await ring.look()
        assert await code_of(await call(client, one), 401) == "invalid_api_key", "another key of the same name changes nothing"


async def test_a_secret_of_an_origin_is_good_for_its_pages_only(client: Client) -> None:
    secret = await secret_of(client, {"voiceagent": {"origin": f"{SHOP}/"}})
    assert (await call(client, secret, Origin=SHOP)).status == 201
    own = str(client.make_url("/")).rstrip("/")
    for headers in ({}, {"Origin": own}):
        assert await code_of(await call(client, secret, **headers), 403) == "origin_not_allowed"
    assert await code_of(await call(client, secret, Origin="https://evil.example"), 403) == "origin_not_allowed"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"expires_after": {"anchor": "created_at", "seconds": 9}}, "expires_after.seconds"),
        ({"expires_after": {"anchor": "created_at", "seconds": 7201}}, "expires_after.seconds"),
        ({"expires_after": {"anchor": "now"}}, "expires_after.anchor"),
        ({"session": []}, "session"),
        ({"session": {"voiceagent": {"fixed": []}}}, "session.voiceagent"),
        ({"session": {"instructions": "x" * 70_000}}, "session"),
        ({"session": {f"a{number}": 1 for number in range(300)}}, "session"),
        ({"more": 1}, None),
        ({"voiceagent": {"origin": "shop"}}, "voiceagent.origin"),
        ({"voiceagent": {"origin": "https://evil.example"}}, "voiceagent.origin"),
        ({"voiceagent": {"fixed": ["a b"]}}, "voiceagent.fixed[0]"),
        ({"voiceagent": {"parameters": {str(number): "" for number in range(33)}}}, "voiceagent.parameters"),
        ({"voiceagent": {"parameters": {"customer": 42}}}, "voiceagent.parameters[...]"),
    ],
)
async def test_a_request_that_cannot_be_granted_is_refused_in_one_line(
    client: Client, body: dict[str, Any], param: str | None
) -> None:
    response = await client.post(SECRETS, json=body, headers=KEY)
    assert await code_of(response, 400) == "invalid_client_secret_request"
    assert (await response.json())["error"]["param"] == param


async def test_a_key_forgets_its_secrets_and_no_others(client: Client) -> None:
    own, others = await secret_of(client), await secret_of(client, headers=OTHER)
    response = await client.delete(SECRETS, headers=KEY)
    assert await response.json() == {"revoked": 1}
    assert await code_of(await call(client, own), 401) == "invalid_api_key"
    assert (await call(client, others)).status == 201
    assert (
        'voiceagent_client_secrets_refused_total{reason="unknown"} 1.0'
        in await (await client.get("/metrics", headers=KEY)).text()
    )


async def test_without_keys_a_secret_still_brings_its_session(make_service: MakeService, switchboard: Switchboard) -> None:
    app = make_app(make_service())
    async with TestClient(TestServer(app)) as client:
        await app[READINESS].wait()
        secret = await secret_of(client, {"session": {"instructions": "Sell shoes."}})
        assert (await call(client, secret)).status == 201
        assert switchboard.calls[-1].session["instructions"] == "Sell shoes."
        assert (await call(client, f"{secret[:-1]}!")).status == 201, "any token is let in without keys"
        changed = f"{secret[:-1]}{'A' if secret[-1] != 'A' else 'B'}"
        assert await code_of(await call(client, changed), 401) == "invalid_api_key"


class Clock:
    """Stands still until it is moved."""

    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


ONE, TWO = ("shop", "1"), ("other", "2")


def issue(
    secrets: ClientSecrets, owner: tuple[str, str] = ONE, lifetime_s: float = 600, session: dict[str, Any] | None = None
) -> str:
    return secrets.issue(owner, session or {}, (), "", lifetime_s, once=False)


def refusal_of(secrets: ClientSecrets, session: dict[str, Any] | None = None) -> Problem:
    with pytest.raises(Problem) as refused:
        issue(secrets, session=session)
    return refused.value


def test_a_secret_ends_with_its_time() -> None:
    clock = Clock()
    secrets = ClientSecrets(clock)
    short, long = issue(secrets, lifetime_s=10), issue(secrets, lifetime_s=7200)
    clock.now_s += 9.9
    assert secrets.find(short)
    clock.now_s += 0.1
    assert secrets.find(short) is None
    assert secrets.find(long)
    assert len(secrets) == 1
    clock.now_s += 7200
    assert len(secrets) == 0


def test_ten_thousand_secrets_take_bounded_memory_and_leave_room_for_other_keys() -> None:
    clock = Clock()
    secrets = ClientSecrets(clock)
    for _ in range(MAX_OF_A_KEY):
        issue(secrets, lifetime_s=7200)
    for _ in range(10_000):
        refused = refusal_of(secrets)
        assert (refused.status, refused.code, refused.retry_after_s) == (429, "too_many_client_secrets", 7200)
    assert len(secrets) == MAX_OF_A_KEY
    issue(secrets, TWO)
    clock.now_s += 7200
    for _ in range(10_000):
        clock.now_s += 10
        issue(secrets, lifetime_s=10)
    assert len(secrets) == 1
    assert sys.getsizeof(secrets._by_hash) < 1000


def test_large_sessions_are_bounded_by_their_bytes() -> None:
    secrets = ClientSecrets(Clock())
    large = {"instructions": "x" * 60_000}
    for _ in range(69):
        issue(secrets, session=large)
    assert "as many or as large" in str(refusal_of(secrets, large))
    issue(secrets, TWO, session=large)


def test_a_key_asks_at_a_bounded_rate() -> None:
    clock = Clock()
    secrets = ClientSecrets(clock)
    for _ in range(200):
        secrets.admit(ONE)
    with pytest.raises(Problem, match="20 client secrets a second"):
        secrets.admit(ONE)
    secrets.admit(TWO)
    clock.now_s += 0.1
    secrets.admit(ONE)


def test_no_value_of_a_secret_is_kept() -> None:
    secrets = ClientSecrets(Clock())
    value = issue(secrets)
    assert value not in repr(vars(secrets))
    assert all(value not in repr(each) for each in secrets._by_hash.values())
    for wrong in (value[:-1], f"{value}A", value.lower(), value.upper(), "", "\udcff"):
        assert secrets.find(wrong) is None
