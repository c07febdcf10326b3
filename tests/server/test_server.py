"""The HTTP server: signalling, errors, the page, admission, keys, health, metrics and shutdown."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer
from yarl import URL

from tests.fakes import MakeService, Switchboard
from voiceagent.addresses import is_loopback
from voiceagent.errors import ConfigError, ModelError
from voiceagent.latency.budgets import Miss
from voiceagent.latency.burn import BudgetBurn, OnMiss
from voiceagent.latency.spans import Span, Stage, TurnReport
from voiceagent.media.webrtc.ice import IceServers, IceSettings
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.calls.budget_actions import BudgetActions
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.server.http.run import serve
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings, QueueSettings

SDP = {"Content-Type": "application/sdp"}
OFFER = "v=0\r\noffer\r\n"
CALLS = "/v1/realtime/calls"
Client = TestClient[Any, Any]
Open = Callable[..., Awaitable[Client]]


@pytest.fixture
async def open_server(make_service: MakeService) -> AsyncIterator[Open]:
    clients: list[Client] = []

    async def open_one(*, ready: bool = True, **changes: Any) -> Client:
        app = make_app(make_service(**changes))
        client: Client = TestClient(TestServer(app))
        await client.start_server()
        clients.append(client)
        if ready:
            await app[READINESS].wait()
        return client

    yield open_one
    for client in clients:
        await client.close()


async def error_of(response: aiohttp.ClientResponse, status: int) -> dict[str, Any]:
    assert response.status == status, await response.text()
    body = await response.json()
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "code", "param"}
    assert "\n" not in body["error"]["message"]
    assert "Traceback" not in body["error"]["message"]
    return dict(body["error"])


async def test_an_offer_is_answered_and_the_call_can_be_hung_up(open_server: Open, switchboard: Switchboard) -> None:
    client = await open_server()
    response = await client.post(CALLS, data=OFFER, headers=SDP)
    assert response.status == 201
    assert response.content_type == "application/sdp"
    assert (await response.text()).startswith("v=0")
    location = response.headers["Location"]
    assert location.startswith("/v1/realtime/calls/rtc_")
    assert (await client.post(f"{location}/hangup")).status == 200
    await switchboard.legs[0].closed.wait()
    assert (await error_of(await client.delete(location), 404))["code"] == "call_not_found"


async def test_delete_hangs_up_as_well(open_server: Open, switchboard: Switchboard) -> None:
    client = await open_server()
    response = await client.post(CALLS, data=OFFER, headers=SDP)
    assert (await client.delete(response.headers["Location"])).status == 200
    assert await switchboard.calls[0].end == "hangup"


async def test_a_multipart_offer_brings_session_settings(open_server: Open, switchboard: Switchboard) -> None:
    client = await open_server()
    with aiohttp.MultipartWriter("form-data") as form:
        form.append(OFFER, {"Content-Type": "application/sdp"}).set_content_disposition("form-data", name="sdp")
        form.append_json({"instructions": "Be kind."}).set_content_disposition("form-data", name="session")
        response = await client.post(CALLS, data=form)
    assert response.status == 201
    assert switchboard.calls[0].session == {"instructions": "Be kind."}


@pytest.mark.parametrize(
    ("body", "content_type", "status", "code"),
    [
        ("hello", "application/sdp", 400, "invalid_offer"),
        ("", "application/sdp", 400, "invalid_offer"),
        (b"\xff\xfe\xfd", "application/sdp", 400, "invalid_body"),
        (OFFER, "application/sdp; charset=nonsense", 400, "invalid_body"),
        (OFFER, "text/plain", 415, "unsupported_media_type"),
        (b"no parts", "multipart/form-data; boundary=x", 400, "invalid_body"),
        (b"no parts", "multipart/form-data", 400, "invalid_body"),
        ("v" * 200_000, "application/sdp", 413, "request_too_large"),
    ],
)
async def test_an_offer_that_cannot_be_used_is_one_clear_line(
    open_server: Open, body: str | bytes, content_type: str, status: int, code: str
) -> None:
    client = await open_server()
    response = await client.post(CALLS, data=body, headers={"Content-Type": content_type})
    assert (await error_of(response, status))["code"] == code
    assert (await client.post(CALLS, data=OFFER, headers=SDP)).status == 201, "the server goes on serving"


@pytest.mark.parametrize(
    "session",
    ["[1", "[1]", "[" * 50_000, '{"a": ' + "[" * 200 + "]" * 200 + "}", '{"speed": NaN}', '{"instructions": "\\ud800"}'],
    ids=["cut", "list", "bottomless", "deep", "no number", "no character"],
)
async def test_a_bad_session_is_refused(open_server: Open, session: str) -> None:
    client = await open_server()
    form = aiohttp.FormData({"sdp": OFFER})
    form.add_field("session", session, content_type="application/json")
    assert (await error_of(await client.post(CALLS, data=form), 400))["param"] == "session"


async def test_a_full_server_refuses_until_a_call_ends(open_server: Open, switchboard: Switchboard) -> None:
    client = await open_server(admission=AdmissionSettings(max_calls=1))
    first = await client.post(CALLS, data=OFFER, headers=SDP)
    refused = await client.post(CALLS, data=OFFER, headers=SDP)
    assert (await error_of(refused, 503))["code"] == "server_full"
    assert int(refused.headers["Retry-After"]) > 0
    await client.delete(first.headers["Location"])
    await switchboard.legs[0].closed.wait()
    assert (await client.post(CALLS, data=OFFER, headers=SDP)).status == 201


async def test_a_refused_offer_gives_its_place_back(open_server: Open) -> None:
    client = await open_server(admission=AdmissionSettings(max_calls=1))
    for _ in range(3):
        await error_of(await client.post(CALLS, data="rubbish", headers=SDP), 400)
    assert (await client.post(CALLS, data=OFFER, headers=SDP)).status == 201


async def test_a_call_that_fails_frees_everything_and_is_counted(open_server: Open, switchboard: Switchboard) -> None:
    client = await open_server(admission=AdmissionSettings(max_calls=1))
    await client.post(CALLS, data=OFFER, headers=SDP)
    switchboard.calls[0].end.set_exception(RuntimeError("on purpose"))
    await switchboard.legs[0].closed.wait()
    assert 'voiceagent_calls_ended_total{reason="failed"} 1' in await (await client.get("/metrics")).text()
    assert (await client.post(CALLS, data=OFFER, headers=SDP)).status == 201


async def test_what_a_call_lost_on_the_way_and_in_full_queues_is_counted(open_server: Open, switchboard: Switchboard) -> None:
    client = await open_server()
    response = await client.post(CALLS, data=OFFER, headers=SDP)
    switchboard.legs[0].counters = {"packets_received": 500, "packets_lost": 7}
    switchboard.legs[0].drops = {"heard frames": 2, "client events": 0}
    await client.delete(response.headers["Location"])
    await switchboard.legs[0].closed.wait()
    told = await (await client.get("/metrics")).text()
    assert 'voiceagent_queue_drops_total{queue="heard frames"} 2' in told
    assert 'voiceagent_queue_drops_total{queue="client events"} 0' in told
    assert 'voiceagent_media_total{event="packets_received"} 500' in told
    assert 'voiceagent_media_total{event="packets_lost"} 7' in told


async def test_the_server_says_when_it_is_ready(open_server: Open, switchboard: Switchboard) -> None:
    switchboard.load_gate.clear()
    client = await open_server(ready=False)
    assert (await client.get("/healthz")).status == 200
    response = await client.get("/readyz")
    assert response.status == 503
    assert "being loaded" in (await response.json())["reason"]
    assert (await error_of(await client.post(CALLS, data=OFFER, headers=SDP), 503))["code"] == "not_ready"
    switchboard.load_gate.set()
    await client.app[READINESS].wait()
    assert (await client.get("/readyz")).status == 200


async def test_the_server_says_what_calls_go_without(open_server: Open) -> None:
    metrics, now_s = Metrics(), [0.0]
    metrics.budget_actions = BudgetActions(BudgetBurn({Stage.VAD: OnMiss.SHED}), lambda: now_s[0])
    client = await open_server(metrics=metrics)
    assert await (await client.get("/healthz")).json() == {"status": "ok"}
    slow = TurnReport("c", 1, 0.0, "embedded", (Span(Stage.VAD, 0.0, 99.0),), None, None)
    while not metrics.budget_actions.sheds():
        metrics.budget_actions.measured(slow, [Miss(Stage.VAD, 99.0, 30.0)])
        now_s[0] += 1
    assert await (await client.get("/healthz")).json() == {"status": "ok", "degraded": ["fewer_partials", "fewer_calls"]}


async def test_engines_that_cannot_be_loaded_are_the_reason(open_server: Open, switchboard: Switchboard) -> None:
    switchboard.load_error = ModelError("the voice is corrupt; pull it again")
    client = await open_server(ready=False)
    with pytest.raises(ModelError):
        await client.app[READINESS].wait()
    reason = (await (await client.get("/readyz")).json())["reason"]
    assert reason == "The engines could not be loaded; the server's log says why."


async def test_a_key_is_asked_for_when_keys_are_configured(open_server: Open) -> None:
    client = await open_server(keys=("secret", "other"))
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic secret"}):
        response = await client.post(CALLS, data=OFFER, headers={**SDP, **headers})
        assert (await error_of(response, 401))["code"] == "invalid_api_key"
    assert (await client.get("/metrics")).status == 401
    assert (await client.get("/")).status == 200
    assert (await client.get("/readyz")).status == 200
    own = str(client.make_url("/")).rstrip("/")
    good = {**SDP, "Authorization": "Bearer other", "Origin": own}
    response = await client.post(CALLS, data=OFFER, headers=good)
    assert response.status == 201
    assert response.headers["Access-Control-Allow-Origin"] == own
    assert "Location" in response.headers["Access-Control-Expose-Headers"]


async def test_without_keys_any_bearer_token_is_accepted(open_server: Open) -> None:
    client = await open_server()
    response = await client.post(CALLS, data=OFFER, headers={**SDP, "Authorization": "Bearer anything"})
    assert response.status == 201


async def test_without_keys_other_sites_are_refused(open_server: Open) -> None:
    client = await open_server()
    for headers in ({"Origin": "https://example.org"}, {"Host": "rebound.example.org"}, {"Origin": "null"}):
        response = await client.post(CALLS, data=OFFER, headers={**SDP, **headers})
        assert (await error_of(response, 403))["code"] == "origin_not_allowed"
    response = await client.post(CALLS, data=OFFER, headers={**SDP, "Origin": "http://localhost:3000"})
    assert response.headers["Access-Control-Allow-Origin"] == "http://localhost:3000"


async def test_a_preflight_is_answered_without_a_key(open_server: Open) -> None:
    client = await open_server(keys=("secret",), allowed_origins=("https://example.org",))
    headers = {"Origin": "https://example.org", "Access-Control-Request-Method": "POST"}
    response = await client.options(CALLS, headers=headers)
    assert response.status == 204
    assert "x-openai-agents-sdk" in response.headers["Access-Control-Allow-Headers"]


async def test_the_page_is_served_with_its_types_and_revalidated(open_server: Open) -> None:
    client = await open_server()
    response = await client.get("/")
    assert response.content_type == "text/html"
    assert "default-src 'none'" in response.headers["Content-Security-Policy"]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    script = await client.get("/lib/client.js")
    assert script.content_type == "text/javascript"
    assert script.headers["Cache-Control"] == "no-cache"
    assert script.headers["Vary"] == "Accept-Encoding, Origin"
    assert script.headers["Content-Encoding"] == "gzip"
    plain = await client.get("/lib/client.js", headers={"Accept-Encoding": "gzip;q=0, br"})
    assert "Content-Encoding" not in plain.headers
    assert await plain.read() == await script.read()
    assert plain.headers["ETag"] != script.headers["ETag"]
    again = await client.get("/lib/client.js", headers={"If-None-Match": script.headers["ETag"]})
    assert again.status == 304


@pytest.mark.parametrize(
    "path", ["/missing.js", "/notes.txt", "/lib", "/..%2fsecret.json", "/%2e%2e/secret.json", "/a%00.js", "/v1/x"]
)
async def test_nothing_else_is_served(open_server: Open, path: str) -> None:
    client = await open_server()
    await error_of(await client.get(URL(path, encoded=True)), 404)


async def test_a_wrong_method_is_told_which_is_right(open_server: Open) -> None:
    client = await open_server()
    error = await error_of(await client.get(CALLS), 405)
    assert "POST" in error["message"]


async def test_the_budget_is_there_for_the_page(open_server: Open) -> None:
    client = await open_server()
    body = await (await client.get("/v1/voiceagent/budgets")).json()
    assert body["profile"] == "embedded"
    stages = {stage["stage"]: stage for stage in body["stages"]}
    assert stages["voice_to_voice"]["whole"]
    assert stages["vad"]["p95_ms"] > 0


async def test_callers_are_told_of_turn_servers_only_with_a_key(open_server: Open) -> None:
    ice = IceServers.from_settings(IceSettings(urls=("turn:turn.example.org",)), {"VOICEAGENT_TURN_SECRET": "north"})
    client = await open_server(keys=("secret",), ice=ice)
    assert (await client.get("/v1/voiceagent/ice_servers")).status == 401
    response = await client.get("/v1/voiceagent/ice_servers", headers={"Authorization": "Bearer secret"})
    assert response.headers["Cache-Control"] == "no-store"
    (server,) = (await response.json())["iceServers"]
    assert set(server) == {"urls", "username", "credential"}
    client = await open_server()
    assert await (await client.get("/v1/voiceagent/ice_servers")).json() == {"iceServers": []}


async def test_stopping_hangs_up_every_call_and_frees_the_engines(make_service: MakeService, switchboard: Switchboard) -> None:
    app = make_app(make_service())
    client: Client = TestClient(TestServer(app))
    await client.start_server()
    await app[READINESS].wait()
    for _ in range(3):
        await client.post(CALLS, data=OFFER, headers=SDP)
    await client.close()
    assert [await call.end for call in switchboard.calls] == ["server_stopping"] * 3
    assert all(leg.closed.is_set() for leg in switchboard.legs)
    assert not switchboard.engines_open


async def test_stopping_does_not_wait_for_who_waits_for_a_place(make_service: MakeService) -> None:
    service = make_service(admission=AdmissionSettings(max_calls=1, queue=QueueSettings(length=1, wait_s=60)))
    app = make_app(service)
    client: Client = TestClient(TestServer(app))
    await client.start_server()
    await app[READINESS].wait()
    await client.post(CALLS, data=OFFER, headers=SDP)
    second = asyncio.create_task(client.post(CALLS, data=OFFER, headers=SDP))
    while "voiceagent_calls_waiting 1.0\n" not in await (await client.get("/metrics")).text():
        continue
    stopping = asyncio.create_task(client.server.close())
    assert (await error_of(await second, 503))["code"] == "server_stopping"
    await stopping
    await client.close()


async def test_a_call_that_does_not_hang_up_is_ended_anyway(make_service: MakeService, switchboard: Switchboard) -> None:
    switchboard.deaf_to_hang_up = True
    app = make_app(make_service(hang_up_grace_s=0.01))
    client: Client = TestClient(TestServer(app))
    await client.start_server()
    await app[READINESS].wait()
    await client.post(CALLS, data=OFFER, headers=SDP)
    await client.close()
    assert switchboard.legs[0].closed.is_set()


async def test_serving_binds_first_and_is_ready_later(make_service: MakeService, switchboard: Switchboard) -> None:
    stop = asyncio.Event()
    seen: list[str] = []

    def ready(url: str) -> None:
        seen.append(url)
        stop.set()

    switchboard.load_gate.clear()

    def bound(url: str) -> None:
        seen.append(url)
        switchboard.load_gate.set()

    await serve(make_app(make_service()), "127.0.0.1", 0, on_bound=bound, on_ready=ready, stop=stop)
    assert len(seen) == 2
    assert seen[0].startswith("http://127.0.0.1:")


async def test_serving_ends_with_what_loading_raised(make_service: MakeService, switchboard: Switchboard) -> None:
    switchboard.load_error = ModelError("no models")
    with pytest.raises(ModelError, match="no models"):
        await serve(make_app(make_service()), "127.0.0.1", 0)


async def test_a_busy_port_is_one_clear_line(make_service: MakeService) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"port {port} on 127.0.0.1 is in use"):
            await serve(make_app(make_service()), "127.0.0.1", port)


async def test_an_impossible_address_is_one_clear_line(make_service: MakeService) -> None:
    with pytest.raises(ConfigError, match="port 70000 does not exist"):
        await serve(make_app(make_service()), "127.0.0.1", 70000)
    with pytest.raises(ConfigError, match=r"cannot listen on 203\.0\.113\.7"):
        await serve(make_app(make_service(keys=("k" * 16,))), "203.0.113.7", 8080)


def test_the_network_is_not_served_without_keys() -> None:
    with pytest.raises(ConfigError, match="VOICEAGENT_KEYS"):
        KeyRing().check_exposure("0.0.0.0")
    with pytest.raises(ConfigError, match="a key of 5 characters"):
        KeyRing(("k" * 16, "short")).check_exposure("0.0.0.0")
    KeyRing(("k" * 16,)).check_exposure("0.0.0.0")
    KeyRing(("short",)).check_exposure("127.0.0.1")
    KeyRing().check_exposure("127.0.0.1")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("127.8.0.1", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("example.org", False),
        ("", False),
    ],
)
def test_loopback_is_recognised(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_metrics_count_turns_and_what_they_missed() -> None:
    metrics = Metrics()
    spans = (Span(Stage.VAD, 0.0, 12.0), Span(Stage.LLM_TTFT, 20.0, 400.0))
    report = TurnReport("rtc_1", 1, 0.0, "embedded", spans, voice_to_voice_ms=620.0, barge_in_stop_ms=None)
    metrics.turn(report, [Stage.LLM_TTFT])
    metrics.queue_dropped("frames", 3)
    metrics.queue_dropped("frames", 0)
    text = metrics.render()
    assert "voiceagent_turns_total 1" in text
    assert 'voiceagent_budget_misses_total{stage="llm_ttft"} 1' in text
    assert 'voiceagent_queue_drops_total{queue="frames"} 3' in text
    assert 'voiceagent_stage_seconds_bucket{le="0.5",stage="llm_ttft"} 1' in text
    assert 'voiceagent_stage_seconds_bucket{le="0.3",stage="llm_ttft"} 0' in text
    assert 'voiceagent_stage_seconds_count{stage="voice_to_voice"} 1' in text


def test_labels_of_metrics_are_bounded() -> None:
    metrics = Metrics()
    for number in range(500):
        metrics.calls_refused.add(f"code{number}")
    assert len(metrics.calls_refused) <= 65
    assert metrics.calls_refused["other"] > 400
