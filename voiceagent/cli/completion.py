"""`voiceagent completion`: shells complete commands, options and what those take. The script that it prints has the shell ask
this program at each press of the tab key. The answer comes from the table of commands, so that it takes a tenth of a second."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class
from click.shell_completion import shell_complete as answer_to_shell

from voiceagent.cli import COMPLETION_VARIABLE
from voiceagent.cli.command_table import CommandRow, ParameterRow, command_table
from voiceagent.errors import VoiceAgentError

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "voiceagent"
MAX_CALLS = 50


@click.command(
    epilog="""\b
Examples:
  eval "$(voiceagent completion bash)"       in this shell
  voiceagent completion bash > ~/.local/share/bash-completion/completions/voiceagent
  voiceagent completion zsh > ~/.zfunc/_voiceagent
  voiceagent completion fish > ~/.config/fish/completions/voiceagent.fish

Bash and fish read these files by themselves. For zsh, put `fpath+=~/.zfunc` before `compinit` in ~/.zshrc. The script stays valid
when voiceagent changes."""
)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Print the script with which a shell completes commands, options, profiles, models and calls. Default: your $SHELL."""
    name = shell or Path(os.environ.get("SHELL", "")).name
    if name not in SHELLS:
        raise click.UsageError(f"name the shell: {', '.join(SHELLS)}")
    kind = get_completion_class(name)
    assert kind is not None
    click.echo(kind(click.Group(PROGRAM), {}, PROGRAM, COMPLETION_VARIABLE).source())


def answer(instruction: str) -> int:
    """Answer a shell that asks how a command line may go on; returns the exit code. Variables hold what is typed."""
    return answer_to_shell(command_tree(), {}, PROGRAM, COMPLETION_VARIABLE, instruction)


def command_tree() -> click.Group:
    """The commands and their options, which do nothing."""
    commands = {name: _command(name, row) for name, row in command_table().commands.items()}
    return click.Group(PROGRAM, commands=commands, params=[click.Option(["--version"], is_flag=True)])


def _command(name: str, row: CommandRow) -> click.Command:
    parameters = [_parameter(one) for one in row.parameters]
    if row.commands:
        parts = {part: _command(part, of) for part, of in row.commands.items()}
        return click.Group(name, commands=parts, params=parameters, help=row.help)
    return click.Command(name, params=parameters, help=row.help)


def _parameter(row: ParameterRow) -> click.Parameter:
    kind: click.ParamType[object] | None = _Names(row.takes) if row.takes in ("profile", "model", "voice", "call") else None
    if row.takes == "choice":
        kind = click.Choice(row.choices)
    elif row.takes in ("file", "folder"):
        kind = click.Path(file_okay=row.takes == "file")
    if not row.names[0].startswith("-"):
        return click.Argument([row.names[0]], type=kind, nargs=-1 if row.several else 1, required=False)
    names = [*row.names, "parameter_" + row.names[0].strip("-").replace("-", "_")]
    if row.takes == "flag":
        return click.Option(names, is_flag=True, help=row.help)
    if row.optional:
        return click.Option(names, type=kind, is_flag=False, flag_value="", help=row.help)
    return click.Option(names, type=kind, help=row.help, multiple=True)


class _Names(click.ParamType[object]):
    """Completes names of one kind."""

    name = "name"

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem[str]]:
        """The names that begin so; for a voice also files."""
        if self._kind == "call":
            return [CompletionItem(name) for name in _calls(incomplete)]
        table = command_table()
        names = {"profile": table.profiles, "model": table.models, "voice": table.voices}[self._kind]
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if self._kind == "voice" else [])


def _calls(begins: str) -> list[str]:
    """The newest kept calls; none where they cannot be read."""
    from voiceagent.settings.agent import store_address
    from voiceagent.store.records import CallFilter, find_calls
    from voiceagent.store.schema import reading

    try:
        with reading(store_address()) as database:
            return [call.call_id for call in find_calls(database, CallFilter(begins=begins, last=MAX_CALLS))]
    except VoiceAgentError:
        return []
