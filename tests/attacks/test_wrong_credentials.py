"""Wrong, changed, expired, replayed and revoked keys and client secrets, and those of another site, never connect: not by HTTP,
not by WebSocket."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from tests.media.test_connections import offer_of
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.errors import MediaError
from voiceagent.server.access.client_secrets import MAX_BYTES_OF_A_KEY, MAX_OF_A_KEY, ClientSecrets
from voiceagent.server.access.key_file import KeyFile
from voiceagent.server.http.problems import Problem

SHOP, EVIL = "https://shop.example", "https://evil.example"
SECRETS, CALLS = "/v1/realtime/client_secrets", "/v1/realtime/calls"
ENVIRONMENT = "the-key-of-the-environment-01"


@dataclass(frozen=True)
class Kept:
    """A server and the keys that it was started with."""

    server: ServerProcess
    file: KeyFile
    key: str
    other: str


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    data = tmp_path_factory.mktemp("server")
    file = KeyFile(data / "keys.json")
    key, other = file.add("shop"), file.add("leaked")
    config = data / "agent.yaml"
    config.write_text(f"http: {{allowed_origins: ['{SHOP}']}}\n")
    with running_server(data, "--config", str(config), environment={"VOICEAGENT_KEYS": ENVIRONMENT}) as server:
        yield Kept(server, file, key, other)
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
        assert key not in body
        return answer.status


async def socket_opened(kept: Kept, session: aiohttp.ClientSession, key: str, *, by_header: bool, origin: str = "") -> int:
    """The status of a WebSocket's handshake."""
    protocols = ("realtime",) if by_header else ("realtime", f"openai-insecure-api-key.{key}")
    headers = {"Authorization": f"Bearer {key}"} if by_header else {}
    try:
        async with session.ws_connect(
            f"{kept.server.url}/v1/realtime?model=any", protocols=protocols, headers=headers, origin=origin or None
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


async def test_a_revoked_key_and_its_secrets_never_connect_again(kept: Kept) -> None:
    offer = await an_offer()
    async with aiohttp.ClientSession() as session:
        secret = await secret_of(kept, session, kept.other)
        kept.file.revoke("leaked")
        kept.file.add("leaked")
        await until_refused(kept, session, kept.other)
        for key in (kept.other, secret):
            assert await offered(kept, session, offer, key) in (401, 429)
            assert await socket_opened(kept, session, key, by_header=False) in (401, 429)
        assert await offered(kept, session, offer, kept.key) == 201


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
