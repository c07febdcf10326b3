"""A key that takes all it can get leaves enough for others. Nobody ends the call of another key. Keys are not guessed fast."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.attacks.figures import at_least, hold, within
from tests.media.test_connections import offer_of
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.errors import MediaError

HOG, HONEST = "the-key-of-the-hog-0001", "the-key-of-the-other-02"
HONEST_CALLS = 40
SUCCESS = 95.0
BUSY = "carries no more calls at the moment"
RETRY_S = 0.5
TOGETHER_S = 300.0
"""All calls are over in that time, however busy the machine is."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VOICEAGENT_KEYS", f"{HOG},{HONEST}")
        with running_server(tmp_path_factory.mktemp("server")) as running:
            yield running


async def offer_of_a_call() -> str:
    """An offer that can be answered, from a peer that does not stay to connect."""
    peer, sdp = await offer_of()
    await peer.close()
    return sdp


@asynccontextmanager
async def hogging(url: str, at_once: int = 8) -> AsyncIterator[list[int]]:
    """Offers that never connect, as fast as they are answered; what they were answered with."""
    statuses: list[int] = []
    offer = await offer_of_a_call()
    headers = {"Content-Type": "application/sdp", "Authorization": f"Bearer {HOG}"}

    async def offer_again_and_again(session: aiohttp.ClientSession) -> None:
        while True:
            async with session.post(f"{url}/v1/realtime/calls", data=offer, headers=headers) as answer:
                statuses.append(answer.status)
            await asyncio.sleep(0.02)

    async with aiohttp.ClientSession() as session:
        tasks = [asyncio.create_task(offer_again_and_again(session)) for _ in range(at_once)]
        try:
            yield statuses
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def is_answered(url: str) -> bool:
    """True if a call was let in and heard the agent. A server whose event loop is late says so, whoever calls: then the call is
    made again. That all lines are in use is no such answer."""
    while True:
        try:
            async with Caller(url, HONEST) as caller:
                await caller.wait_heard(0.0)
                return True
        except MediaError as error:
            print(error)
            if BUSY not in str(error):
                return False
        await asyncio.sleep(RETRY_S)


async def test_half_open_calls_of_one_key_do_not_keep_another_out(server: ServerProcess) -> None:
    answered = 0
    async with asyncio.timeout(TOGETHER_S), hogging(server.url) as statuses:
        for _ in range(HONEST_CALLS):
            answered += await is_answered(server.url)
    hold(at_least("calls of a key that succeed beside another key's half-open ones", 100 * answered / HONEST_CALLS, SUCCESS, "%"))
    assert 429 in statuses
    assert set(statuses) <= {201, 429, 503}


async def test_nobody_hangs_up_the_call_of_another_key(server: ServerProcess) -> None:
    async with Caller(server.url, HONEST) as caller, aiohttp.ClientSession() as session:
        for path, send in ((f"{caller.location}/hangup", session.post), (caller.location, session.delete)):
            async with send(f"{server.url}{path}", headers={"Authorization": f"Bearer {HOG}"}) as answer:
                assert answer.status == 404
        await caller.wait_heard(0.0)
        assert not caller.end_reason
        async with session.delete(f"{server.url}{caller.location}", headers={"Authorization": f"Bearer {HONEST}"}) as answer:
            assert answer.status == 200
        assert await caller.wait_ended() == "ended"


async def test_no_client_drains_the_server(server: ServerProcess) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{server.url}/v1/voiceagent/drain", headers={"Authorization": f"Bearer {HOG}"}) as answer,
    ):
        assert (answer.status, (await answer.json())["error"]["code"]) == (403, "operator_only")
    async with Caller(server.url, HONEST) as caller:
        await caller.wait_heard(0.0)


async def test_keys_are_not_guessed_fast_and_a_right_key_does_not_wait(server: ServerProcess) -> None:
    async with aiohttp.ClientSession() as session:

        async def ask(key: str) -> tuple[int, float]:
            began_s = time.monotonic()
            async with session.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {key}"}) as answer:
                await answer.read()
                return answer.status, time.monotonic() - began_s

        found = [await ask("wrong") for _ in range(8)]
        assert {status for status, _ in found} == {401}
        assert sum(took_s > 0.9 for _, took_s in found) >= 2
        guesses = [asyncio.create_task(ask(f"guess-{number}")) for number in range(90)]
        status, took_s = await ask(HONEST)
        assert status == 200
        hold(within("90 guessed keys: answer to a right one", took_s, 0.5, "s"))
        assert {status for status, _ in await asyncio.gather(*guesses)} == {401, 429}
        async with session.get(f"{server.url}/metrics", headers={"Authorization": f"Bearer {HONEST}"}) as answer:
            assert "voiceagent_wrong_keys_total 98" in await answer.text()
