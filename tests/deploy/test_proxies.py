"""The reverse proxies' configurations, judged by the proxies themselves where they are installed, and tried with slow clients and
a call."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.attacks.raw_http import connected, exchange, is_open
from tests.programs import program
from tests.server_process import running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.server.http.app import MAX_BODY_BYTES
from voiceagent.server.http.connection import MAX_HEADERS, Patience

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
NGINX = (DEPLOY / "nginx" / "voiceagent.conf").read_text()
CADDY = (DEPLOY / "caddy" / "Caddyfile").read_text()
ENVOY = yaml.safe_load((DEPLOY / "envoy" / "envoy.yaml").read_text())["static_resources"]
PATIENCE = Patience()


def write_nginx(folder: Path, server: str) -> Path:
    """A whole configuration around the one for a server."""
    (folder / "voiceagent.conf").write_text(server)
    paths = "".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    http = f"{paths} access_log off; include {folder}/voiceagent.conf;"
    (folder / "nginx.conf").write_text(f"pid {folder}/pid; error_log stderr; daemon off; events {{}} http {{ {http} }}")
    return folder / "nginx.conf"


def test_nginx_takes_its_configuration(tmp_path: Path) -> None:
    nginx = program("nginx", "nginx-light")
    key, certificate = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x"]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    configuration = write_nginx(tmp_path, NGINX.replace("/etc/nginx/tls", str(tmp_path)))
    tested = subprocess.run([nginx, "-t", "-c", configuration], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    assert "warn" not in tested.stderr
    for setting in ("proxy_buffering         off", "proxy_request_buffering off", "gzip                    off"):
        assert setting in NGINX


def test_caddy_takes_its_configuration() -> None:
    caddy = program("caddy", "caddy")
    command = [caddy, "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "caddy" / "Caddyfile")]
    tested = subprocess.run(command, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr


def test_envoy_buffers_nothing_inflates_nothing_and_hides_the_metrics() -> None:
    (listener,) = ENVOY["listeners"]
    manager = listener["filter_chains"][0]["filters"][-1]["typed_config"]
    assert [found["name"] for found in manager["http_filters"]] == ["envoy.filters.http.router"]
    hidden, everything = manager["route_config"]["virtual_hosts"][0]["routes"]
    assert hidden == {"match": {"path": "/metrics"}, "direct_response": {"status": 404}}
    assert everything["route"]["timeout"] == "0s"
    assert manager["upgrade_configs"] == [{"upgrade_type": "websocket"}]


def test_the_proxies_have_the_servers_limits() -> None:
    head, body, idle = f"{PATIENCE.head_s:g}s", f"{PATIENCE.body_s:g}s", f"{PATIENCE.idle_s:g}s"
    nginx = dict(re.findall(r"^\s*(\w+) +(.+);$", NGINX, re.MULTILINE))
    assert nginx["client_header_timeout"] == head
    assert nginx["client_body_timeout"] == body
    assert nginx["send_timeout"] == f"{PATIENCE.reader_s:g}s"
    assert f"    keepalive_timeout           {idle};" in NGINX
    assert int(nginx["client_max_body_size"].removesuffix("k")) * 1024 == MAX_BODY_BYTES
    caddy = dict(re.findall(r"^\s*(\w+) (\w+)$", CADDY, re.MULTILINE))
    assert (caddy["read_header"], caddy["read_body"], caddy["idle"]) == (head, body, idle)
    (listener,) = ENVOY["listeners"]
    limit, manager = (each["typed_config"] for each in listener["filter_chains"][0]["filters"])
    assert limit["max_connections"] == 1000
    assert (manager["request_headers_timeout"], manager["request_timeout"]) == (head, body)
    assert manager["common_http_protocol_options"] == {"idle_timeout": idle, "max_headers_count": MAX_HEADERS}


def test_proxies_let_go_of_idle_connections_to_the_server_before_it_does() -> None:
    (cluster,) = ENVOY["clusters"]
    (options,) = cluster["typed_extension_protocol_options"].values()
    upstream = NGINX.split("upstream voiceagent {")[1].split("}")[0]
    kept = re.findall(r"keepalive_timeout (\d+)s", upstream) + re.findall(r"keepalive (\d+)s", CADDY)
    kept.append(options["common_http_protocol_options"]["idle_timeout"].removesuffix("s"))
    assert len(kept) == 3
    assert all(int(seconds) < PATIENCE.idle_s for seconds in kept)


@dataclass
class Proxy:
    """A proxy in front of a server."""

    url: str
    server_url: str


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


@contextmanager
def running_proxy(name: str, folder: Path, upstream: str) -> Iterator[str]:
    """The proxy with its file from `deploy/`, without TLS."""
    port = free_port()
    if name == "nginx":
        text = re.sub(r"    (ssl_|server_name).*\n", "", NGINX).replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
        configuration = write_nginx(folder, text.replace("127.0.0.1:8080", upstream))
        command = [program("nginx", "nginx-light"), "-c", str(configuration)]
    else:
        text = CADDY.replace("voice.example.org {", f"http://127.0.0.1:{port} {{").replace("127.0.0.1:8080", upstream)
        (folder / "Caddyfile").write_text(text.replace("{\n\tservers", "{\n\tadmin off\n\tservers", 1))
        command = [program("caddy", "caddy"), "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with (folder / "proxy.log").open("w") as log:
        environment = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        try:
            while process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    time.sleep(0.02)
            assert process.poll() is None, (folder / "proxy.log").read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(15)


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with running_server(tmp_path_factory.mktemp("server")) as server:
        upstream = server.url.removeprefix("http://")
        with running_proxy(request.param, tmp_path_factory.mktemp("proxy"), upstream) as url:
            yield Proxy(url, server.url)


HALF_HEAD = b"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Ty"
HALF_BODY = (
    b"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/sdp\r\nContent-Length: 5000\r\n\r\nv="
)


async def test_slow_clients_are_let_go_by_a_proxy_and_a_call_goes_on_beside_them(proxy: Proxy) -> None:
    began_s = time.monotonic()
    slow = [connected(proxy.url, sent) for sent in (b"", HALF_HEAD, HALF_BODY) * 10]
    caller = Caller(proxy.url)
    async with caller, Dialogue(caller) as dialogue:
        assert await dialogue.wait_greeting()
    while slow := [connection for connection in slow if is_open(connection)]:
        assert time.monotonic() - began_s < PATIENCE.idle_s, f"{len(slow)} are still open"
        await asyncio.sleep(0.05)


async def test_a_compressed_body_is_refused_behind_a_proxy(proxy: Proxy) -> None:
    head = b"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/sdp\r\nContent-Encoding: gzip\r\n"
    answer, _ = await exchange(proxy.url, head + b"Content-Length: 4\r\n\r\n\x1f\x8b\x08\0")
    assert answer.startswith(b"HTTP/1.1 415 "), answer
    assert b"unsupported_encoding" in answer


async def test_a_body_that_is_too_large_is_refused_by_a_proxy(proxy: Proxy) -> None:
    """Caddy 2.6 says 502, as it has passed on the first part by then; nginx says what it is."""
    head = b"POST /v1/realtime/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/sdp\r\n"
    answer, _ = await exchange(proxy.url, head + b"Content-Length: 200000\r\n\r\n" + bytes(200_000))
    assert answer.split(b" ")[1] in (b"413", b"502"), answer


async def test_the_metrics_stay_behind_a_proxy(proxy: Proxy) -> None:
    answer, _ = await exchange(proxy.url, b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 404 "), answer
