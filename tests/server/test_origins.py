"""The pages that may call, and the ways in which a request presents its key."""

from __future__ import annotations

import logging

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from voiceagent.errors import ConfigError
from voiceagent.server.access.client_secrets import ClientSecrets
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.access.origins import Origins, checked_origin
from voiceagent.server.calls.quotas import Client
from voiceagent.server.http.auth import KeyGate, key_of
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.metrics import Metrics

KEY = {"Authorization": "Bearer secret"}
UPGRADE = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}


KEYS = ("secret", "other")


def origins(*allowed: str, keys: tuple[str, ...] = KEYS) -> Origins:
    return Origins(allowed, keys_needed=lambda: bool(keys))


def gate(*allowed: str, keys: tuple[str, ...] = KEYS, metrics: Metrics | None = None) -> KeyGate:
    return KeyGate(KeyRing(keys), ClientSecrets(), origins(*allowed, keys=keys), metrics or Metrics())


def asked(headers: dict[str, str], path: str = "/v1/realtime") -> web.Request:
    return make_mocked_request("GET", path, headers)


@pytest.mark.parametrize(
    ("host", "origin", "may"),
    [
        ("voice.example", "https://voice.example", True),
        ("voice.example:443", "https://voice.example", True),
        ("voice.example:8443", "https://voice.example:8443", True),
        ("VOICE.example", "https://voice.example", True),
        ("127.0.0.1:8080", "http://127.0.0.1:8080", True),
        ("[::1]:8080", "http://[::1]:8080", True),
        ("voice.example", "https://shop.example", True),
        ("voice.example:8443", "https://voice.example", False),
        ("voice.example", "https://evil.example", False),
        ("voice.example", "https://voice.example.evil.example", False),
        ("voice.example", "https://shop.example:444", False),
        ("voice.example", "http://shop.example", False),
        ("127.0.0.1:8080", "http://localhost:8080", False),
        ("voice.example", "null", False),
        ("voice.example", "", False),
        ("voice.example", "http://[", False),
        ("voice.example", "file://", False),
        ("voice.example", "https://voice.example:99999", False),
    ],
)
async def test_the_own_page_and_those_that_are_named_may_call(host: str, origin: str, may: bool) -> None:
    request = asked({"Host": host, "Origin": origin, **KEY})
    guarded = gate("https://Shop.example:443/")
    assert bool(origins("https://Shop.example:443/").cors(request)) == may
    if may:
        assert await guarded.admit(request) == Client("key 1")
        return
    with pytest.raises(Problem) as refused:
        await guarded.admit(request)
    assert (refused.value.status, refused.value.code) == (403, "origin_not_allowed")


async def test_any_page_may_call_where_the_operator_says_so() -> None:
    request = asked({"Host": "voice.example", "Origin": "https://evil.example", **KEY})
    assert (await gate("*").admit(request)).name == "key 1"
    assert origins("*").cors(request)["Access-Control-Allow-Origin"] == "*"


async def test_a_websocket_of_another_site_is_refused_in_one_line_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    metrics = Metrics()
    guarded = gate(metrics=metrics)
    headers = {"Host": "voice.example", "Origin": "https://evil.example", **UPGRADE}
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            with pytest.raises(Problem, match="evil"):
                await guarded.admit(asked({**headers, "Sec-WebSocket-Protocol": "realtime, openai-insecure-api-key.secret"}))
    assert metrics.origins_refused == 3
    assert metrics.wrong_keys == 0
    assert "voiceagent_origins_refused_total 3.0" in metrics.render()
    assert len(caplog.messages) == 1
    assert "http.allowed_origins" in caplog.messages[0]
    assert "secret" not in caplog.text


async def test_pages_of_others_may_fetch_the_page_itself() -> None:
    request = asked({"Host": "voice.example", "Origin": "https://evil.example"}, "/")
    assert await gate().admit(request) == Client("")
    assert origins().cors(request) == {}


def test_any_origin_without_keys_is_refused_at_the_start() -> None:
    with pytest.raises(ConfigError, match="without keys"):
        gate("*", keys=())
    assert gate("https://shop.example", keys=())


@pytest.mark.parametrize(
    "origin", ["shop.example", "ftp://shop.example", "https://", "https://a/b", "https://u@h", "https://h:x", "null"]
)
def test_what_is_no_origin_is_refused_at_the_start(origin: str) -> None:
    with pytest.raises(ConfigError, match=r"http\.allowed_origins"):
        gate(origin)


def test_an_origin_is_written_as_browsers_write_it() -> None:
    assert checked_origin("HTTPS://Shop.Example:443/") == "https://shop.example"
    assert checked_origin("http://[::1]:8080") == "http://[::1]:8080"


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({}, ""),
        ({"Authorization": "Bearer secret"}, "secret"),
        ({"Authorization": "bearer  secret "}, "secret"),
        ({"Authorization": "Basic secret"}, ""),
        ({"Authorization": "secret"}, ""),
        ({**UPGRADE, "Sec-WebSocket-Protocol": "realtime, openai-insecure-api-key.secret, openai-agents-sdk.1"}, "secret"),
        ({**UPGRADE, "Sec-WebSocket-Protocol": "realtime,openai-insecure-api-key.ek_a-b_c"}, "ek_a-b_c"),
        ({**UPGRADE, "Sec-WebSocket-Protocol": "realtime"}, ""),
        ({"Sec-WebSocket-Protocol": "openai-insecure-api-key.secret"}, ""),
        ({**UPGRADE, "Authorization": "Bearer wrong", "Sec-WebSocket-Protocol": "openai-insecure-api-key.secret"}, "wrong"),
    ],
)
def test_a_key_comes_by_header_or_by_subprotocol(headers: dict[str, str], key: str) -> None:
    assert key_of(asked({"Host": "voice.example", **headers})) == key


async def test_a_wrong_key_by_subprotocol_counts_like_any_other() -> None:
    metrics = Metrics()
    with pytest.raises(Problem) as refused:
        await gate(metrics=metrics).admit(
            asked({"Host": "voice.example", **UPGRADE, "Sec-WebSocket-Protocol": "realtime, openai-insecure-api-key.wrong"})
        )
    assert (refused.value.status, metrics.wrong_keys) == (401, 1)
