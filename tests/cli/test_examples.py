"""Every command shows how it is used, by examples that it takes, and prints JSON where a program may read it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator

import click
import pytest

from tests.cli.conftest import Outcome
from voiceagent.cli import COMMANDS, cli
from voiceagent.cli.command_table import example_lines

Run = Callable[..., Outcome]
NOT_FOR_PROGRAMS = {
    "voiceagent serve": "it runs; its log may be JSON",
    "voiceagent models serve": "it runs",
    "voiceagent cluster up": "it runs",
    "voiceagent completion": "it prints a script",
    "voiceagent calls export": "it prints JSON as it is",
}


def every_command(command: click.Command = cli, path: tuple[str, ...] = ("voiceagent",)) -> Iterator[tuple[str, click.Command]]:
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every_command(below, (*path, name))


ALL = dict(every_command())


def test_all_commands_are_looked_at() -> None:
    assert {path.split()[1] for path in ALL if " " in path} == set(COMMANDS)


@pytest.mark.parametrize("path", ALL)
def test_every_help_has_examples_of_its_command(path: str) -> None:
    examples = [typed for typed, _ in example_lines(ALL[path])]
    assert examples
    assert any(path in typed for typed in examples), examples


@pytest.mark.parametrize("path", ALL)
def test_every_example_is_taken(path: str) -> None:
    for typed, _ in example_lines(ALL[path]):
        for words in typed_commands(typed):
            command: click.Command = cli
            context = click.Context(cli, info_name="voiceagent")
            while isinstance(command, click.Group):
                found = command.get_command(context, words.pop(0))
                assert found is not None, typed
                command, context = found, click.Context(found, parent=context)
            take(command, context, words)


def typed_commands(line: str) -> Iterator[list[str]]:
    """The arguments of each voiceagent in a line of a shell."""
    line = re.sub(r'^eval "\$\((.*)\)"$', r"\1", line)
    words = shlex.split(line, comments=True)
    for end in [index for index, word in enumerate(words) if word in ("&&", "|", ">", "<", "&")][::-1]:
        words, rest = words[:end], words[end + 1 :]
        if rest and rest[0] == "voiceagent":
            yield rest[1:]
    if words[0] != "echo":
        assert words[0] == "voiceagent", line
        yield words[1:]


def take(command: click.Command, context: click.Context, words: list[str]) -> None:
    """Parse options and arguments, and read each value but those that must be files."""
    values, rest, _ = command.make_parser(context).parse_args(args=words)
    assert not rest, rest
    for parameter in command.params:
        value = values.get(str(parameter.name))
        if isinstance(value, str | list | tuple) and not isinstance(parameter.type, click.Path):
            parameter.type_cast_value(context, value)
        assert not parameter.required or value, parameter.name


@pytest.mark.parametrize("path", [path for path, one in ALL.items() if not isinstance(one, click.Group)])
def test_every_command_that_a_program_may_read_prints_json(path: str) -> None:
    options = {name for parameter in ALL[path].params for name in parameter.opts}
    assert ("--json" in options) is (path not in NOT_FOR_PROGRAMS)


def test_keys_are_made_and_revoked_as_json(voiceagent: Run, tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VOICEAGENT_DATA", str(tmp_path))
    made = json.loads(voiceagent("keys", "add", "shop", "--json").out)
    assert (made["name"], made["kind"]) == ("shop", "client")
    assert made["key"]
    (listed,) = json.loads(voiceagent("keys", "list", "--json").out)
    assert json.loads(voiceagent("keys", "revoke", "shop", "--json").out) == {"name": "shop", "id": listed["id"]}


def test_models_are_verified_and_pulled_as_json(voiceagent: Run) -> None:
    (verified,) = json.loads(voiceagent("models", "verify", "micro-whisper", "--json").out)
    assert verified == {"name": "micro-whisper", "ok": True, "problems": []}
    (pulled,) = json.loads(voiceagent("models", "pull", "micro-whisper", "--json").out)
    assert (pulled["name"], pulled["fetched"]) == ("micro-whisper", False)


def test_an_error_leaves_standard_output_empty(voiceagent: Run) -> None:
    outcome = voiceagent("models", "verify", "micro-whispr", "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")


def test_help_and_completion_import_no_command() -> None:
    """They would take seconds."""
    program = (
        "import sys; from voiceagent.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith('voiceagent.cli.') or name == 'numpy'])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "['voiceagent.cli.command_table']"
