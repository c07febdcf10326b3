"""Requests passed on to workers that refuse, break off, or have gone. Each worker is a small application on a socket of its
own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from yarl import URL

from voiceagent.gateway.front import Front
from voiceagent.gateway.front_metrics import FrontMetrics
from voiceagent.gateway.members import LinkedMembers, Member
from voiceagent.gateway.messages import WorkerStatus
from voiceagent.gateway.proxy import Proxy
from voiceagent.gateway.upstream import UpstreamError, ask
from voiceagent.server.access.origins import Origins
from voiceagent.server.http.behind_front import KEY_HEADER, PEER_HEADER, BehindFront
from voiceagent.server.http.connections import Connections
from voiceagent.server.http.listening import Listening
from voiceagent.server.http.problems import Problem

SHOP = "https://shop.example"
READY = WorkerStatus("ready", "", 0, 8)
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Gateway:
    """A front with workers that a test makes."""

    folder: Path
    stack: AsyncExitStack
    members: LinkedMembers = field(default_factory=LinkedMembers)
    metrics: FrontMetrics = field(default_factory=FrontMetrics)
    url: str = ""
    http: aiohttp.ClientSession = field(init=False)
    asked: list[int] = field(default_factory=list)
    """The numbers of the workers that were asked, in order."""

    async def worker(self, answer: Answer, status: WorkerStatus = READY, *, cancels: bool = True) -> int:
        """A worker that answers like this, and whose handlers end with their client unless told otherwise."""
        number = len(self.members.living()) + 1

        async def handle(request: web.Request) -> web.StreamResponse:
            self.asked.append(number)
            return await answer(request)

        app = web.Application(middlewares=[BehindFront("").middleware()])
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, handler_cancellation=cancels, shutdown_timeout=0.1)
        await runner.setup()
        self.stack.push_async_callback(runner.cleanup)
        path = self.folder / str(number)
        await web.UnixSite(runner, str(path)).start()
        self.members.told(Member(number, f"unix:{path}"), status)
        return number

    def ws(self) -> str:
        return self.url.replace("http", "ws")


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[Gateway]:
    async with AsyncExitStack() as stack:
        found = Gateway(tmp_path, stack)
        front = Front(found.members, found.metrics, Proxy(found.members), 2, Origins((SHOP,), keys_needed=lambda: True))
        runner = web.AppRunner(front.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        stack.push_async_callback(runner.cleanup)
        assert runner.server is not None
        listening = Listening(runner.server, Connections(found.metrics.http), found.metrics.http)
        found.url = f"http://127.0.0.1:{await listening.open('127.0.0.1', 0)}"
        stack.push_async_callback(listening.close)
        found.http = await stack.enter_async_context(aiohttp.ClientSession())
        yield found


async def full(_: web.Request) -> web.Response:
    return Problem(503, "server_full", "All lines of this server are in use.", retry_after_s=15).response()


async def takes(request: web.Request) -> web.Response:
    return web.Response(status=201, body=await request.read(), headers={"Location": "/v1/realtime/calls/x"})


async def test_a_call_goes_on_to_a_worker_that_has_room(gateway: Gateway) -> None:
    await gateway.worker(full)
    await gateway.worker(takes, WorkerStatus("ready", "", 4, 8))
    async with gateway.http.post(f"{gateway.url}/v1/realtime/calls", data=b"v=0") as answer:
        assert (answer.status, await answer.read()) == (201, b"v=0")
    assert gateway.asked == [1, 2]


async def test_a_refusal_of_all_reaches_the_caller_and_full_workers_are_not_asked_in_vain(gateway: Gateway) -> None:
    for _ in range(3):
        await gateway.worker(full, WorkerStatus("ready", "", 8, 8))
    async with gateway.http.post(f"{gateway.url}/v1/realtime/calls", data=b"v=0") as answer:
        assert answer.status == 503
        assert answer.headers["Retry-After"] == "15"
        assert (await answer.json())["error"]["code"] == "server_full"
    assert len(gateway.asked) == 1


async def wrong(_: web.Request) -> web.Response:
    return Problem(401, "invalid_api_key", "The resume token is wrong.").response()


@pytest.mark.parametrize("owner", [1, 2, 3])
async def test_a_resume_token_is_brought_to_the_worker_where_its_call_goes_on(gateway: Gateway, owner: int) -> None:
    for answers in (wrong, wrong, takes):
        await gateway.worker(answers)
    token = f"rs_{owner:04x}{'0' * 20}{'A' * 43}"
    async with gateway.http.post(f"{gateway.url}/v1/realtime/calls", headers={"Authorization": f"Bearer {token}"}) as answer:
        assert answer.status == 201
    assert (gateway.asked[0], gateway.asked[-1]) == (owner, 3)


async def test_a_resume_token_that_no_worker_knows_is_refused(gateway: Gateway) -> None:
    for _ in range(2):
        await gateway.worker(wrong)
    await gateway.worker(takes, WorkerStatus("loading", "", 0, 8))
    headers = {"Authorization": f"Bearer rs_0001{'0' * 20}{'A' * 43}"}
    async with gateway.http.post(f"{gateway.url}/v1/realtime/calls", headers=headers) as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (401, "invalid_api_key")
    assert gateway.asked == [1, 2]


async def test_a_worker_that_has_gone_is_passed_over_and_not_asked_again(gateway: Gateway) -> None:
    gone = await gateway.worker(takes)
    await gateway.worker(takes, WorkerStatus("ready", "", 4, 8))
    (gateway.folder / str(gone)).unlink()
    for _ in range(2):
        async with gateway.http.post(f"{gateway.url}/whip", data=b"v=0") as answer:
            assert answer.status == 201
    assert gateway.asked == [2, 2]
    assert [member.number for member in gateway.members.living()] == [2]


async def test_without_workers_the_server_says_so(gateway: Gateway) -> None:
    async with gateway.http.get(f"{gateway.url}/readyz") as answer:
        assert (answer.status, (await answer.json())["ready"]) == (503, False)
    async with gateway.http.post(f"{gateway.url}/v1/realtime/calls", data=b"v=0") as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (503, "not_ready")
    async with gateway.http.get(f"{gateway.url}/metrics") as answer:
        assert answer.status == 503


async def test_the_clients_address_reaches_the_worker_and_cannot_be_forged(gateway: Gateway) -> None:
    async def shows(request: web.Request) -> web.Response:
        return web.json_response({"remote": request.remote, "host": request.host, "path": request.raw_path})

    await gateway.worker(shows)
    forged = {PEER_HEADER.lower(): "203.0.113.9", "Host": "voice.example.org", KEY_HEADER: "x"}
    async with gateway.http.get(URL(f"{gateway.url}/v1/models?a=%2F&b=c%20d", encoded=True), headers=forged) as answer:
        assert await answer.json() == {"remote": "127.0.0.1", "host": "voice.example.org", "path": "/v1/models?a=%2F&b=c%20d"}


async def test_a_worker_over_tcp_takes_only_who_has_the_clusters_key(gateway: Gateway) -> None:
    async def shows(request: web.Request) -> web.Response:
        return web.json_response({"remote": request.remote})

    app = web.Application(middlewares=[BehindFront("http://127.0.0.1:1", "a-secret").middleware()])
    app.router.add_get("/", shows)
    runner = web.AppRunner(app)
    await runner.setup()
    gateway.stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    for key, status in (("", 403), ("wrong", 403), ("a-secret", 200)):
        answer = await ask(
            address, "GET", "/", [("Host", "x"), (KEY_HEADER, key), (PEER_HEADER, "192.0.2.7"), ("Connection", "close")]
        )
        body = await answer.body(1000)
        await answer.close()
        assert answer.status == status
    assert body == b'{"remote": "192.0.2.7"}'


async def test_a_stream_arrives_as_it_is_sent_and_ends_with_its_client(gateway: Gateway) -> None:
    read, over = asyncio.Event(), asyncio.Event()

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            await response.write(b"data: 1\n\n")
            await read.wait()
            await response.write(b"data: 2\n\n")
            await asyncio.Event().wait()
        finally:
            over.set()
        return response

    await gateway.worker(stream)
    async with gateway.http.get(f"{gateway.url}/v1/calls/x/events") as answer:
        assert await answer.content.readline() == b"data: 1\n"
        read.set()
        assert [await answer.content.readline() for _ in range(2)] == [b"\n", b"data: 2\n"]
        answer.close()
    await asyncio.wait_for(over.wait(), 5)


@pytest.mark.parametrize("length", [None, 2_000_000, 20])
async def test_an_answer_that_breaks_off_does_not_look_whole(gateway: Gateway, length: int | None) -> None:
    async def breaks(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        response.content_length = length
        await response.prepare(request)
        await response.write(b"0123456789")
        assert request.transport is not None
        request.transport.abort()
        return response

    await gateway.worker(breaks)
    async with gateway.http.get(f"{gateway.url}/v1/calls/x/recording") as answer:
        if length == 20:  # it is read before it is passed on
            assert answer.status == 503
            assert (await answer.json())["error"]["code"] == "worker_lost"
        else:
            with pytest.raises(aiohttp.ClientPayloadError):
                await answer.read()


async def test_a_waiting_caller_who_leaves_is_noticed_by_the_worker(gateway: Gateway) -> None:
    waits, over = asyncio.Event(), asyncio.Event()

    async def wait(request: web.Request) -> web.Response:
        try:
            waits.set()
            await asyncio.Event().wait()
        finally:
            over.set()
        return web.Response()

    await gateway.worker(wait)
    asking = asyncio.ensure_future(gateway.http.post(f"{gateway.url}/v1/realtime/calls", data=b"v=0"))
    await waits.wait()
    asking.cancel()
    await asyncio.wait_for(over.wait(), 5)


async def test_a_websocket_passes_both_ways_with_its_end(gateway: Gateway) -> None:
    closed: asyncio.Queue[int | None] = asyncio.Queue()

    async def echoes(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("realtime",), max_msg_size=0)
        await socket.prepare(request)
        async for message in socket:
            if message.data == "end":
                await socket.close(code=4001, message=b"over")
            else:
                await socket.send_str(message.data)
        closed.put_nowait(socket.close_code)
        return socket

    await gateway.worker(echoes, cancels=False)
    async with gateway.http.ws_connect(f"{gateway.ws()}/v1/realtime", protocols=("realtime",), max_msg_size=0) as socket:
        assert socket.protocol == "realtime"
        for size in (1, 70_000, 3_000_000):
            await socket.send_str("x" * size)
            assert len(await socket.receive_str(timeout=10)) == size
        await socket.send_str("last")
    assert await asyncio.wait_for(closed.get(), 5) == 1000, "the client hung up, and was not lost"
    async with gateway.http.ws_connect(f"{gateway.ws()}/v1/realtime") as socket:
        await socket.send_str("end")
        message = await socket.receive(timeout=5)
        assert (message.type, message.data, message.extra) == (aiohttp.WSMsgType.CLOSE, 4001, "over")
    lost = await gateway.http.ws_connect(f"{gateway.ws()}/v1/realtime")
    assert lost._conn is not None
    assert lost._conn.transport is not None
    await closed.get()
    lost._conn.transport.abort()
    assert await asyncio.wait_for(closed.get(), 5) in (None, 1006), "the network lost it"


async def test_what_a_client_sent_last_arrives_although_it_has_gone(gateway: Gateway) -> None:
    heard: list[str] = []
    goes_on, over = asyncio.Event(), asyncio.Event()

    async def listens(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        await goes_on.wait()
        heard.extend([message.data[:1] async for message in socket])
        over.set()
        return socket

    await gateway.worker(listens, cancels=False)
    async with gateway.http.ws_connect(f"{gateway.ws()}/v1/realtime") as socket:
        for number in range(9):
            await socket.send_str(f"{number}" * 20_000)
        assert socket._conn is not None
        assert socket._conn.transport is not None
        socket._conn.transport.close()
    goes_on.set()
    await asyncio.wait_for(over.wait(), 5)
    assert heard == list("012345678")


async def test_a_websocket_that_is_refused_gets_the_answer(gateway: Gateway) -> None:
    await gateway.worker(full)
    await gateway.worker(full, WorkerStatus("ready", "", 1, 8))
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await gateway.http.ws_connect(f"{gateway.ws()}/v1/realtime")
    assert refused.value.status == 503
    assert gateway.asked == [1, 2]
    with pytest.raises(UpstreamError):
        await ask("unix:/nowhere", "GET", "/", [])


@pytest.mark.parametrize(("origin", "may_read"), [(SHOP, SHOP), ("https://evil.example", None)])
async def test_pages_that_may_call_can_read_why_no_worker_answers(gateway: Gateway, origin: str, may_read: str | None) -> None:
    async with gateway.http.post(f"{gateway.url}/v1/realtime/calls", headers={"Origin": origin}) as answer:
        assert answer.status == 503
        assert answer.headers.get("Access-Control-Allow-Origin") == may_read
        assert (await answer.json())["error"]["code"] == "not_ready"


async def test_the_headers_of_a_workers_answer_are_its_own(gateway: Gateway) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(headers={"Server": "voiceagent", "Access-Control-Allow-Origin": "*"})

    await gateway.worker(answer)
    async with gateway.http.get(f"{gateway.url}/v1/calls", headers={"Origin": SHOP}) as passed_on:
        assert passed_on.headers.getall("Access-Control-Allow-Origin") == ["*"]
