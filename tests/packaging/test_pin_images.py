"""`make pin-images`, with the real skopeo and a registry on loopback that has one manifest for every image."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from tests.programs import program

ROOT = Path(__file__).resolve().parents[2]
CONFIG = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": []}}).encode()
CONFIG_DIGEST = f"sha256:{hashlib.sha256(CONFIG).hexdigest()}"
KIND = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG_KIND = "application/vnd.docker.container.image.v1+json"
MANIFEST = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": KIND,
        "config": {"mediaType": CONFIG_KIND, "size": len(CONFIG), "digest": CONFIG_DIGEST},
        "layers": [],
    }
).encode()
DIGEST = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"


class Registry(BaseHTTPRequestHandler):
    """The part of the distribution API (OCI Distribution Specification 1.1, pull) that skopeo asks for."""

    def do_GET(self) -> None:
        kind, body = (KIND, MANIFEST) if "/manifests/" in self.path else ("application/json", b'{"tags": ["latest"]}')
        if "/blobs/" in self.path:
            kind, body = "application/octet-stream", CONFIG
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Says nothing."""


@pytest.fixture
def registry() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("docker-compose.yml", "Dockerfile"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def pinned(checkout: Path, registry: str) -> subprocess.CompletedProcess[str]:
    program("skopeo", "skopeo")
    environment = {**os.environ, "PIN_FOLDER": str(checkout), "REGISTRY": registry}
    command = ["bash", str(ROOT / "scripts" / "pin-images.sh"), "--tls-verify=false"]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)


def test_every_image_that_is_not_ours_gets_its_digest(checkout: Path, registry: str) -> None:
    ended = pinned(checkout, registry)
    assert ended.returncode == 0, ended.stderr
    before = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    after = yaml.safe_load((checkout / "docker-compose.yml").read_text())["services"]
    for name, service in after.items():
        was = before[name]["image"].partition("@")[0]
        assert service["image"] == (was if was.startswith("voiceagent:") else f"{was}@{DIGEST}")
    (base,) = (line for line in (checkout / "Dockerfile").read_text().splitlines() if line.startswith("ARG PYTHON_IMAGE="))
    assert base.endswith(f"-slim-bookworm@{DIGEST}")
    first = (checkout / "docker-compose.yml").read_text()
    assert pinned(checkout, registry).returncode == 0
    assert (checkout / "docker-compose.yml").read_text() == first


def test_a_registry_that_is_not_there_changes_nothing(checkout: Path) -> None:
    ended = pinned(checkout, "127.0.0.1:1/")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].endswith("was not looked up; nothing is changed")
    assert (checkout / "docker-compose.yml").read_text() == (ROOT / "docker-compose.yml").read_text()


def test_every_image_in_the_dockerfile_is_the_one_that_is_pinned() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert {line.split()[1] for line in lines if line.startswith("FROM")} == {"${PYTHON_IMAGE}"}
