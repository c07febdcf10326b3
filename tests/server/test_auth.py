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
    origins = Origins(keys_needed=lambda: False)
    gate = KeyGate(KeyRing(), ClientSecrets(), origins, Metrics())
    request = make_mocked_request("GET", "/readyz", headers)
    with pytest.raises(Problem) as refused:
        await gate.middleware()(request, answered)
    assert refused.value.status == 403
    assert origins.cors(request) == {}


@pytest.mark.parametrize(
    ("key", "opens"),
    [
        ("calls", {"/metrics", "/v1/realtime", "/v1/chat/completions", "/v1/calls/rtc_1/events"}),
        ("operators", {"/metrics", "/v1/realtime", "/v1/chat/completions", "/v1/calls/rtc_1/events"}),
        ("monitors", {"/v1/calls/rtc_1/events"}),
        ("metrics", {"/metrics"}),
    ],
)
async def test_a_key_opens_what_it_is_for(key: str, opens: set[str]) -> None:
    keys = KeyRing(("calls",), ("operators",), monitor_keys=("monitors",), metrics_keys=("metrics",))
    gate = KeyGate(keys, ClientSecrets(), Origins(keys_needed=lambda: True), Metrics())
    for path in ("/metrics", "/v1/realtime", "/v1/chat/completions", "/v1/calls/rtc_1/events"):
        request = make_mocked_request("GET", path, {"Authorization": f"Bearer {key}", "Host": "localhost"})
        if path in opens:
            client = await gate.admit(request)
            assert (client.is_monitor, client.is_operator) == (key == "monitors", key == "operators")
            continue
        with pytest.raises(Problem) as refused:
            await gate.admit(request)
        assert (refused.value.status, refused.value.code) == (403, "wrong_kind_of_key")


def test_a_key_of_two_kinds_has_the_first_and_only_a_clients_is_the_owners() -> None:
    both = KeyRing(("same", "other"), metrics_keys=("same",)).client("same")
    assert both is not None
    assert both.kind == "metrics"
    alone = KeyRing(metrics_keys=("metrics",)).client("metrics")
    assert alone is not None
    assert alone.kind == "metrics"


async def test_a_token_that_is_no_text_is_a_wrong_one(make_service: MakeService) -> None:
    server = TestServer(make_app(make_service(keys=("secret",))))
    await server.start_server()
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 401")
    writer.close()
    await server.close()
