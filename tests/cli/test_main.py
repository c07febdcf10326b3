import os
import subprocess
import sys
from collections.abc import Callable

import click
import pytest

from tests.cli.conftest import Outcome
from voiceagent import cli
from voiceagent.errors import ConfigError

Run = Callable[..., Outcome]


def test_help_lists_every_command(voiceagent: Run) -> None:
    outcome = voiceagent("--help")
    assert outcome.code == 0
    assert all(command in outcome.out for command in cli.COMMANDS)


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_has_help_with_examples(voiceagent: Run, command: str) -> None:
    outcome = voiceagent(command, "--help")
    assert outcome.code == 0
    assert f"voiceagent {command}" in outcome.out


def test_an_unknown_command_is_usage(voiceagent: Run) -> None:
    outcome = voiceagent("sing")
    assert outcome.code == 2
    assert "No such command 'sing'" in outcome.err


def test_an_error_of_ours_is_one_line_and_code_1(voiceagent: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def report() -> None:
        raise ConfigError("a.yaml: is\nwrong")

    monkeypatch.setattr("voiceagent.cli.report.report", report)
    outcome = voiceagent("report")
    assert (outcome.code, outcome.err) == (1, "error: a.yaml: is wrong\n")
    monkeypatch.setenv(cli.DEBUG_VARIABLE, "1")
    with pytest.raises(ConfigError):
        cli.main(["report"])


def test_a_bug_is_one_line_too_unless_debugging() -> None:
    program = (
        "import click, voiceagent.cli as c, voiceagent.cli.report as r;"
        "r.report = click.command()(lambda: 1 / 0); c.main(['report'])"
    )
    for debug, expected in (("", "failed unexpectedly (ZeroDivisionError: division by zero)"), ("1", "Traceback")):
        environment = {**os.environ, cli.DEBUG_VARIABLE: debug}
        command = [sys.executable, "-c", program]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert ended.returncode == 1
        assert expected in ended.stderr
        assert ("Traceback" in ended.stderr) == bool(debug)


def test_it_runs_as_a_module() -> None:
    ended = subprocess.run([sys.executable, "-m", "voiceagent", "--version"], capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert ended.stdout.startswith("voiceagent, version ")


def test_blas_gets_one_thread_before_numpy_is_imported() -> None:
    program = "import sys, os, voiceagent.cli; print(os.environ['OPENBLAS_NUM_THREADS'], 'numpy' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "False"]


def test_a_server_starts_without_packages_that_its_agent_does_not_use() -> None:
    """Each of them takes half a second or more to import."""
    rare = ("mcp", "openai", "pydantic", "httpx", "vllm", "ray", "redis", "psycopg", "opentelemetry", "grpc", "matplotlib")
    program = f"import sys, voiceagent.cli.serve; print(*(name for name in {rare} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
