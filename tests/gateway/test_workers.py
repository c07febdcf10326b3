"""A real `voiceagent serve --workers 2`: calls at both workers, whatever belongs to a call at its worker, and a worker that is
killed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from tests.calls.scripted_model import NO_TOOLS, Message, agent_on
from tests.calls.socket_caller import SocketCaller
from tests.server_process import ServerProcess
from voiceagent.client.caller import Caller
from voiceagent.gateway.seat import VARIABLE
from voiceagent.server.calls.call_ids import worker_of

pytestmark = pytest.mark.asyncio(loop_scope="module")

KEY, OTHER, OPERATOR = "a-key-of-the-front-desk", "a-key-of-somebody-else", "a-key-of-the-operator"
KEYS = {
    "VOICEAGENT_KEYS": f"{KEY},{OTHER}",
    "VOICEAGENT_OPERATOR_KEYS": OPERATOR,
    "VOICEAGENT_MONITOR_KEYS": "a-key-of-a-monitor",
}
SETTINGS = """
turn: {resume_timeout_s: 5}
phrases: {greeting: ''}
admission: {max_calls: 8, per_client: {calls: 3, offers_per_s: 100}}
"""


def says(messages: list[Message]) -> str:
    return "You are welcome."


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        folder = tmp_path_factory.mktemp("workers")
        async with agent_on(folder, says, NO_TOOLS, SETTINGS, "--workers", "2", "--log-format", "json") as running:
            yield running


async def asked(server: ServerProcess, method: str, path: str, key: str = KEY, **more: Any) -> tuple[int, Any]:
    """The status of an answer, and its body."""
    headers = {"Authorization": f"Bearer {key}"}
    async with aiohttp.ClientSession() as http, http.request(method, f"{server.url}{path}", headers=headers, **more) as answer:
        text = await answer.text()
        return answer.status, json.loads(text) if text.startswith("{") else text


async def until(
    server: ServerProcess, path: str, holds: Callable[[Any], bool], key: str = OPERATOR, timeout_s: float = 40
) -> Any:
    """Wait until the server's answer is such."""
    found: Any = None
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                found = (await asked(server, "GET", path, key))[1]
                if holds(found):
                    return found
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"{path} stayed {found}; {server.said()[-20:]}") from None


async def begun(caller: SocketCaller) -> int:
    """The worker of a call, once it has begun."""
    await caller.until(lambda: bool(caller.token))
    assert worker_of(caller.token) == worker_of(caller.call_id)
    return worker_of(caller.call_id)


def pid_of(server: ServerProcess, worker: int) -> int:
    """The process of a worker."""
    parent = server.process.pid
    for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        found = re.search(rf"{VARIABLE}=(\{{.*?\}})\0", Path(f"/proc/{child}/environ").read_text())
        if found and json.loads(found[1])["number"] == worker:
            return int(child)
    raise AssertionError(f"worker {worker} has no process")


async def places_taken(server: ServerProcess, number: int) -> None:
    """Wait until so many calls have places. The place of a call is given back when all of it has ended, which is later than its
    end is told."""

    def holds(metrics: str) -> bool:
        active = re.findall(r'^voiceagent_calls_active\{worker="\d"\} (.+)$', metrics, re.MULTILINE)
        return sum(map(float, active)) == number

    await until(server, "/metrics", holds)


def call(server: ServerProcess, key: str) -> SocketCaller:
    """A call, once the server is not busy."""
    return SocketCaller(server.url, key, patient=True)


@asynccontextmanager
async def one_at_each(server: ServerProcess, other_key: str = OTHER) -> AsyncIterator[tuple[SocketCaller, SocketCaller]]:
    """A call at each worker. Where one is busy for a moment, new calls go to the other: then it is asked again."""
    async with call(server, KEY) as one, asyncio.timeout(90):
        first = await begun(one)
        while True:
            async with call(server, other_key) as two:
                if await begun(two) != first:
                    yield one, two
                    return
            await places_taken(server, 1)


async def test_new_calls_are_spread_and_whatever_is_of_a_call_finds_its_worker(server: ServerProcess) -> None:
    async with one_at_each(server) as (one, two):
        await one.write("Hello.")
        await one.wait("response.done")
        for caller, key in ((one, KEY), (two, OTHER)):
            async with aiohttp.ClientSession() as http:
                address = f"{server.url}/v1/realtime?call_id={caller.call_id}"
                sideband = await http.ws_connect(address, headers={"Authorization": f"Bearer {key}"})
                first = await sideband.receive_json(timeout=10)
                assert first["type"] == "session.created"
                await sideband.close()
            assert (await asked(server, "GET", f"/v1/calls/{caller.call_id}/prompts", key))[0] == 403, "it is no operator"
        seen = await until(server, "/v1/voiceagent/monitor", lambda found: found["running"] == 2)
        assert {call["id"] for call in seen["calls"]} == {one.call_id, two.call_id}
        metrics = await until(server, "/metrics", lambda text: 'voiceagent_calls_active{worker="2"} 1.0' in text)
        assert 'voiceagent_calls_active{worker="1"} 1.0' in metrics
        assert 'voiceagent_workers{worker="front",phase="ready"} 2.0' in metrics
        assert (await asked(server, "POST", f"/v1/realtime/calls/{one.call_id}/hangup", OTHER))[0] == 404, "it is another key's"
        assert (await asked(server, "POST", f"/v1/realtime/calls/{one.call_id}/hangup", KEY))[0] == 200
        await one.wait("voiceagent.call_ended")
    await until(server, "/v1/voiceagent/monitor", lambda found: not found["running"])
    status, body = await asked(server, "POST", f"/v1/realtime/calls/{one.call_id}/hangup", KEY)
    assert (status, body["error"]["code"]) == (404, "call_not_found")


async def test_the_monitor_streams_the_calls_of_all_workers(server: ServerProcess) -> None:
    headers = {"Authorization": f"Bearer {OPERATOR}", "Accept": "text/event-stream"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{server.url}/v1/voiceagent/monitor", headers=headers) as stream,
        one_at_each(server) as (one, two),
    ):
        assert stream.content_type == "text/event-stream"
        async with asyncio.timeout(20):
            async for line in stream.content:
                calls = json.loads(line[5:]).get("calls", ()) if line.startswith(b"data:") else ()
                if {call["id"] for call in calls} == {one.call_id, two.call_id}:
                    break
    status, body = await asked(server, "GET", "/v1/voiceagent/monitor", KEY)
    assert (status, body["error"]["code"]) == (403, "monitor_only")


async def test_a_calls_events_are_followed_at_its_worker(server: ServerProcess) -> None:
    headers = {"Authorization": "Bearer a-key-of-a-monitor"}
    async with call(server, KEY) as caller, aiohttp.ClientSession() as http:
        await begun(caller)
        async with http.get(f"{server.url}/v1/calls/{caller.call_id}/events", headers=headers) as stream:
            first = await stream.content.readline()
            assert first == b"id: 1\n"
            await caller.hang_up()
            async with asyncio.timeout(10):
                assert b"call.ended" in await stream.content.read()
    status, kept = await asked(server, "GET", f"/v1/calls/{caller.call_id}/events?from=1", "a-key-of-a-monitor")
    assert (status, "call.ended" in kept) == (200, True), "also when it is over"


async def test_a_call_over_webrtc_and_its_end_by_id(server: ServerProcess) -> None:
    async with Caller(server.url, KEY) as caller:
        assert caller.transport == "webrtc"
        call_id = caller.location.rsplit("/", 1)[-1]
        assert worker_of(call_id) in (1, 2)
        await until(server, "/v1/voiceagent/monitor", lambda found: [call["id"] for call in found["calls"]] == [call_id])
        assert (await asked(server, "DELETE", caller.location))[0] == 200
        await until(server, "/v1/voiceagent/monitor", lambda found: not found["calls"])


async def test_a_lost_connection_is_taken_up_at_the_calls_worker(server: ServerProcess) -> None:
    async with call(server, OTHER) as other, call(server, KEY) as caller:
        await begun(other)
        worker = await begun(caller)
        await caller.cut()
        await caller.resume()
        assert worker_of(caller.call_id) == worker
        assert len({event["session"]["voiceagent"]["call_id"] for event in caller.named("session.created")}) == 1


async def test_a_client_secret_begins_its_call_where_it_was_issued(server: ServerProcess) -> None:
    asks = (asked(server, "POST", "/v1/realtime/client_secrets", json={"voiceagent": {"once": True}}) for _ in range(8))
    secrets = {worker_of(body["value"]): body["value"] for _, body in await asyncio.gather(*asks)}
    assert set(secrets) <= {1, 2}
    for worker, secret in secrets.items():
        async with SocketCaller(server.url, secret) as caller:
            assert await begun(caller) == worker
        status, body = await asked(server, "POST", "/v1/realtime/calls", secret, data="v=0", skip_auto_headers=["Content-Type"])
        assert (status, body["error"]["code"]) == (401, "client_secret_used")
    assert await asked(server, "DELETE", "/v1/realtime/client_secrets") == (200, {"revoked": 8}), "of both workers"


async def test_a_keys_quota_is_exact_over_both(server: ServerProcess) -> None:
    await places_taken(server, 0)
    async with one_at_each(server, KEY):
        await places_taken(server, 2)
        async with call(server, KEY) as third:
            await begun(third)
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                await SocketCaller(server.url, KEY).__aenter__()
            assert refused.value.status == 429
            async with call(server, OTHER) as other:
                await begun(other)
        await places_taken(server, 2)
        async with call(server, KEY) as again:
            await begun(again)


async def test_a_written_conversation_stays_at_its_worker(server: ServerProcess) -> None:
    hello, more = {"role": "user", "content": "Hello."}, {"role": "user", "content": "And now?"}
    asks = [[hello], [hello, {"role": "assistant", "content": "You are welcome."}, more]]
    found = [await asked(server, "POST", "/v1/chat/completions", json={"model": "voiceagent", "messages": each}) for each in asks]
    assert [status for status, _ in found] == [200, 200], found
    assert len({worker_of(body["id"]) for _, body in found}) == 1


async def test_those_who_guess_are_slowed_over_both(server: ServerProcess) -> None:
    loop = asyncio.get_running_loop()

    async def guess(number: int) -> float:
        began_s = loop.time()
        assert (await asked(server, "GET", "/v1/voiceagent/about", f"wrong {number}"))[0] == 401
        return loop.time() - began_s

    spent_s = sorted(await asyncio.gather(*map(guess, range(8))))
    assert spent_s[5] >= 1.0, "five are free at once, at both workers together"


async def test_the_page_and_a_request_that_is_too_large_are_answered_as_without_workers(server: ServerProcess) -> None:
    async with aiohttp.ClientSession() as http, http.get(f"{server.url}/") as page:
        assert page.status == 200
        assert "script-src 'self'" in page.headers["Content-Security-Policy"]
        assert page.headers["Content-Encoding"] == "gzip"
        assert (await page.text()).startswith("<!doctype html>")
        tag = page.headers["ETag"]
    async with aiohttp.ClientSession() as http, http.get(f"{server.url}/", headers={"If-None-Match": tag}) as page:
        assert page.status == 304
    async with aiohttp.ClientSession() as http, http.head(f"{server.url}/") as page:
        assert int(page.headers["Content-Length"]) > 1000
    assert (await asked(server, "POST", "/v1/realtime/calls", data=b"x" * 200_000))[0] == 413
    assert (await asked(server, "PATCH", "/v1/realtime/calls"))[0] == 405
    status, body = await asked(server, "GET", "/v1/nothing")
    assert (status, body["error"]["code"]) == (404, "not_found")


async def restarts(server: ServerProcess) -> float:
    """How many workers were started anew."""
    metrics = (await asked(server, "GET", "/metrics", OPERATOR))[1]
    counts = re.findall(r'^voiceagent_worker_restarts_total\{worker="front",number="\d"\} (.+)$', metrics, re.MULTILINE)
    return sum(map(float, counts))


async def test_a_drained_worker_ends_with_its_calls_and_is_started_anew(server: ServerProcess) -> None:
    async with one_at_each(server) as (one, two):
        first, second = await begun(one), await begun(two)
        before = pid_of(server, first)
        assert (await asked(server, "POST", f"/v1/voiceagent/drain?worker={first}", KEY))[0] == 403
        status, body = await asked(server, "POST", f"/v1/voiceagent/drain?worker={first}", OPERATOR)
        assert (status, body["calls"], body["workers"]) == (202, 1, 1)
        await one.wait("voiceagent.draining")
        await until(server, "/readyz", lambda found: found["workers"] == 1)
        async with call(server, KEY) as new:
            assert await begun(new) == second
        await one.write("Are you still there?")
        await one.wait("response.done")
    await until(server, "/readyz", lambda found: found["ready"] and found["workers"] == 2)
    assert pid_of(server, first) != before
    assert f"worker {first} has drained; it is started anew" in "\n".join(server.said())
    status, body = await asked(server, "POST", "/v1/voiceagent/drain?worker=9", OPERATOR)
    assert (status, body["error"]["code"]) == (404, "no_such_worker")


async def test_a_killed_worker_is_started_anew_and_the_others_calls_go_on(server: ServerProcess) -> None:
    before = await restarts(server)
    async with one_at_each(server) as (one, two):
        first, second = await begun(one), await begun(two)
        os.kill(pid_of(server, first), signal.SIGKILL)
        await one.until(lambda: one.closed[0] is not None)
        async with call(server, KEY) as new:
            assert await begun(new) == second, "the other is being started"
        await two.write("Hello.")
        await two.wait("response.done")
        seen = await until(server, "/v1/voiceagent/monitor", lambda found: found["running"] == 1)
        assert [call["id"] for call in seen["calls"]] == [two.call_id]
        status, body = await asked(server, "POST", f"/v1/realtime/calls/{one.call_id}/hangup")
        assert (status, body["error"]["code"]) == (404, "call_not_found"), "another worker says so"
        await until(server, "/readyz", lambda found: found["workers"] == 2)
        assert await restarts(server) == before + 1
        async with call(server, KEY) as again:
            await begun(again)
    assert f"worker {first} has ended (signal 9); it is started anew" in "\n".join(server.said())
