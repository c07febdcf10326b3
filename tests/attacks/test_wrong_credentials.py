"""Wrong, changed, expired, replayed and revoked keys and client secrets, and those of another site, never connect: not by HTTP,
not by WebSocket."""

from __future__ import annotations

import asyncio
import itertools
import json
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import Request, urlopen

import aiohttp
import pytest

from tests.media.test_connections import offer_of
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.errors import MediaError
from voiceagent.server.access.client_secrets import MAX_BYTES_OF_A_KEY, MAX_OF_A_KEY, ClientSecrets
from voiceagent.server.access.key_file import KeyFile
from voiceagent.server.calls.call_ids import RESUME_PREFIX, call_of_token
from voiceagent.server.http.problems import Problem

SHOP, EVIL = "https://shop.example", "https://evil.example"
SECRETS, CALLS = "/v1/realtime/client_secrets", "/v1/realtime/calls"
ENVIRONMENT = "the-key-of-the-environment-01"
TRIES = 20


@dataclass(frozen=True)
class Kept:
    """A server and the keys that it was started with."""

    server: ServerProcess
    file: KeyFile
    key: str
    other: str
    expiring: str
    """A client secret of the first seconds."""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    data = tmp_path_factory.mktemp("server")
    file = KeyFile(data / "keys.json")
    key, other = file.add("shop"), file.add("leaked")
    config = data / "agent.yaml"
    config.write_text(f"http: {{allowed_origins: ['{SHOP}']}}\n")
    with running_server(data, "--config", str(config), environment={"VOICEAGENT_KEYS": ENVIRONMENT}) as server:
        asked = Request(f"{server.url}{SECRETS}", b'{"expires_after": {"seconds": 10}}', {"Authorization": f"Bearer {key}"})
        with urlopen(asked) as answer:
            yield Kept(server, file, key, other, json.load(answer)["value"])
    log = (data / "server.log").read_text()
    assert key not in log
    assert other not in log
    assert "ek_" not in log


def changed(secret: str) -> list[str]:
    """The secret with a sign more, less, other, and in other cases."""
    end = "A" if secret[-1] != "A" else "B"
    return [secret[:-1], f"{secret}A", secret[:-1] + end, secret.swapcase(), f"{secret[:4]}{end}{secret[5:]}", secret[::-1]]


async def offered(kept: Kept, session: aiohttp.ClientSession, offer: str, key: str, origin: str = "") -> int:
    headers = {"Content-Type": "application/sdp", "Authorization": f"Bearer {key}"} | ({"Origin": origin} if origin else {})
    async with session.post(f"{kept.server.url}{CALLS}", data=offer, headers=headers) as answer:
        body = await answer.text()
        assert not key or key not in body
        return answer.status


async def socket_opened(
    kept: Kept, session: aiohttp.ClientSession, key: str, *, by_header: bool, origin: str = "", query: str = "model=any"
) -> int:
    """The status of a WebSocket's handshake."""
    protocols = ("realtime",) if by_header else ("realtime", f"openai-insecure-api-key.{key}")
    headers = {"Authorization": f"Bearer {key}"} if by_header else {}
    try:
        async with session.ws_connect(
            f"{kept.server.url}/v1/realtime?{query}", protocols=protocols, headers=headers, origin=origin or None
        ):
            return 101
    except aiohttp.WSServerHandshakeError as error:
        return error.status


async def secret_of(kept: Kept, session: aiohttp.ClientSession, key: str = "", **asked: Any) -> str:
    headers = {"Authorization": f"Bearer {key or kept.key}"}
    async with session.post(f"{kept.server.url}{SECRETS}", json=asked, headers=headers) as answer:
        assert answer.status == 200, await answer.text()
        return str((await answer.json())["value"])


async def calls_begun(kept: Kept, session: aiohttp.ClientSession) -> int:
    async with session.get(f"{kept.server.url}/metrics", headers={"Authorization": f"Bearer {kept.key}"}) as answer:
        lines = (await answer.text()).splitlines()
    return int(float(next(line for line in lines if line.startswith("voiceagent_calls_total ")).split()[1]))


async def until_refused(kept: Kept, session: aiohttp.ClientSession, key: str) -> None:
    """Return once the key opens nothing any more."""
    async with asyncio.timeout(30):
        while True:
            async with session.get(
                f"{kept.server.url}/v1/voiceagent/about", headers={"Authorization": f"Bearer {key}"}
            ) as answer:
                if answer.status != 200:
                    return
            await asyncio.sleep(0.2)


async def an_offer() -> str:
    peer, sdp = await offer_of()
    await peer.close()
    return sdp


async def test_a_right_key_or_secret_connects_by_every_way(kept: Kept) -> None:
    """Shows that the other tests try what would connect."""
    async with aiohttp.ClientSession() as session:
        shops = await secret_of(kept, session, voiceagent={"origin": SHOP, "once": True})
        assert await socket_opened(kept, session, shops, by_header=False, origin=SHOP) == 101
        assert await socket_opened(kept, session, shops, by_header=False, origin=SHOP) == 401
        for key in (kept.key, ENVIRONMENT, await secret_of(kept, session)):
            assert await socket_opened(kept, session, key, by_header=True) == 101
            assert await socket_opened(kept, session, key, by_header=False, origin=kept.server.url) == 101


async def test_a_changed_key_or_secret_never_connects(kept: Kept) -> None:
    offer = await an_offer()
    async with aiohttp.ClientSession() as session:
        before = await calls_begun(kept, session)
        secret = await secret_of(kept, session)
        wrong = ["", "no-key-of-this-server", kept.file.path.name, *changed(kept.key), *changed(secret), kept.key + secret]
        wrong += [kept.file.read()[0].id, kept.file.read()[0].sha256, kept.file.read()[0].name]
        by_http = [offered(kept, session, offer, key) for key in wrong if key]
        by_socket = [
            socket_opened(kept, session, key, by_header=by_header) for key in wrong for by_header in (True, False) if key
        ]
        assert set(await asyncio.gather(*by_http, *by_socket)) <= {401, 429}
        assert await calls_begun(kept, session) == before


async def test_a_right_key_of_a_wrong_site_never_connects(kept: Kept) -> None:
    offer = await an_offer()
    async with aiohttp.ClientSession() as session:
        before = await calls_begun(kept, session)
        anybodys, shops = await secret_of(kept, session), await secret_of(kept, session, voiceagent={"origin": SHOP})
        tried = [(key, EVIL) for key in (kept.key, ENVIRONMENT, anybodys, shops)]
        tried += [(shops, ""), (shops, kept.server.url), (kept.key, "null"), (kept.key, f"{SHOP}.evil.example")]
        statuses = [await offered(kept, session, offer, key, origin) for key, origin in tried]
        for by_header in (True, False):
            statuses += [await socket_opened(kept, session, key, by_header=by_header, origin=origin) for key, origin in tried]
        assert set(statuses) == {403}
        assert await calls_begun(kept, session) == before


async def test_of_twenty_replays_of_a_secret_one_connects(kept: Kept) -> None:
    offer = await an_offer()
    async with aiohttp.ClientSession() as session:
        before = await calls_begun(kept, session)
        secret = await secret_of(kept, session, voiceagent={"once": True})
        statuses = await asyncio.gather(*(offered(kept, session, offer, secret) for _ in range(20)))
        assert sorted(statuses) == [201] + [401] * 19
        assert await socket_opened(kept, session, secret, by_header=False) == 401
        assert await calls_begun(kept, session) == before + 1


async def test_an_expired_secret_never_connects_and_its_call_goes_on(kept: Kept) -> None:
    async with aiohttp.ClientSession() as session:
        secret = await secret_of(kept, session, expires_after={"anchor": "created_at", "seconds": 10})
        async with Caller(kept.server.url, secret) as caller:
            await caller.wait_heard(0.0)
            await until_refused(kept, session, secret)
            with pytest.raises(MediaError, match="401"):
                async with Caller(kept.server.url, secret):
                    pass
            assert await socket_opened(kept, session, secret, by_header=True) == 401
            assert not caller.end_reason


async def test_a_revoked_key_ends_its_calls_and_nothing_of_it_connects_again(kept: Kept) -> None:
    async with aiohttp.ClientSession() as session:
        secret = await secret_of(kept, session, kept.other)
        async with (
            running_call(kept, session, kept.key) as (others, call_id),
            running_call(kept, session, kept.other) as (own, own_id),
            running_call(kept, session, secret) as (of_secret, _),
            opened_socket(kept, session, kept.other, f"call_id={own_id}") as sideband,
            Caller(kept.server.url, secret) as caller,
            Dialogue(caller) as dialogue,
        ):
            kept.file.revoke("leaked")
            kept.file.add("leaked")
            async with asyncio.timeout(10):  # a second until it is seen, then two at most until a call has ended
                for socket in (own, of_secret, sideband):
                    assert await end_told(socket) == "key_revoked"
                await caller.wait_ended()
            assert dialogue.call_end_reason == "key_revoked"
            await others.send_json({"type": "conversation.item.retrieve", "item_id": "none", "event_id": "goes on"})
            assert (await told(others, "error"))["error"]["event_id"] == "goes on"
            tried = [door(kept, session, key, call_id) for door in DOORS.values() for key in (kept.other, secret)]
            assert set(await asyncio.gather(*tried)) <= {401, 429}


@asynccontextmanager
async def opened_socket(
    kept: Kept, session: aiohttp.ClientSession, key: str, query: str = "model=any"
) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    """A socket of a call, however often a server on a busy machine says that its caller is to come again."""
    url, headers = f"{kept.server.url}/v1/realtime?{query}&voiceagent_events=true", {"Authorization": f"Bearer {key}"}
    for tried in itertools.count(1):
        try:
            socket = await session.ws_connect(url, headers=headers)
            break
        except aiohttp.WSServerHandshakeError as error:
            if error.status != 503 or tried == TRIES:
                raise
            await asyncio.sleep(float(error.headers["Retry-After"] if error.headers else 1))
    async with socket:
        yield socket


@asynccontextmanager
async def running_call(
    kept: Kept, session: aiohttp.ClientSession, key: str
) -> AsyncIterator[tuple[aiohttp.ClientWebSocketResponse, str]]:
    """A call over a WebSocket, and its id."""
    async with opened_socket(kept, session, key) as socket:
        token = (await told(socket, "voiceagent.resume"))["token"]
        yield socket, call_of_token(token)


async def told(socket: aiohttp.ClientWebSocketResponse, kind: str) -> dict[str, Any]:
    """The next event of a kind."""
    while (event := await socket.receive_json())["type"] != kind:
        pass
    return dict(event)


async def end_told(socket: aiohttp.ClientWebSocketResponse) -> str:
    """The reason of the call's end, after which the connection closes."""
    reason = str((await told(socket, "voiceagent.call_ended"))["reason"])
    assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
    return reason


async def _socket(kept: Kept, session: aiohttp.ClientSession, key: str, call_id: str) -> int:
    return await socket_opened(kept, session, key, by_header=True)


async def _page_socket(kept: Kept, session: aiohttp.ClientSession, key: str, call_id: str) -> int:
    return await socket_opened(kept, session, key, by_header=False, origin=SHOP)


async def _offer(kept: Kept, session: aiohttp.ClientSession, key: str, call_id: str) -> int:
    return await offered(kept, session, await an_offer(), key)


async def _sideband(kept: Kept, session: aiohttp.ClientSession, key: str, call_id: str) -> int:
    return await socket_opened(kept, session, key, by_header=True, query=f"call_id={call_id}")


async def _client_secrets(kept: Kept, session: aiohttp.ClientSession, key: str, call_id: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    async with session.post(f"{kept.server.url}{SECRETS}", json={}, headers=headers) as answer:
        return answer.status


DOORS = {
    "a WebSocket": _socket,
    "a WebSocket of a page": _page_socket,
    "an offer": _offer,
    "a sideband": _sideband,
    "client secrets": _client_secrets,
}
"""The ways in. Each tries a key, the last one with the id of a running call of another key, and gives the status."""


@pytest.mark.parametrize("way", DOORS)
async def test_no_wrong_expired_or_replayed_credential_opens_a_door(kept: Kept, way: str) -> None:
    door = DOORS[way]
    async with aiohttp.ClientSession() as session:
        once = await secret_of(kept, session, voiceagent={"once": True})
        others_secret = await secret_of(kept, session)
        async with running_call(kept, session, once), running_call(kept, session, kept.key) as (_, call_id):
            wrong = {
                "a wrong key": f"va_00000000_{'A' * 43}",
                "a changed key": changed(kept.key)[2],
                "the id of a key": kept.file.read()[0].id,
                "a wrong secret": f"ek_{'A' * 43}",
                "a changed secret": changed(others_secret)[2],
                "an expired secret": kept.expiring,
                "a wrong token of a running call": f"{RESUME_PREFIX}{call_id.removeprefix('rtc_')}{'A' * 43}",
                "no key": "",
            }
            if way == "client secrets":
                wrong["a right secret"] = others_secret
            await until_refused(kept, session, kept.expiring)
            before = await calls_begun(kept, session)
            statuses = await asyncio.gather(*(door(kept, session, key, call_id) for key in wrong.values()))
            assert dict(zip(wrong, statuses, strict=True)) == {name: 403 if name == "a right secret" else 401 for name in wrong}
            if way != "client secrets":
                replayed = await door(kept, session, once, call_id)
                assert replayed == (404 if way == "a sideband" else 401), "a secret for one call joins only that one"
            assert await calls_begun(kept, session) == before
            assert await door(kept, session, kept.key, call_id) in (101, 200, 201), "a right key does"


async def test_a_secret_opens_no_other_door(kept: Kept) -> None:
    async with aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {await secret_of(kept, session)}"}
        for method, path in (
            ("POST", SECRETS),
            ("DELETE", SECRETS),
            ("GET", "/metrics"),
            ("POST", "/v1/voiceagent/drain"),
            ("POST", "/v1/voiceagent/dial"),
            ("GET", f"{CALLS}/../../../metrics"),
            ("POST", f"{CALLS}/rtc_1/../../client_secrets"),
            ("POST", "/v1/realtime/client_secrets/"),
            ("POST", "//v1/realtime/client_secrets"),
            ("POST", "/v1/realtime%2Fclient_secrets"),
        ):
            async with session.request(method, f"{kept.server.url}{path}", headers=headers, json={}) as answer:
                assert answer.status in (401, 403, 404, 405), (method, path)


def test_ten_thousand_secrets_with_large_sessions_take_bounded_memory() -> None:
    secrets = ClientSecrets()
    tracemalloc.start()
    try:
        taken = 0
        for number in range(10_000):
            try:
                secrets.issue(("shop", ""), {"instructions": "x" * 4000}, ("instructions",), "", 7200, once=bool(number % 2))
                taken += 1
            except Problem:
                pass
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert taken == len(secrets) <= MAX_OF_A_KEY
    assert used < 2 * MAX_BYTES_OF_A_KEY
    secrets.issue(("other", ""), {}, (), "", 600, once=False)
