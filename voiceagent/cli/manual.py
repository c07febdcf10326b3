"""The manual pages, made from what each command says of itself: `python -m voiceagent.cli.manual` writes docs/man/*.1 and the
table of commands. Roff as of groff_man(7), without macros that other readers lack."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from voiceagent.cli import COMMANDS, cli
from voiceagent.cli.command_table import FILE, CommandTable, example_lines, remarks, row_of, short_help

PAGES = Path(__file__).resolve().parents[2] / "docs" / "man"
PROGRAM = "voiceagent"
ENVIRONMENT = {
    "VOICEAGENT_KEY": "The key that commands present to a server.",
    "VOICEAGENT_MODELS": "The folder of fetched models.",
    "VOICEAGENT_DATA": "The folder of measurements, kept calls and keys.",
    "VOICEAGENT_DEBUG": "If set, an error shows where it came from.",
}


def pages() -> dict[str, str]:
    """The manual pages by their files' names."""
    context = click.Context(cli, info_name=PROGRAM)
    commands = {name: cli.get_command(context, name) for name in COMMANDS}
    found = {f"{PROGRAM}.1": _whole(context, {name: one for name, one in commands.items() if one is not None})}
    for name, command in commands.items():
        if command is not None:
            below = click.Context(command, info_name=name, parent=context)
            found[f"{PROGRAM}-{name}.1"] = "\n".join(_page(below, command, f"{PROGRAM}-{name}")) + "\n"
    return found


def table() -> bytes:
    """The table of commands, as its file holds it."""
    from voiceagent.models.registry import registry

    context, known = click.Context(cli, info_name=PROGRAM), registry()
    rows = {name: row_of(command, name) for name in COMMANDS if (command := cli.get_command(context, name)) is not None}
    voices = tuple(name for name, model in known.models.items() if model.kind == "tts")
    made = CommandTable(tuple(known.profiles), tuple(known.models), voices, rows)
    return msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n"


def _whole(context: click.Context, commands: dict[str, click.Command]) -> str:
    lines = [*_head(PROGRAM, short_help(cli)), ".SH SYNOPSIS", f".B {PROGRAM}", r"\fICOMMAND\fR [\fIOPTIONS\fR] \&..."]
    lines += [".SH DESCRIPTION", *_paragraphs(cli.help or ""), ".SH COMMANDS"]
    for name, command in commands.items():
        lines += [".TP", rf"\fB{_text(PROGRAM)}\-{_text(name)}\fR(1)", _text(short_help(command))]
    lines += [*_examples(cli), ".SH ENVIRONMENT"]
    for name, told in ENVIRONMENT.items():
        lines += [".TP", rf"\fB{_text(name)}\fR", _text(told)]
    lines += [*_remarks(cli), ".SH SEE ALSO", ", ".join(rf"\fB{PROGRAM}\-{_text(name)}\fR(1)" for name in commands)]
    return "\n".join(lines) + "\n"


def _page(context: click.Context, command: click.Command, name: str) -> Iterator[str]:
    yield from _head(name, short_help(command))
    yield ".SH SYNOPSIS"
    yield _synopsis(context, command)
    yield ".SH DESCRIPTION"
    yield from _paragraphs(command.help or "")
    options = list(_options(context, command))
    if options:
        yield ".SH OPTIONS"
        yield from options
    if isinstance(command, click.Group):
        yield ".SH COMMANDS"
        for part in command.list_commands(context):
            if (below := command.get_command(context, part)) is not None:
                yield from _part(click.Context(below, info_name=part, parent=context), below)
    yield from _examples(command)
    yield from _remarks(command)
    yield ".SH SEE ALSO"
    yield rf"\fB{PROGRAM}\fR(1)"


def _part(context: click.Context, command: click.Command) -> Iterator[str]:
    """A command of a group, as a part of the group's page."""
    yield f'.SS "{_text(context.command_path)}"'
    yield _synopsis(context, command)
    yield ".PP"
    yield from _paragraphs(command.help or "")
    yield from _options(context, command)
    if examples := example_lines(command):
        yield ".PP"
        yield "Examples:"
        yield from _verbatim(examples)
    for text in remarks(command):
        yield ".PP"
        yield from _paragraphs(text)


def _head(name: str, told: str) -> Iterator[str]:
    yield '.\\" Made by python -m voiceagent.cli.manual'
    yield f'.TH {name.upper()} 1 "" "{PROGRAM}" "{PROGRAM}"'
    yield ".SH NAME"
    yield rf"{_text(name)} \- {_text(told.rstrip('.'))}"


def _synopsis(context: click.Context, command: click.Command) -> str:
    pieces = " ".join(command.collect_usage_pieces(context))
    return rf"\fB{_text(context.command_path)}\fR {_text(pieces)}"


def _options(context: click.Context, command: click.Command) -> Iterator[str]:
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            yield ".TP"
            yield rf"\fB{_text(record[0])}\fR"
            yield _text(" ".join(record[1].split())) or r"\&"


def _examples(command: click.Command) -> Iterator[str]:
    if examples := example_lines(command):
        yield ".SH EXAMPLES"
        yield from _verbatim(examples)


def _verbatim(examples: list[tuple[str, str]]) -> Iterator[str]:
    for typed, told in examples:
        yield ".TP"
        yield rf"\fB{_text(typed)}\fR"
        yield _text(told) or r"\&"


def _remarks(command: click.Command) -> Iterator[str]:
    exits = [text for text in remarks(command) if "xit code" in text]
    others = [text for text in remarks(command) if text not in exits]
    if others:
        yield ".SH NOTES"
        for number, text in enumerate(others):
            yield from [".PP"] * bool(number)
            yield from _paragraphs(text)
    if exits:
        yield ".SH EXIT STATUS"
        for text in exits:
            yield from _paragraphs(text)


def _paragraphs(text: str) -> Iterator[str]:
    """A help text: its paragraphs are filled, but for those that `\\b` marks."""
    for number, part in enumerate(text.strip().split("\n\n")):
        if number:
            yield ".PP"
        if part.lstrip().startswith("\b"):
            yield ".nf"
            yield from map(_text, part.strip("\b\n").splitlines())
            yield ".fi"
        else:
            yield _text(" ".join(part.split()))


def _text(text: str) -> str:
    """Text in roff: no sign of it is taken for a request or an escape."""
    escaped = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^(\s*)(?=[.'])", r"\1\\&", escaped)


def write(folder: Path = PAGES) -> None:
    """Write all pages and the table; pages of commands that are gone are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for old in folder.glob("*.1"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    FILE.write_bytes(table())


if __name__ == "__main__":
    write()
