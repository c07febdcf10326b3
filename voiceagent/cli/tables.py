"""Tables on the command line. A cell is never cut: a table is as wide as its longest words need, and takes one line a row where
nobody reads it in a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

UNLIMITED = 10_000
"""Columns of a line that goes into a pipe or a file."""


def plain_table(title: str, *columns: str, right: tuple[str, ...] = ()) -> Table:
    """A table without lines between its columns. The first column, names, is never broken into lines."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if name in right else "left", no_wrap=number == 0, overflow="fold")
    return table


def fits(table: Table) -> bool:
    """True if the table's longest words have room in the terminal's lines."""
    console = Console()
    return not console.is_terminal or _measured(table).minimum <= console.width


def show(*tables: Table) -> None:
    """Print tables."""
    console = Console()
    for table in tables:
        needed = _measured(table)
        width = max(console.width, needed.minimum) if console.is_terminal else UNLIMITED
        Console(width=width).print(table)


def _measured(table: Table) -> Measurement:
    console = Console(width=UNLIMITED)
    return Measurement.get(console, console.options, table)
