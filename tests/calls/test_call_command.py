"""`voiceagent call` against real servers: what it prints, writes and returns when calls go well and when they break."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import wave
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes import Said
from tests.server_process import ServerProcess, running_server

WEATHER = "What's the weather in Paris tomorrow?"
LONG = "What can you do?"


@dataclass
class Called:
    """A `voiceagent call` that has ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return [line for line in self.err.splitlines() if line]


def command(url: str, *options: str | Path) -> list[str]:
    return [sys.executable, "-m", "voiceagent", "call", "--url", url, *map(str, options)]


def call(url: str, *options: str | Path) -> Called:
    ran = subprocess.run(command(url, *options), capture_output=True, text=True, timeout=120, check=False)
    return Called(ran.returncode, ran.stdout, ran.stderr)


def samples(path: Path) -> int:
    with wave.open(str(path)) as file:
        return int(file.getnframes())


@pytest.fixture(scope="module")
def deaf_mute(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server whose language model is down, and whose agent has no greeting."""
    folder = tmp_path_factory.mktemp("down")
    config = folder / "agent.yaml"
    config.write_text("name: Down\nllm: {base_url: 'http://127.0.0.1:9/v1'}\n")
    with running_server(folder, "--config", str(config), "--max-calls", "1") as running:
        yield running


def test_a_call_prints_its_id_its_voice_and_the_conversation(server: ServerProcess, tmp_path: Path) -> None:
    called = call(server.url, "--say", WEATHER, "--record", tmp_path / "call.wav", "--json", "-")
    assert called.code == 0, called
    found: dict[str, Any] = json.loads(called.out)
    assert re.fullmatch(r"rtc_\w{24}", found["call"])
    assert f"call   {found['call']}" in called.err
    assert "voice  micro-voice" in called.err, "the bundled recogniser knows the bundled voice"
    (turn,) = found["turns"]
    assert (turn["said"], turn["caption"], turn["part"], turn["parts"]) == (WEATHER, WEATHER, 1, 1)
    assert "Paris" in turn["heard"]
    assert f"agent  {turn['heard']}" in called.err
    assert (found["failure"], turn["failure"], turn["unheard"]) == (None, None, "")
    assert samples(tmp_path / "call.wav") > 24_000


def test_a_call_is_one_line_a_turn_in_the_log_and_can_be_read_back(server: ServerProcess) -> None:
    call_id = json.loads(call(server.url, "--say", WEATHER, "--json", "-").out)["call"]
    (told,) = [line for line in server.said() if call_id in line]
    assert re.search(rf"voiceagent.turns: call {call_id} turn 1: answered after \d+ ms, reply completed, \d+ words heard", told)
    assert not any("Paris" in line for line in server.said())
    listed = kept(server, "calls", "list")
    assert re.search(rf"{call_id} +0:\d\d\.\d +1 +hangup +webrtc +Demo\n", listed), (
        "a longer word in another row moves the columns"
    )
    shown = kept(server, "calls", "show", call_id.removeprefix("rtc_")[:12])
    assert re.search(rf"  caller  {re.escape(WEATHER)}\n +0:\d\d\.\d  tool    get_weather\(", shown)
    assert "(not heard" not in shown


def kept(server: ServerProcess, *command: str) -> str:
    """What a command prints of the server's data."""
    ours = {**os.environ, "VOICEAGENT_DATA": str(server.data)}
    program = [sys.executable, "-m", "voiceagent", *command]
    return subprocess.run(program, capture_output=True, text=True, check=True, env=ours).stdout


def test_turns_that_the_server_cuts_off_are_turns_and_show_what_was_not_heard(
    server: ServerProcess, said: Said, tmp_path: Path
) -> None:
    first, rate_hz = asyncio.run(speech(said, LONG))
    second, _ = asyncio.run(speech(said, "No, what time is it in Berlin?"))
    pause = np.zeros(rate_hz, np.int16)
    with wave.open(str(tmp_path / "hesitant.wav"), "wb") as file:
        file.setparams((1, 2, rate_hz, 0, "NONE", ""))
        file.writeframes(np.concatenate([first, pause, second]).tobytes())
    called = call(server.url, "--say", tmp_path / "hesitant.wav", "--json", "-")
    turns = json.loads(called.out)["turns"]
    assert [(turn["part"], turn["parts"], turn["turn"]["turn"]) for turn in turns] == [(1, 2, 1), (2, 2, 2)]
    assert turns[0]["unheard"]
    assert f"{turns[0]['heard']} (not heard: {turns[0]['unheard']})" in called.err
    assert turns[0]["unheard"] not in turns[0]["heard"]
    assert "Berlin" in turns[1]["heard"]
    assert "the agent answered before the end: 2 turns" in called.err


async def speech(said: Said, text: str) -> tuple[Any, int]:
    return await said(text)


def test_a_reply_that_fails_is_told_and_everything_is_written(deaf_mute: ServerProcess, tmp_path: Path) -> None:
    record, data = tmp_path / "call.wav", tmp_path / "call.json"
    called = call(deaf_mute.url, "--say", LONG, "--record", record, "--json", data)
    assert called.code == 1
    found = json.loads(data.read_text())
    (turn,) = found["turns"]
    assert turn["failure"]
    assert f"failed: {turn['failure']}" in called.out
    assert found["greeting"] == ""
    assert samples(record) > 24_000


def test_an_agent_without_a_greeting_is_not_waited_for(deaf_mute: ServerProcess) -> None:
    called = call(deaf_mute.url, "--say", LONG, "--timeout", "10")
    assert "the greeting" not in called.err
    assert "understood" in called.out or "you" in called.out


def test_what_came_before_a_wait_that_was_too_long_is_kept(tmp_path: Path) -> None:
    data = tmp_path / "call.json"
    with socket.create_server(("127.0.0.1", 0)) as never_answers:
        config = tmp_path / "agent.yaml"
        config.write_text(f"name: Stuck\nllm: {{base_url: 'http://127.0.0.1:{never_answers.getsockname()[1]}/v1'}}\n")
        with running_server(tmp_path, "--config", str(config)) as running:
            called = call(running.url, "--say", LONG, "--timeout", "4", "--json", data)
    assert called.code == 1
    found = json.loads(data.read_text())
    assert found["turns"][0]["caption"] == LONG
    assert found["failure"].startswith("waited 4 s for ")
    assert called.lines == [f"error: {found['failure']}"]


def test_a_server_that_dies_is_one_line_and_the_call_is_kept(tmp_path: Path) -> None:
    with running_server(tmp_path, exit_code=-signal.SIGKILL) as running:
        data = tmp_path / "call.json"
        calling = started(running.url, "--say", WEATHER, "--say", LONG, "--json", data)
        until(calling, "Paris")
        running.process.kill()
        _, err = calling.communicate(timeout=60)
    assert calling.returncode == 1
    (line,) = err.splitlines()
    assert "nothing has come from the server for 5 s" in line
    assert "Paris" in json.loads(data.read_text())["turns"][0]["heard"]


def test_an_interrupted_call_keeps_what_there_is(server: ServerProcess, tmp_path: Path) -> None:
    data, record = tmp_path / "call.json", tmp_path / "call.wav"
    calling = started(server.url, "--say", WEATHER, "--say", LONG, "--json", data, "--record", record)
    until(calling, "Paris")
    calling.send_signal(signal.SIGINT)
    _, err = calling.communicate(timeout=60)
    assert calling.returncode == 130
    assert err.splitlines() == ["error: interrupted"]
    found = json.loads(data.read_text())
    assert (found["failure"], "Paris" in found["turns"][0]["heard"]) == ("interrupted", True)
    assert samples(record) > 24_000


def started(url: str, *options: str | Path) -> subprocess.Popen[str]:
    """A call that goes on. What runs in the background ignores SIGINT, which a program inherits: so it is reset."""
    ours = {**os.environ, "PYTHONUNBUFFERED": "1"}
    program = ["env", "--default-signal=INT", *command(url, *options)]
    return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ours)


def until(calling: subprocess.Popen[str], word: str) -> None:
    """Wait until the agent has said a word."""
    assert calling.stdout is not None
    assert any(line.startswith("agent") and word in line for line in calling.stdout)


def test_a_full_server_is_one_line(deaf_mute: ServerProcess) -> None:
    holding = started(deaf_mute.url, "--say", LONG, "--say", LONG, "--say", LONG)
    assert holding.stdout is not None
    assert holding.stdout.readline().startswith("call ")
    called = call(deaf_mute.url, "--say", LONG)
    holding.communicate(timeout=60)
    assert (called.code, len(called.lines)) == (1, 1)
    assert "the server refused the call (503): " in called.err


def test_a_wrong_key_is_one_line_that_says_where_a_key_goes(tmp_path: Path) -> None:
    with running_server(tmp_path, environment={"VOICEAGENT_KEYS": "a-key-of-16-letters-or-more"}) as running:
        for options in ((), ("--token", "wrong")):
            called = call(running.url, "--say", LONG, *options)
            assert (called.code, len(called.lines)) == (1, 1)
            assert "(401)" in called.err
            assert "--token" in called.err
