"""Writes what a command has made to standard output, or to the file of its `--out`. With `--json` a command writes one JSON value
to standard output and nothing else there. What went wrong is a line on standard error and the exit code, with `--json` too."""

from __future__ import annotations

import json
from pathlib import Path

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
format_json_option = click.option("--json", "as_json", is_flag=True, help="The same as --format json.")


def print_json(value: object) -> None:
    """One JSON value to standard output."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def clock(ms: float) -> str:
    """A time of the call: minutes, seconds and tenths."""
    tenths = round(ms / 100)
    return f"{tenths // 600}:{tenths // 10 % 60:02d}.{tenths % 10}"


def printable(text: str) -> str:
    """Text in one line, and without what would move a terminal's cursor or colour it."""
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else f"\\x{ord(sign):02x}" for sign in text)


def write_output(text: str, out: Path | None) -> None:
    """Raises click.FileError in one line for a file that cannot be written."""
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(out), f"{error.strerror}; name a writable place with --out") from error
