"""The client of Janus at a server that says what no Janus would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from tests.loopback import on_loopback
from voiceagent.telephone.sip import janus_messages as janus
from voiceagent.telephone.sip.janus_client import GatewayError, JanusClient


def event(result: dict[str, Any], **more: Any) -> str:
    """Of handle 7."""
    return json.dumps({"janus": "event", "sender": 7, "plugindata": {"data": {"result": result}}, **more})


MALFORMED = (
    "",
    "{",
    "[]",
    "3",
    "[" * 200_000,
    '{"janus": []}',
    '{"janus": "ack", "transaction": []}',
    '{"janus": "event", "sender": {}, "transaction": {}}',
    event({"event": "notify", "notify": "refer", "content": 3}),
    event({"event": "notify", "notify": "refer", "content": "SIP/2.0 ²"}),
    event({"event": []}, jsep={"sdp": []}),
)
REGISTERED = event({"event": "registered", "master_id": 1})


@asynccontextmanager
async def forged_janus(*, handle: Any = 7) -> AsyncIterator[str]:
    """Its address. It answers with what is asked for, then says `MALFORMED`, and that we are registered."""

    async def serve(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=(janus.PROTOCOL,))
        await socket.prepare(request)
        async for message in socket:
            asked = json.loads(message.data)
            made = handle if asked["janus"] == "attach" else 1
            await socket.send_json({"janus": "success", "transaction": asked["transaction"], "data": {"id": made}})
            if asked["janus"] == "attach":
                for text in (*MALFORMED, REGISTERED):
                    await socket.send_str(text)
        return socket

    app = web.Application()
    app.router.add_get("/", serve)
    async with on_loopback(app) as url:
        yield f"{url.replace('http', 'ws')}/"


async def test_what_cannot_be_read_is_left_out_and_the_session_goes_on() -> None:
    events: asyncio.Queue[janus.Event] = asyncio.Queue()
    async with forged_janus() as url, JanusClient(url) as client:
        await client.attach(events.put_nowait)
        async with asyncio.timeout(5):
            assert await events.get() == janus.Registered(1)
        await client.ask({"janus": "keepalive"})


@pytest.mark.parametrize("handle", ["x", None, {}, [], True])
async def test_an_answer_without_an_id_is_one_line(handle: Any) -> None:
    async with forged_janus(handle=handle) as url, JanusClient(url) as client:
        with pytest.raises(GatewayError, match="Janus answered without an id"):
            await client.attach(lambda event: None)


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
NAMES = (
    "registered",
    "registration_failed",
    "incomingcall",
    "ringing",
    "progress",
    "accepted",
    "updatingcall",
    "hangup",
    "notify",
)
RESULT = st.fixed_dictionaries(
    {"event": st.sampled_from(NAMES) | ODD},
    optional={
        **dict.fromkeys(("code", "reason", "username", "displayname", "callee", "call_id", "master_id", "helper"), ODD),
        "notify": st.just("refer"),
        "content": ODD | st.from_regex(r"SIP/2\.0 \d{1,9}.*", fullmatch=True) | st.text().map("SIP/2.0 {} No".format),
    },
)
DATA = st.fixed_dictionaries({"result": RESULT | ODD}, optional={"error": ODD, "error_code": ODD})
MESSAGE = st.fixed_dictionaries(
    {"plugindata": st.fixed_dictionaries({"data": DATA | ODD}) | ODD},
    optional={"janus": ODD | st.just("hangup"), "jsep": st.fixed_dictionaries({"sdp": ODD}) | ODD, "reason": ODD},
)


@given(MESSAGE)
def test_whatever_a_gateway_tells_is_an_event(message: dict[str, Any]) -> None:
    told = janus.read(message)
    if isinstance(told, janus.Incoming):
        assert told.facts.caller.isprintable()
        assert len(told.facts.caller) <= janus.MAX_FACT_CHARACTERS
