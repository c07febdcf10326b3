"""The reverse proxies' configurations, judged by the proxies themselves where they are installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import yaml

from tests.programs import program

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def test_nginx_takes_its_configuration(tmp_path: Path) -> None:
    nginx = program("nginx", "nginx-light")
    key, certificate = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    request = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=x"]
    subprocess.run([*request, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    server = (DEPLOY / "nginx" / "voiceagent.conf").read_text().replace("/etc/nginx/tls", str(tmp_path))
    (tmp_path / "voiceagent.conf").write_text(server)
    paths = "".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    http = f"{paths} access_log off; include {tmp_path}/voiceagent.conf;"
    (tmp_path / "nginx.conf").write_text(f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ {http} }}")
    tested = subprocess.run([nginx, "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr
    assert "warn" not in tested.stderr
    for setting in ("proxy_buffering         off", "proxy_request_buffering off", "gzip                    off"):
        assert setting in server


def test_caddy_takes_its_configuration() -> None:
    caddy = program("caddy", "caddy")
    command = [caddy, "validate", "--adapter", "caddyfile", "--config", str(DEPLOY / "caddy" / "Caddyfile")]
    tested = subprocess.run(command, capture_output=True, text=True, check=False)
    assert tested.returncode == 0, tested.stderr


def test_envoy_buffers_nothing_and_hides_the_metrics() -> None:
    (listener,) = yaml.safe_load((DEPLOY / "envoy" / "envoy.yaml").read_text())["static_resources"]["listeners"]
    manager = listener["filter_chains"][0]["filters"][0]["typed_config"]
    assert [found["name"] for found in manager["http_filters"]] == ["envoy.filters.http.router"]
    hidden, everything = manager["route_config"]["virtual_hosts"][0]["routes"]
    assert hidden == {"match": {"path": "/metrics"}, "direct_response": {"status": 404}}
    assert everything["route"]["timeout"] == "0s"
    assert manager["upgrade_configs"] == [{"upgrade_type": "websocket"}]
