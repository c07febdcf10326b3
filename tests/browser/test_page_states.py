"""The page in each of its states, in real Chromium against a real server: nobody is kept out, nothing is cut, each state says
what it is, and a server that dies is noticed within two seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import Any

import pytest

from tests.browser.test_page import HERE, chromium
from tests.server_process import running_server
from voiceagent.resources import demo_agent_file
from voiceagent.server.access.key_ring import KEYS_VARIABLE

KEY = "open-sesame"
NOTICED_MS = 2000.0


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a person who goes through all states has seen."""
    browser = chromium("axe-core")
    folder = tmp_path_factory.mktemp("states")
    shots = os.environ.get("VOICEAGENT_SCREENSHOTS", "-")
    demo = demo_agent_file().read_text().replace("tools.py", str(demo_agent_file().parent / "tools.py"))
    demo = demo.replace("endpointing.json", str(demo_agent_file().parent / "endpointing.json"))
    (folder / "agent.yaml").write_text(demo.replace("turn:\n", "turn:\n  resume_timeout_s: 3\n"))
    options = ("--config", str(folder / "agent.yaml"))
    with running_server(folder, *options, environment={KEYS_VARIABLE: KEY}, exit_code=-signal.SIGKILL) as server:
        driven = subprocess.run(
            ["node", str(HERE / "states.mjs"), server.url, str(server.process.pid), KEY, shots],
            capture_output=True,
            text=True,
            timeout=240,
            env={**os.environ, "CHROMIUM": browser},
            check=False,
        )
        server.process.kill()
    assert driven.returncode == 0, driven.stderr
    return dict(json.loads(driven.stdout))


@pytest.mark.browser
def test_nobody_is_kept_out_and_nothing_is_cut_in_any_state(seen: dict[str, Any]) -> None:
    assert seen["violations"] == []
    assert seen["pageErrors"] == []


@pytest.mark.browser
def test_a_server_that_dies_or_freezes_is_noticed_within_two_seconds(seen: dict[str, Any]) -> None:
    assert seen["killedMs"] <= NOTICED_MS
    assert "Your call waits" in seen["shown"]["resuming"]
    assert "connection to the server was lost" in seen["shown"]["lost"]
    assert seen["frozenMs"] <= NOTICED_MS
    assert "Nothing comes from the server" in seen["shown"]["quiet"]


@pytest.mark.browser
def test_a_call_begins_unmuted_whatever_the_one_before_it_was(seen: dict[str, Any]) -> None:
    assert seen["shown"]["muted"] == ["false", "Mute"]
    assert seen["shown"]["mutedAgain"] == ["false", "Mute"]


@pytest.mark.browser
def test_a_wrong_key_is_told_apart_from_a_missing_one(seen: dict[str, Any]) -> None:
    assert "wants a key" in seen["shown"]["missing"]
    assert "does not know this key" in seen["shown"]["wrong"]


@pytest.mark.browser
def test_the_parts_of_a_typed_turn_add_up_to_its_wait(seen: dict[str, Any]) -> None:
    lines = [line for line in seen["shown"]["turn"].replace(",", "").splitlines() if line.strip()]
    figures = [
        int(word)
        for line in lines
        for word, unit in zip(line.split(), line.split()[1:], strict=False)
        if unit == "ms" and word.isdigit()
    ]
    assert "no sound" not in seen["shown"]["turn"]
    whole_ms, *parts_ms = figures
    until = parts_ms.index(whole_ms)
    assert sum(parts_ms[:until]) == whole_ms
