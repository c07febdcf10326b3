"""Names on the command line: none is cut in a table, and a mistyped one gets a suggestion and exit code 2."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from voiceagent.latency.spans import Span, Stage, TurnReport
from voiceagent.models.registry import registry
from voiceagent.store.database import local_store
from voiceagent.store.turns import TurnStore
from voiceagent.store.writer import StoreWriter

Run = Callable[..., Outcome]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("sevre",), "Did you mean 'serve'?"),
        (("modles", "list"), "Did you mean 'models'?"),
        (("models", "lst"), "Did you mean 'list'?"),
        (("serve", "--prot", "1"), "'--port'"),
        (("serve", "--log-level", "warnin"), "did you mean warning?"),
        (("models", "pull", "--from", "packges"), "did you mean packages?"),
        (("models", "list", "--for", "sst"), "did you mean stt?"),
        (("report", "--leg", "telefone"), "did you mean telephone?"),
        (("serve", "--profile", "embeded"), "did you mean embedded?"),
        (("models", "pull", "--profile", "startr"), "did you mean starter?"),
        (("models", "pull", "piper-jo"), "did you mean piper-joe?"),
        (("models", "verify", "micro-whispr"), "did you mean micro-whisper?"),
        (("models", "list", "--language", "german"), "did you mean de?"),
        (("plan", "--model", "qwen3-8b", "--gpu", "h10"), "did you mean h100?"),
        (("plan", "--model", "qwen3-9b", "--gpu", "h100"), "did you mean qwen3-8b?"),
        (("plan", "--model", "qwen3-8b", "--gpu", "h100", "--profile", "cpuu"), "did you mean cpu?"),
    ],
)
def test_a_mistyped_name_gets_a_suggestion_and_is_wrong_usage(voiceagent: Run, arguments: tuple[str, ...], said: str) -> None:
    outcome = voiceagent(*arguments)
    assert outcome.code == 2
    assert said in outcome.err
    lines = [line for line in outcome.err.splitlines() if line and not line.startswith(("Usage:", "Try "))]
    assert len(lines) == 1


def test_a_mistyped_profile_of_measured_turns_gets_a_suggestion(
    voiceagent: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path))
    _measure(tmp_path, "embedded")
    outcome = voiceagent("report", "--profile", "embeded")
    assert outcome.code == 2
    assert "did you mean embedded?" in outcome.err


def _measure(folder: Path, profile: str) -> None:
    writer = StoreWriter(local_store(folder))
    store = TurnStore(writer)
    store.put(TurnReport("c", 1, 0.0, profile, (Span(Stage.VAD, 0, 5),), 300.0, None))
    writer.close()


def _printed(columns: int | None, folder: Path, *arguments: str) -> list[str]:
    """The lines that a command prints into a pipe, or into a terminal of so many columns."""
    command = [sys.executable, "-m", "voiceagent", *arguments]
    environment = {**os.environ, "VOICEAGENT_DATA": str(folder), "NO_COLOR": "1", "TERM": "dumb"}
    environment.pop("COLUMNS", None)
    if columns is None:
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen(command, env=environment, stdout=theirs, stdin=theirs, stderr=subprocess.DEVNULL) as program:
        os.close(theirs)
        said = b""
        while part := _read(ours):
            said += part
        program.wait()
    os.close(ours)
    return said.decode().splitlines()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # EIO: the program has ended
        return b""


@pytest.mark.parametrize("columns", [None, 40, 80, 200])
def test_no_name_of_a_model_or_a_profile_is_cut(tmp_path: Path, columns: int | None) -> None:
    words = " ".join(_printed(columns, tmp_path, "models", "list", "--dir", str(tmp_path))).split()
    assert {*registry().models, *registry().profiles} <= set(words)
    assert not any("…" in word for word in words)


def test_a_list_in_a_pipe_has_one_line_for_each_model(tmp_path: Path) -> None:
    lines = _printed(None, tmp_path, "models", "list", "--dir", str(tmp_path))
    for model in registry().models.values():
        (line,) = [line for line in lines if line.split()[:2] == [model.name, model.kind]]
        assert model.licence in line


@pytest.mark.parametrize("columns", [None, 40, 80, 200])
def test_no_stage_and_no_profile_of_a_report_is_cut(tmp_path: Path, columns: int | None) -> None:
    _measure(tmp_path, "embedded")
    words = " ".join(_printed(columns, tmp_path, "report")).split()
    assert {stage.value for stage in Stage} <= set(words)
    assert "embedded:" in words


def test_models_are_listed_by_the_language_that_they_know(voiceagent: Run) -> None:
    german = voiceagent("models", "list", "--language", "de", "--for", "stt").out.split()
    assert "whisper-base" in german
    assert "whisper-base.en" not in german
    voices = voiceagent("models", "list", "--language", "de", "--for", "tts")
    assert "No voice here speaks de: name a Piper voice" in voices.out
