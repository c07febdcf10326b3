"""Who is let in: headers as no browser writes them are refused like any other stranger's."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, make_mocked_request

from tests.fakes import MakeService
from voiceagent.server.access.client_secrets import ClientSecrets
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.access.origins import Origins
from voiceagent.server.http.app import make_app
from voiceagent.server.http.auth import KeyGate
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.metrics import Metrics


async def answered(_: web.Request) -> web.StreamResponse:
    return web.Response()


@pytest.mark.parametrize("headers", [{"Host": "["}, {"Host": "localhost", "Origin": "http://["}])
async def test_a_host_that_cannot_be_read_is_not_this_machine(headers: dict[str, str]) -> None:
    gate = KeyGate(KeyRing(), ClientSecrets(), Origins(keys_needed=lambda: False), Metrics())
    request = make_mocked_request("GET", "/readyz", headers)
    with pytest.raises(Problem) as refused:
        await gate.middleware()(request, answered)
    assert refused.value.status == 403
    assert gate.cors(request) == {}


async def test_a_token_that_is_no_text_is_a_wrong_one(make_service: MakeService) -> None:
    server = TestServer(make_app(make_service(keys=("secret",))))
    await server.start_server()
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 401")
    writer.close()
    await server.close()
