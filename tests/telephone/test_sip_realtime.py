"""Calls of a real SIP phone under the control of OpenAI's own client: the webhook, accept, reject, refer, events, hang-up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from openai import AsyncOpenAI, BadRequestError, ConflictError, InvalidWebhookSignatureError, NotFoundError

from tests.fakes import MakeService
from tests.telephone.logged_lines import Lines
from tests.telephone.sip_parts import HOST, WEBHOOK_SECRET, phone
from tests.telephone.sip_world import SipWorld, sip_world
from tests.telephone.test_sip_calls import an_exchange
from voiceagent.settings.telephone import CallWebhookSettings

if TYPE_CHECKING:
    from openai.resources.realtime.realtime import AsyncRealtimeConnection
    from openai.types.webhooks import RealtimeCallIncomingWebhookEvent


class Program:
    """The operator's program. It answers webhooks with `statuses`, then with 200."""

    def __init__(self) -> None:
        self.url = ""
        self.statuses: list[int] = []
        self.attempts: list[str] = []
        """The ids of the webhooks that came, each as often as it came."""
        self.rings: asyncio.Queue[RealtimeCallIncomingWebhookEvent] = asyncio.Queue()
        self.client = AsyncOpenAI(api_key="none", webhook_secret=WEBHOOK_SECRET)

    async def take(self, request: web.Request) -> web.Response:
        body = await request.text()
        event: Any = self.client.webhooks.unwrap(body, request.headers)
        with pytest.raises(InvalidWebhookSignatureError):
            self.client.webhooks.unwrap(body, request.headers, secret="whsec_b3RoZXI=")
        self.attempts.append(request.headers["webhook-id"])
        if self.statuses:
            return web.Response(status=self.statuses.pop(0))
        self.rings.put_nowait(event)
        return web.Response()


@asynccontextmanager
async def a_program() -> AsyncIterator[Program]:
    program, app = Program(), web.Application()
    app.router.add_post("/hook", program.take)
    async with TestServer(app, host=HOST) as server, program.client:
        program.url = str(server.make_url("/hook"))
        yield program


@asynccontextmanager
async def a_decided_line(
    folder: Path, make_service: MakeService, accept_timeout_s: float = 20.0
) -> AsyncIterator[tuple[SipWorld, Program, AsyncOpenAI]]:
    """A server whose calls wait for a program, and a client of that server."""
    async with a_program() as program:
        webhook = CallWebhookSettings(program.url, accept_timeout_s=accept_timeout_s)
        async with (
            sip_world(folder, make_service, webhook=webhook) as world,
            AsyncOpenAI(base_url=f"{world.url}/v1", api_key="none", max_retries=0) as client,
        ):
            yield world, program, client


async def test_a_program_rejects_a_call_and_the_phone_sees_its_status(tmp_path: Path, make_service: MakeService) -> None:
    async with (
        a_decided_line(tmp_path, make_service) as (world, program, client),
        phone(tmp_path, "alice", world.pbx_port) as alice,
    ):
        for many, (status, seen) in enumerate(((None, "603"), (486, "486")), 1):
            await alice.do("dial", world.uri("agent"))
            ring = await program.rings.get()
            headers = {header.name: header.value for header in ring.data.sip_headers}
            assert f"sip:alice@{HOST}" in headers["From"]
            assert "sip:agent@" in headers["To"]
            assert headers["Call-ID"]
            with pytest.raises(BadRequestError):
                await client.realtime.calls.reject(ring.data.call_id, status_code=200)
            if status is None:
                await client.realtime.calls.reject(ring.data.call_id)
            else:
                await client.realtime.calls.reject(ring.data.call_id, status_code=status)
            await alice.wait_told("CALL_CLOSED", many)
            assert seen in alice.told("CALL_CLOSED")[-1]["param"]
            with pytest.raises(NotFoundError):
                await client.realtime.calls.accept(ring.data.call_id, type="realtime")
        assert not world.calls


async def test_a_webhook_is_sent_again_and_an_accepted_call_is_the_programs(tmp_path: Path, make_service: MakeService) -> None:
    async with (
        a_decided_line(tmp_path, make_service) as (world, program, client),
        phone(tmp_path, "alice", world.pbx_port) as alice,
    ):
        program.statuses = [503]
        await alice.do("dial", world.uri("agent"))
        ring = await program.rings.get()
        assert len(program.attempts) == 2
        assert len(set(program.attempts)) == 1
        await client.realtime.calls.accept(ring.data.call_id, type="realtime", instructions="Be kind.")
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        assert world.calls[0].session == {"type": "realtime", "instructions": "Be kind."}
        await client.realtime.calls.hangup(ring.data.call_id)
        await alice.wait_told("CALL_CLOSED")


async def test_a_program_refers_a_call_or_is_told_why_not(tmp_path: Path, make_service: MakeService) -> None:
    async with (
        a_decided_line(tmp_path, make_service) as (world, program, client),
        phone(tmp_path, "alice", world.pbx_port) as alice,
        phone(tmp_path, "bob", world.pbx_port, answers=True),
    ):
        calls = client.realtime.calls
        await alice.do("dial", world.uri("agent"))
        call_id = (await program.rings.get()).data.call_id
        with pytest.raises(NotFoundError):
            await calls.refer(call_id, target_uri=world.uri("bob"))
        await calls.accept(call_id, type="realtime")
        await world.wait(lambda: bool(world.calls and world.calls[0].heard))
        with pytest.raises(BadRequestError, match="target_uri is 'bob'"):
            await calls.refer(call_id, target_uri="bob")
        with pytest.raises(ConflictError, match="486 Busy Here"):
            await calls.refer(call_id, target_uri=world.uri("busy"))
        with pytest.raises(ConflictError, match="404"):
            await calls.refer(call_id, target_uri="tel:+15550100")
        assert not world.calls[0].ended
        await calls.refer(call_id, target_uri=world.uri("bob"))
        await world.wait(lambda: world.calls[0].ended == "transferred")
        await alice.wait_told("CALL_ESTABLISHED", 2)


async def test_a_call_that_nobody_accepts_or_that_is_given_up_leaves_nothing(
    tmp_path: Path, make_service: MakeService, lines: Lines
) -> None:
    async with (
        a_decided_line(tmp_path, make_service, accept_timeout_s=1.0) as (world, program, client),
        phone(tmp_path, "alice", world.pbx_port) as alice,
    ):
        await alice.do("dial", world.uri("agent"))
        await alice.wait_told("CALL_CLOSED")
        assert "480" in alice.told("CALL_CLOSED")[-1]["param"]
        program.statuses = [404]
        await alice.do("dial", world.uri("agent"))
        await alice.wait_told("CALL_CLOSED", 2)
        assert "480" in alice.told("CALL_CLOSED")[-1]["param"]
        assert len(program.attempts) == 2, "404 will not change"
        await program.rings.get()
        await alice.do("dial", world.uri("agent"))
        ring = await program.rings.get()
        await alice.do("hangup")
        await lines.wait("refused: its caller gave up")
        with pytest.raises(NotFoundError):
            await client.realtime.calls.reject(ring.data.call_id)
        assert not world.calls
    told = [line.split("refused: ")[1] for line in lines.lines if "refused: " in line]
    assert told[0] == "nobody accepted it within 1 s"
    assert told[1] == f"{program.url}: the webhook was not taken (status 404)"


async def test_a_program_accepts_a_call_with_settings_and_follows_it(tmp_path: Path) -> None:
    async with a_program() as program:
        webhook = f'    webhook: {{{{url: "{program.url}"}}}}\n'
        async with (
            an_exchange(tmp_path, webhook) as exchange,
            phone(tmp_path, "alice", exchange.pbx_port) as alice,
            AsyncOpenAI(base_url=f"{exchange.server.url}/v1", api_key="none", max_retries=0) as client,
        ):
            await alice.do("dial", exchange.agent)
            call_id = (await program.rings.get()).data.call_id
            for name in ("threshold", "prefix_padding_ms", "silence_duration_ms"):
                turns: Any = {"type": "server_vad", name: 1.0 if name == "threshold" else 500}
                with pytest.raises(BadRequestError, match=name):
                    await client.realtime.calls.accept(call_id, type="realtime", audio={"input": {"turn_detection": turns}})
            await client.realtime.calls.accept(call_id, type="realtime", instructions="You are Ann.")
            await alice.wait_told("CALL_ESTABLISHED")
            async with client.realtime.connect(extra_query={"call_id": call_id}) as connection:
                (created, *_) = await received(connection, "session.created")
                assert created.session.instructions.startswith("You are Ann.")
                await connection.session.update(
                    session={"type": "realtime", "audio": {"input": {"turn_detection": {"type": "server_vad", "threshold": 0.9}}}}
                )
                (*_, error) = await received(connection, "error")
                assert error.error.param == "session.audio.input.turn_detection"
                await client.realtime.calls.hangup(call_id)
            await alice.wait_told("CALL_CLOSED")


async def received(connection: AsyncRealtimeConnection, kind: str) -> list[Any]:
    """The events up to the first one of such a type."""
    events: list[Any] = []
    async for event in connection:
        events.append(event)
        if event.type == kind:
            return events
    raise AssertionError(f"the connection ended without {kind}")


async def test_the_operators_client_sees_a_phones_keys_and_hangs_up(tmp_path: Path) -> None:
    async with (
        an_exchange(tmp_path) as exchange,
        phone(tmp_path, "bob", exchange.pbx_port, answers=True) as bob,
        aiohttp.ClientSession(exchange.server.url) as http,
        AsyncOpenAI(base_url=f"{exchange.server.url}/v1", api_key="none") as client,
    ):
        async with http.post("/v1/voiceagent/dial", json={"to": f"sip:bob@{HOST}:{exchange.pbx_port}"}) as dialled:
            call_id = (await dialled.json())["id"]
        async with client.realtime.connect(extra_query={"call_id": call_id}) as connection:
            await received(connection, "session.created")
            await bob.do("sndcode", "4")
            (*_, key) = await received(connection, "input_audio_buffer.dtmf_event_received")
            told = key.model_dump()
            assert told.keys() == {"type", "event", "received_at"}
            assert told["event"] == "4"
            assert abs(told["received_at"] - time.time()) < 30
            await client.realtime.calls.hangup(call_id)
            await bob.wait_told("CALL_CLOSED")
