"""Writes what a command has made to standard output, or to the file of its `--out`."""

from __future__ import annotations

from pathlib import Path

import click


def write_output(text: str, out: Path | None) -> None:
    """Raises click.FileError in one line for a file that cannot be written."""
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(out), f"{error.strerror}; name a writable place with --out") from error
