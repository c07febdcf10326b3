"""The calls that a server has left, and that wait for their callers to take them up at another one. Each is sealed: only its
caller's token, of which the store holds a hash, opens it. It is deleted when it is taken, and when its time is over."""

from __future__ import annotations

import base64
import hashlib
import os
import time
import zlib
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from voiceagent.store.database import NothingKeptError, StoreAddress, StoreError
from voiceagent.store.schema import connect, reading

MAX_BYTES = 8 * 1024 * 1024
"""A call that takes more, unsealed, is not kept."""
MAX_CALLS = 10_000
"""The most calls that wait."""
NONCE_BYTES = 12
NO_CALLS: Mapping[bytes, tuple[str, str]] = {}
_FORGET_CARRIED = "DELETE FROM voiceagent_carried_calls WHERE call_id = ? AND server = ? RETURNING call_id"


def token_hash(token: str) -> bytes:
    """The hash by which a token is found."""
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()


def seal_key(token: str) -> bytes:
    """The key that seals the call of a token. The hash does not give it away."""
    return hashlib.sha256(b"voiceagent call " + token.encode(errors="surrogateescape")).digest()


def seal(left: bytes, key: bytes, *, quickly: bool = False) -> str:
    """Seal a call. `quickly`: it takes less time and more room. Raises StoreError for one that is too large."""
    if len(left) > MAX_BYTES:
        raise StoreError(f"the call has {len(left)} bytes; at most {MAX_BYTES} are kept")
    nonce = os.urandom(NONCE_BYTES)
    packed = zlib.compress(left, zlib.Z_BEST_SPEED if quickly else zlib.Z_DEFAULT_COMPRESSION)
    return base64.b64encode(nonce + AESGCM(key).encrypt(nonce, packed, None)).decode()


def opened(sealed: str, token: str) -> bytes | None:
    """The call that was sealed by the key of this token; None if it cannot be opened."""
    text = base64.b64decode(sealed)
    try:
        return zlib.decompress(AESGCM(seal_key(token)).decrypt(text[:NONCE_BYTES], text[NONCE_BYTES:], None))
    except (InvalidTag, zlib.error):
        return None


def keep_calls(
    address: StoreAddress, sealed: Mapping[bytes, str], expires_s: float, carried: Mapping[bytes, tuple[str, str]] = NO_CALLS
) -> None:
    """Keep sealed calls, by their tokens' hashes, until a time in seconds since 1970. Those that are `carried`, by call and
    server, are so no more, and one that another server has taken meanwhile does not wait. Raises StoreError."""
    database = connect(address, writes=True)
    try:
        with database.transaction():
            database.execute("DELETE FROM voiceagent_waiting_calls WHERE expires <= ?", (time.time(),))
            ((count,),) = database.execute("SELECT count(*) FROM voiceagent_waiting_calls")
            if int(count or 0) + len(sealed) > MAX_CALLS:
                raise StoreError(f"{address}: {count} calls wait there already; at most {MAX_CALLS} may")
            for found, text in sealed.items():
                if found in carried and not database.execute(_FORGET_CARRIED, carried[found]):
                    continue
                values = (found.hex(), expires_s, text)
                database.execute("INSERT INTO voiceagent_waiting_calls (token, expires, sealed) VALUES (?, ?, ?)", values)
    finally:
        database.close()


def read_call(address: StoreAddress, token: str) -> bytes | None:
    """The call of a token; None if none waits for it. Raises StoreError."""
    return _opened(address, token, "SELECT sealed FROM voiceagent_waiting_calls WHERE token = ? AND expires > ?")


def take_call(address: StoreAddress, token: str) -> bytes | None:
    """The same, and it waits no more: of several who take it, one gets it. Raises StoreError."""
    return _opened(address, token, "DELETE FROM voiceagent_waiting_calls WHERE token = ? AND expires > ? RETURNING sealed")


def forget_late(address: StoreAddress) -> None:
    """Delete the calls whose time is over. Raises StoreError."""
    late = "FROM voiceagent_waiting_calls WHERE expires <= ?"
    try:
        with reading(address) as database:
            if not database.has_table("voiceagent_waiting_calls") or not database.execute(f"SELECT 1 {late}", (time.time(),)):
                return
    except NothingKeptError:
        return
    database = connect(address, writes=True)
    try:
        database.execute(f"DELETE {late}", (time.time(),))
        database.forget()
    finally:
        database.close()


def _opened(address: StoreAddress, token: str, statement: str) -> bytes | None:
    try:
        database = connect(address, writes=statement.startswith("DELETE"))
    except NothingKeptError:
        return None
    try:
        if not database.has_table("voiceagent_waiting_calls"):
            return None
        rows = database.execute(statement, (token_hash(token).hex(), time.time()))
        if rows and statement.startswith("DELETE"):
            database.forget()
    finally:
        database.close()
    return opened(str(rows[0][0]), token) if rows else None
