"""Completion in the shells themselves: each reads the script and asks the program."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.store.calls import keep_call
from voiceagent.store.database import local_store

Run = Callable[..., Outcome]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with `voiceagent` in it, which shells find."""
    folder = tmp_path / "bin"
    folder.mkdir()
    file = folder / "voiceagent"
    file.write_text(f'#!/bin/sh\nexec {sys.executable} -m voiceagent "$@"\n')
    file.chmod(0o755)
    return folder


def asked(folder: Path, *words: str, shell: str = "bash") -> list[str]:
    """What the program answers to a shell, of which the last word is being typed."""
    environment = {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "VOICEAGENT_DATA": str(folder),
        "_VOICEAGENT_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": " ".join(("voiceagent", *words)),
        "COMP_CWORD": str(len(words)),
    }
    run = subprocess.run([str(folder / "voiceagent")], env=environment, capture_output=True, text=True, check=True)
    assert not run.stderr
    return run.stdout.split()


def test_commands_options_and_their_values_are_completed(program: Path) -> None:
    assert "plain,serve" in asked(program, "")
    assert asked(program, "serve", "--pro") == ["plain,--profile"]
    assert asked(program, "serve", "--profile", "star") == ["plain,starter"]
    assert asked(program, "models", "pull", "piper-j") == ["plain,piper-joe"]
    assert asked(program, "call", "--json", "--sa") == ["plain,--say"]
    assert asked(program, "report", "--format", "ju") == ["plain,junit"]
    assert asked(program, "serve", "--config", "a") == ["file,a"]
    assert asked(program, "keys", "re") == ["plain,revoke"]


def test_kept_calls_are_completed_by_their_ids(program: Path) -> None:
    assert asked(program, "calls", "show", "rtc") == []
    keep_call(local_store(program), "rtc_1a")
    assert asked(program, "calls", "show", "rtc") == ["plain,rtc_1a"]


def test_bash_completes_a_line(program: Path, voiceagent: Run) -> None:
    line = (
        f"{voiceagent('completion', 'bash').out}\nCOMP_WORDS=(voiceagent doctor --js)\nCOMP_CWORD=2\n"
        '_voiceagent_completion voiceagent\necho "${COMPREPLY[@]}"'
    )
    environment = {**os.environ, "PATH": f"{program}:{os.environ['PATH']}"}
    run = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["--json"]


@pytest.mark.parametrize(("shell", "check"), [("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")])
def test_the_script_is_one_of_its_shell(shell: str, check: str, voiceagent: Run, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(voiceagent("completion", shell).out)
    subprocess.run([shell, check, str(script)], check=True)


def test_the_shell_is_the_user_s_where_none_is_named(voiceagent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/fish")
    assert "complete --no-files --command voiceagent" in voiceagent("completion").out
    monkeypatch.setenv("SHELL", "/bin/dash")
    outcome = voiceagent("completion")
    assert outcome.code == 2
    assert "name the shell: bash, zsh, fish" in outcome.err
