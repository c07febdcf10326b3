"""Calls of a real SIP phone under the control of OpenAI's own client: events, hang-up."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import aiohttp
from openai import AsyncOpenAI

from tests.telephone.sip_parts import HOST, phone
from tests.telephone.test_sip_calls import an_exchange

if TYPE_CHECKING:
    from openai.resources.realtime.realtime import AsyncRealtimeConnection


async def received(connection: AsyncRealtimeConnection, kind: str) -> list[object]:
    """The events up to the first one of such a type."""
    events: list[object] = []
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
            told = key.model_dump()  # type: ignore[attr-defined]
            assert told.keys() == {"type", "event", "received_at"}
            assert told["event"] == "4"
            assert abs(told["received_at"] - time.time()) < 30
            await client.realtime.calls.hangup(call_id)
            await bob.wait_told("CALL_CLOSED")
