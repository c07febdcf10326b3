"""The commands, their options and what those take, as a table in a file beside this one. Listing the commands and completing a
command line in a shell read it, since importing the commands themselves takes seconds. `python -m voiceagent.cli.manual` writes
it anew."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import click
import msgspec

FILE = Path(__file__).with_name("commands.json")
EXAMPLES = "Examples:\n"
_NAMED = {"profile": "profile", "voice_name": "voice", "call_id": "call"}
"""The kinds of names that options take, by the options' parameters."""
_NAMED_OF = {
    ("models", "names"): "model",
    ("calls", "call"): "call",
    ("calls", "which"): "call",
    ("replay", "call"): "call",
}
"""The same of arguments, by the command and the parameter's name."""


class ParameterRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """An option or an argument."""

    names: tuple[str, ...]
    """An option as it is typed, or an argument's one name."""
    takes: str = ""
    """`flag` takes nothing; `file`, `folder`, `choice`, `profile`, `model`, `voice` and `call` can be completed, others not."""
    choices: tuple[str, ...] = ()
    help: str = ""
    several: bool = False
    """True for an argument of any number of values."""
    optional: bool = False
    """True for an option whose value may be left out."""


class CommandRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command, or a group of commands."""

    help: str
    """In one line."""
    parameters: tuple[ParameterRow, ...] = ()
    commands: Mapping[str, CommandRow] = {}


class CommandTable(msgspec.Struct, frozen=True):
    """All that there is to complete without asking anybody."""

    profiles: tuple[str, ...]
    models: tuple[str, ...]
    voices: tuple[str, ...]
    commands: Mapping[str, CommandRow]


@functools.cache
def command_table() -> CommandTable:
    """The table of the file."""
    return msgspec.json.decode(FILE.read_bytes(), type=CommandTable)


def row_of(command: click.Command, top: str) -> CommandRow:
    """The row of a command; `top` is the name of the command below `voiceagent` that it belongs to."""
    context = click.Context(command)
    commands = {}
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (part := command.get_command(context, name)) is not None:
                commands[name] = row_of(part, top)
    parameters = tuple(_parameter(one, top) for one in command.params)
    return CommandRow(short_help(command), parameters, commands)


def short_help(command: click.Command) -> str:
    """The first sentence of a command's help."""
    return command.get_short_help_str(limit=1000)


def _parameter(parameter: click.Parameter, top: str) -> ParameterRow:
    name = str(parameter.name)
    choices: tuple[str, ...] = ()
    takes = _NAMED_OF.get((top, name), "")
    if isinstance(parameter, click.Option):
        names = (*parameter.opts, *parameter.secondary_opts)
        takes = "flag" if parameter.is_flag or parameter.count else _NAMED.get(name, takes)
        told = parameter.help or ""
    else:
        names, told = (name,), ""
    if not takes and isinstance(parameter.type, click.Choice):
        takes, choices = "choice", tuple(map(str, parameter.type.choices))
    elif not takes and isinstance(parameter.type, click.Path):
        takes = "file" if parameter.type.file_okay else "folder"
    elif not takes and isinstance(parameter, click.Option) and parameter.metavar in ("FILE", "PATH"):
        takes = "file"
    is_optional = takes != "flag" and isinstance(getattr(parameter, "flag_value", None), str)
    return ParameterRow(names, takes, choices, " ".join(told.split()), several=parameter.nargs == -1, optional=is_optional)


def example_lines(command: click.Command) -> list[tuple[str, str]]:
    """The examples in a command's help: each command line, and what is said about it."""
    _, begins, rest = (command.epilog or "").partition(EXAMPLES)
    found = []
    for line in rest.split("\n\n")[0].splitlines() if begins else ():
        typed, *told = re.split(r"\s{2,}", line.strip(), maxsplit=1)
        found.append((typed, told[0] if told else ""))
    return found


def remarks(command: click.Command) -> Sequence[str]:
    """The rest of what stands below a command's options, as paragraphs. Lines of one that begins with `\\b` stay as they are."""
    before, begins, rest = (command.epilog or "").partition(EXAMPLES)
    text = f"{before.removesuffix(chr(8) + chr(10))}{rest.partition(chr(10) * 2)[2]}" if begins else before
    return [part.strip("\n") for part in text.split("\n\n") if part.strip("\b\n ")]
