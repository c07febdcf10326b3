"""The call button on the page of examples/widget, with the example's own server, in real Chromium and real Firefox against a real
server."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.browser.browsers import COMMANDS, HERE, installed, recorded, speech
from tests.server_process import ServerProcess, running_server
from voiceagent.server.access.key_file import KeyFile

EXAMPLE = HERE.parents[1] / "examples" / "widget"
MOST_BYTES = 20_000


def free_port() -> int:
    with socket.create_server(("localhost", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def shop_of(url: str, shop: str, key: str) -> Iterator[None]:
    """The example's server."""
    environment = {**os.environ, "VOICEAGENT_URL": url, "VOICEAGENT_KEY": key, "SHOP_URL": shop}
    with subprocess.Popen([sys.executable, EXAMPLE / "server.py"], env=environment, stderr=subprocess.DEVNULL) as process:
        try:
            while process.poll() is None:
                try:
                    urllib.request.urlopen(shop, timeout=5).close()
                    break
                except urllib.error.URLError:
                    continue
            yield
        finally:
            process.terminate()


@dataclass(frozen=True)
class Shops:
    """A server, and two shops that are its clients; it knows the page of one."""

    server: ServerProcess
    shop: str
    other: str


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shops]:
    """Whose server is killed at the end."""
    folder = tmp_path_factory.mktemp("widget")
    key = KeyFile(folder / "keys.json").add("shop")
    shop, other = f"http://localhost:{free_port()}", f"http://localhost:{free_port()}"
    agent = (EXAMPLE / "agent.yaml").read_text().replace("http://localhost:8000", shop)
    agent = agent.replace("../demo", str(EXAMPLE.parent / "demo"))
    (folder / "agent.yaml").write_text(f"{agent}turn: {{resume_timeout_s: 3}}\n")
    with (
        running_server(folder, "--config", str(folder / "agent.yaml"), exit_code=-signal.SIGKILL) as server,
        shop_of(server.url, shop, key),
        shop_of(server.url, other, key),
    ):
        yield Shops(server, shop, other)
        server.process.kill()
    assert key not in (folder / "server.log").read_text()


@pytest.fixture(scope="module", params=list(COMMANDS))
def seen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shops: Shops) -> dict[str, Any]:
    """What a caller has seen, in each browser. The last of them sees the server die, the others that it freezes."""
    browser = installed(request.param, "axe-core")
    said = recorded(
        tmp_path_factory.mktemp("said") / "speech.wav", asyncio.run(speech(("What's the weather in Paris tomorrow?",)))
    )
    loss = "SIGKILL" if browser.name == list(COMMANDS)[-1] else "SIGSTOP"
    addresses = (shops.shop, shops.server.url, shops.other, str(shops.server.process.pid))
    shots = os.environ.get("VOICEAGENT_SCREENSHOTS", "-")
    return {**browser.sees("widget.mjs", *addresses, loss, said, shots), "name": browser.name}


@pytest.mark.browser
def test_a_call_is_made_spoken_and_ended_by_keyboard(seen: dict[str, Any]) -> None:
    told = seen["told"]
    assert told["focused"] == "Ask about shoes"
    assert told["focusedInCall"] == "Hang up"
    assert told["live"] == "Connected. You can speak now."
    assert told["muted"] == ["Mute", "true"]
    assert (told["hungUp"], told["focusedAfter"], told["dismissed"]) == ("The call has ended.", "Ask about shoes", "")
    assert seen["plays"]
    assert told["german"] == "Anrufen"


@pytest.mark.browser
def test_each_failure_is_told_in_plain_words(seen: dict[str, Any]) -> None:
    told = seen["told"]
    assert "no permission to call" in told["wrongSecret"]
    assert "microphone is not allowed" in told["refused"]
    assert "This page may not call" in told["stranger"]
    assert "you are not heard right now" in told["resuming"]
    assert "the call has ended" in told["lost"]
    if seen["name"] == list(COMMANDS)[-1]:
        assert "does not answer" in told["gone"]


@pytest.mark.browser
def test_nobody_is_kept_out_and_the_pages_policy_is_enough(seen: dict[str, Any]) -> None:
    assert seen["violations"] == []


@pytest.mark.browser
def test_little_is_loaded_before_the_call(seen: dict[str, Any]) -> None:
    loaded = seen["loaded"]
    assert {"/widget.js", "/lib/voiceagent.js"} <= set(loaded)
    assert "/lib/socket-call.js" not in loaded
    if seen["name"] == "chromium":  # Firefox counts the headers, too
        assert sum(loaded.values()) <= MOST_BYTES, loaded
