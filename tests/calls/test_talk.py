"""`voiceagent talk`: typed through a pipe, and spoken through a sound card in a terminal."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.server_process import ServerProcess
from tests.sound_room import sound_room

TALK = (sys.executable, "-m", "voiceagent", "talk")
WAIT_S = 60.0
_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def typed(text: str | bytes, *options: str, code: int = 0) -> subprocess.CompletedProcess[bytes]:
    data = text.encode() if isinstance(text, str) else text
    run = subprocess.run([*TALK, "--text", *options], input=data, capture_output=True, check=False, timeout=WAIT_S)
    assert run.returncode == code, run.stderr
    return run


def test_typed_questions_are_answered_in_text(server: ServerProcess) -> None:
    run = typed("What is 12 plus 30?\n\nHow are you?", "--url", server.url)
    first, second = run.stdout.decode().splitlines()
    assert "42" in first
    assert "fine" in second
    assert run.stderr == b""


def test_programs_get_a_line_of_json_a_turn(server: ServerProcess) -> None:
    lines = [json.loads(line) for line in typed("What time is it in Paris?\n", "--json", "--url", server.url).stdout.splitlines()]
    assert [line["type"] for line in lines] == ["call", "turn", "turn", "ended"]
    greeting, answer = lines[1:3]
    assert (greeting["said"], greeting["turn"]) == ("", None)
    assert greeting["heard"]
    assert answer["said"] == "What time is it in Paris?"
    assert [tool["name"] for tool in answer["tools"]] == ["get_time"]
    assert answer["first_text_ms"] > 0
    assert lines[-1]["reason"] == "hangup"


def test_a_line_that_is_no_text_is_one_line(server: ServerProcess) -> None:
    run = typed(b"\xff\xfe\n", "--url", server.url, code=1)
    assert run.stderr.decode().splitlines() == ["error: standard input:1: the line is no UTF-8; write text"]


def test_where_no_server_is_one_line_says_so() -> None:
    run = typed("hello\n", "--url", "http://127.0.0.1:9", code=1)
    assert b"no server there" in run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_a_spoken_call_without_a_terminal_is_wrong_usage() -> None:
    run = subprocess.run(TALK, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert run.returncode == 2
    assert "standard input is no terminal; use --text" in run.stderr


class Terminal:
    """A command in a terminal of 100 columns."""

    def __init__(self, *command: str, environment: dict[str, str]) -> None:
        self.shown = ""
        self._ours, self._theirs = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=self._theirs, stdout=self._theirs, stderr=self._theirs, env={**environment, "COLUMNS": "100"}
        )

    def wait_for(self, text: str) -> None:
        """Read until it was shown since the last time."""
        before, until_s = self.shown, time.monotonic() + WAIT_S
        while text not in _SEQUENCE.sub("", self.shown[len(before) :]):
            assert time.monotonic() < until_s, f"{text!r} was not shown: {_SEQUENCE.sub('', self.shown)}"
            if select.select([self._ours], [], [], 0.2)[0]:
                self.shown += os.read(self._ours, 65_536).decode(errors="replace")
            else:
                assert self.process.poll() is None or text in self.shown, _SEQUENCE.sub("", self.shown)

    def press(self, key: str) -> None:
        os.write(self._ours, key.encode())

    def echoes(self) -> bool:
        """True if the terminal shows what is typed, as before the command."""
        return bool(termios.tcgetattr(self._theirs)[3] & termios.ECHO)

    def close(self) -> int:
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()
            os.close(self._ours)
            os.close(self._theirs)


@contextmanager
def talking(tmp_path: Path, url: str, *options: str) -> Iterator[Terminal]:
    with sound_room(tmp_path) as room:
        terminal = Terminal(*TALK, "--url", url, *options, environment=room.environment)
        terminal.wait_for("q hangs up")
        yield terminal


def test_a_spoken_call_shows_the_conversation_and_obeys_its_keys(server: ServerProcess, tmp_path: Path) -> None:
    record = tmp_path / "call.wav"
    with talking(tmp_path, server.url, "--record", str(record)) as terminal:
        assert not terminal.echoes()
        terminal.wait_for("[speaking]")
        terminal.press(" ")
        terminal.wait_for("(not heard:")
        terminal.press("m")
        terminal.wait_for("[muted]")
        terminal.press("?")
        terminal.wait_for("q hangs up")
        terminal.press("q")
        assert terminal.close() == 0
    with wave.open(str(record)) as call:
        assert any(call.readframes(call.getnframes()))


def test_a_signal_hangs_up_and_leaves_the_terminal_as_before(server: ServerProcess, tmp_path: Path) -> None:
    with talking(tmp_path, server.url) as terminal:
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.process.wait(20) == 130
        assert terminal.echoes()
        terminal.close()
