"""A page calls with a client secret, in real Chromium against a real server: a shop's page, and the server's own."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.browser.browsers import installed
from tests.browser.test_page_problems import drive
from tests.server_process import running_server
from voiceagent.server.access.key_file import KeyFile

PAGE = b"""<!doctype html><title>Shop</title><body></body><script type="module">
  const options = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  const { VoiceAgent } = await import(`${options.url}/lib/voiceagent.js`);
  const agent = globalThis.agent = new VoiceAgent(options);
  globalThis.events = [];
  agent.addEventListener('message', (event) => events.push(event.detail));
  agent.addEventListener('state', (event) => { document.body.dataset.state = event.detail.state; });
  document.body.dataset.state = 'idle';
</script>"""


class Shop(BaseHTTPRequestHandler):
    """The shop's own server, which has one page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def shop() -> Iterator[int]:
    """The port of a shop."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def secret_of(url: str, key: str, **asked: Any) -> str:
    request = urllib.request.Request(
        f"{url}/v1/realtime/client_secrets", json.dumps(asked).encode(), {"Authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return str(json.load(response)["value"])


@pytest.mark.browser
def test_a_page_of_a_shop_calls_once_with_the_session_that_was_fixed(tmp_path: Path, shop: int) -> None:
    own, other = f"http://localhost:{shop}", f"http://127.0.0.1:{shop}"
    browser = installed("chromium")
    key = KeyFile(tmp_path / "keys.json").add("shop")
    config = tmp_path / "agent.yaml"
    config.write_text(f"http: {{allowed_origins: ['{own}']}}\n")
    with running_server(tmp_path, "--config", str(config)) as server:
        secret = secret_of(server.url, key, session={"instructions": "Sell shoes."}, voiceagent={"origin": own, "once": True})
        seen = browser.sees("client-secret.mjs", server.url, secret, own, other)
        drive(server.url, "key", secret_of(server.url, key))
        log = (tmp_path / "server.log").read_text()
    assert seen["instructions"] == seen["still"] == "Sell shoes."
    assert (seen["error"]["code"], seen["error"]["param"]) == ("setting_fixed", "session.instructions")
    assert "was good for one call" in seen["again"]
    assert seen["stranger"] == "blocked"
    assert "Failed to fetch dynamically imported module" in seen["unloaded"]
    assert f"a page of '{other}' was refused" in log
    assert key not in log
    assert secret not in log
