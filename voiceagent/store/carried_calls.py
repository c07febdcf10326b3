"""The calls that servers carry, as they would leave them now: kept for the case that a server is killed. Each is sealed like one
that waits (`waiting_calls`). A server shows that it lives by a row that expires soon, by the database's own clock. A call is that
of the server in its row, and of no other: who takes it changes the row, and the server that had it finds that it is gone."""

from __future__ import annotations

from dataclasses import dataclass

from voiceagent.store.database import Database, NothingKeptError, StoreAddress
from voiceagent.store.schema import connect, reading
from voiceagent.store.waiting_calls import opened, token_hash

LEASE_S = 1.5
"""A server that has not shown for so long that it lives counts as dead."""
_DEAD = "server NOT IN (SELECT server FROM voiceagent_servers WHERE expires > {now})"
_LATE = "server NOT IN (SELECT server FROM voiceagent_servers WHERE expires + ? > {now})"


@dataclass(frozen=True, slots=True)
class FoundCall:
    """A call that waits, or that a server carries."""

    left: bytes
    """The call, unsealed."""
    server: str = ""
    """The server that carries it; empty if it waits."""
    alive_s: float = 0.0
    """The time for which that server still counts as alive; 0 or less if it is dead."""


# --- by the server that carries calls ---------------------------------------------------------------------------------


def show_life(database: Database, server: str) -> None:
    """The server lives for `LEASE_S` more. Raises StoreError."""
    database.execute(
        f"INSERT INTO voiceagent_servers (server, expires) VALUES (?, {database.now} + ?) "
        "ON CONFLICT (server) DO UPDATE SET expires = excluded.expires",
        (server, LEASE_S),
    )


def end_life(database: Database, server: str) -> None:
    """The server stops, and carries no call any more. Raises StoreError."""
    database.execute("DELETE FROM voiceagent_carried_calls WHERE server = ?", (server,))
    database.execute("DELETE FROM voiceagent_servers WHERE server = ?", (server,))


def keep_first(database: Database, call_id: str, server: str, token: bytes, sealed: str) -> bool:
    """Keep a call for the first time. `token` is the hash of its token. Returns False if it is another server's. Raises
    StoreError."""
    return bool(
        database.execute(
            "INSERT INTO voiceagent_carried_calls (call_id, token, server, sealed) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (call_id) DO UPDATE SET token = excluded.token, sealed = excluded.sealed "
            "WHERE voiceagent_carried_calls.server = excluded.server RETURNING call_id",
            (call_id, token.hex(), server, sealed),
        )
    )


def keep_again(database: Database, call_id: str, server: str, token: bytes, sealed: str) -> bool:
    """Keep a call as it is now. Returns False if it was taken. Raises StoreError."""
    return bool(
        database.execute(
            "UPDATE voiceagent_carried_calls SET token = ?, sealed = ? WHERE call_id = ? AND server = ? RETURNING call_id",
            (token.hex(), sealed, call_id, server),
        )
    )


def forget_call(database: Database, call_id: str, server: str) -> bool:
    """Keep a call no more. Returns False if it was taken, or never kept. Raises StoreError."""
    return bool(
        database.execute(
            "DELETE FROM voiceagent_carried_calls WHERE call_id = ? AND server = ? RETURNING call_id", (call_id, server)
        )
    )


# --- by another server ------------------------------------------------------------------------------------------------


def find_call(address: StoreAddress, token: str) -> FoundCall | None:
    """The call of a token, waiting or carried; None if there is none. Raises StoreError."""
    hashed = token_hash(token).hex()
    try:
        with reading(address) as database:
            if not database.has_table("voiceagent_carried_calls"):
                return None
            rows = database.execute(
                f"SELECT sealed, '', 0.0 FROM voiceagent_waiting_calls WHERE token = ? AND expires > {database.now}", (hashed,)
            ) or database.execute(
                "SELECT c.sealed, c.server, coalesce(s.expires, 0.0) - "
                f"{database.now} FROM voiceagent_carried_calls c LEFT JOIN voiceagent_servers s ON s.server = c.server "
                "WHERE c.token = ?",
                (hashed,),
            )
    except NothingKeptError:
        return None
    left = opened(str(rows[0][0]), token) if rows else None
    return None if left is None else FoundCall(left, str(rows[0][1]), float(rows[0][2] or 0.0))


def take_call(address: StoreAddress, token: str, server: str, call_id: str) -> bytes | None:
    """The call of a token, which waits, or whose server is dead. It is this server's from now on, under this id: of several who
    take it, one gets it. None: there is none. Raises StoreError."""
    hashed = token_hash(token).hex()
    database = connect(address, writes=True)
    try:
        rows = database.execute(
            f"DELETE FROM voiceagent_waiting_calls WHERE token = ? AND expires > {database.now} RETURNING sealed", (hashed,)
        )
        if rows:
            database.forget()
        else:
            dead = _DEAD.format(now=database.now)
            rows = database.execute(
                f"UPDATE voiceagent_carried_calls SET server = ?, call_id = ? WHERE token = ? AND {dead} RETURNING sealed",
                (server, call_id, hashed),
            )
    finally:
        database.close()
    return opened(str(rows[0][0]), token) if rows else None


def forget_dead(address: StoreAddress, timeout_s: float) -> None:
    """Delete the calls of servers that have been dead for so long. Raises StoreError."""
    try:
        with reading(address) as database:
            late = _LATE.format(now=database.now)
            if not database.has_table("voiceagent_carried_calls") or not database.execute(
                f"SELECT 1 FROM voiceagent_carried_calls WHERE {late} UNION ALL "
                f"SELECT 1 FROM voiceagent_servers WHERE expires + ? <= {database.now} LIMIT 1",
                (timeout_s, timeout_s),
            ):
                return
    except NothingKeptError:
        return
    database = connect(address, writes=True)
    try:
        database.execute(f"DELETE FROM voiceagent_carried_calls WHERE {late}", (timeout_s,))
        database.execute(f"DELETE FROM voiceagent_servers WHERE expires + ? <= {database.now}", (timeout_s,))
        database.forget()
    finally:
        database.close()
