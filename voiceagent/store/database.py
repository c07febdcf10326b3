"""One connection to the store, whichever engine it is. SQL is written once, with `?` for values, in the words that SQLite and
PostgreSQL share. A connection blocks, and belongs to one thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from voiceagent.errors import VoiceAgentError

Value: TypeAlias = str | int | float | None
Row: TypeAlias = tuple[Value, ...]

CONNECT_TIMEOUT_S = 5.0
BUSY_TIMEOUT_S = 2.0
"""Longest wait for another program that holds a SQLite file."""
STATEMENT_TIMEOUT_S = 30.0
"""Longest run of a statement in PostgreSQL."""


class StoreError(VoiceAgentError):
    """The store cannot be read or written."""

    def __init__(self, message: str, *, why: str = "", is_lost: bool = False, is_refused: bool = False) -> None:
        """`why` is the reason with the advice, without the address. `is_lost` is True if there is no connection, so that another
        attempt may succeed; `is_refused` if the database does not take these values, while it may take others."""
        super().__init__(message)
        self.why = why or message
        self.is_lost, self.is_refused = is_lost, is_refused


class NothingKeptError(StoreError):
    """The store was never written."""


class Database(Protocol):
    """A connection. Each method raises StoreError."""

    id_column: str
    """The type of a column that counts rows."""

    def execute(self, sql: str, values: Sequence[Value] = ()) -> list[Row]:
        """Run a statement; returns its rows."""
        ...

    def transaction(self) -> AbstractContextManager[None]:
        """All statements of the body, or none of them."""
        ...

    def has_table(self, name: str) -> bool:
        """True if there is such a table."""
        ...

    def lock_schema(self) -> None:
        """Let no other server make tables until the transaction ends."""
        ...

    def forget(self) -> None:
        """Leave nothing of deleted rows in files, as far as the engine can do that at once."""
        ...

    def close(self) -> None:
        """Close it. May be called twice. Raises nothing."""
        ...
