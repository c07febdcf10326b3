"""Keeps what the calls of this server would leave, in the store, so that they go on at another server if this one is killed. One
thread writes: always the newest of each call, so what waits is bounded by the calls. It also shows that this server lives. Only a
tool with an effect waits for it: it begins once its beginning is kept, so that nobody runs it again."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from voiceagent.errors import ConfigError
from voiceagent.server.calls.waiting_calls import ENCODER, WaitingCall
from voiceagent.store import carried_calls
from voiceagent.store.carried_calls import end_life, forget_call, keep_again, keep_first, show_life
from voiceagent.store.database import Database, StoreAddress, StoreError
from voiceagent.store.schema import connect
from voiceagent.store.waiting_calls import seal
from voiceagent.store.writer import Losses

BEAT_S = 0.4
"""The server shows so often that it lives."""
WRITTEN_S = 2.0
"""A tool with an effect waits so long for its beginning to be kept. It does not run otherwise."""
RETRY_S = 0.5
CLOSED_S = 5.0
KIND = "states of calls"
"""Names what is lost, in the counts of losses."""

log = logging.getLogger(__name__)

Outcome = Literal["kept", "taken", "not kept"]
"""The result of a write: the call is kept; another server has it; it is too large, or broke as it was written."""


@dataclass(eq=False)
class JournalledCall:
    """A call that is kept. Implements `call.journal.Journal`. All but `_write` runs on the event loop."""

    journal: ServerJournal
    call_id: str
    wrap: Callable[[object], WaitingCall]
    """Makes what waits of what the call leaves."""
    may_come_back: Callable[[], bool]
    """Returns whether its client could take it up again. Otherwise nothing is kept."""
    taken: Callable[[], object]
    """Called once another server has it."""
    opens: tuple[bytes, bytes] = (b"", b"")
    """The hash of the token that takes it up, and the key that seals the call."""
    is_first: bool = True
    """True until it was kept."""
    is_left: bool = False
    """True once nothing more of it is kept: it is being left to another server, or cannot be kept."""
    is_over: bool = False
    """True once it is not to be kept any more."""
    left: Callable[[], object | None] | None = None
    """Makes what it leaves. None: nothing is known of it yet."""
    noted: int = 0
    """The number of the newest state of it, and of the newest that is kept."""
    written: int = 0
    outcome: Outcome = "kept"
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def opens_by(self, token: bytes, key: bytes) -> None:
        """It has another token: its hash, and the key that seals the call."""
        self.opens = token, key
        self.keep()

    def note(self, left: Callable[[], object | None]) -> None:
        """Keep this state of the call. `left` is called in a thread; None: the call is not to go on elsewhere."""
        self.left = left
        self.keep()

    def keep(self) -> None:
        """Keep what was noted last, if the client could take it up."""
        if self.left is not None and not self.is_left and not self.is_over and self.may_come_back():
            self.noted += 1
            self.journal.put(self)

    async def is_written(self) -> bool:
        """Wait until the last state is kept. Returns False if another server has the call, or if the store may still hold an
        earlier state when the time is up."""
        wanted = self.noted
        try:
            async with asyncio.timeout(WRITTEN_S):
                while self.written < wanted and self.outcome == "kept":
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return self.is_first
        return self.outcome != "taken"

    def was_written(self, number: int, outcome: Outcome) -> None:
        """The state of this number was written, with this outcome."""
        self.written, self.outcome = number, outcome
        self._changed.set()
        if outcome == "taken" and not self.is_left and not self.is_over:
            self.is_over = True
            self.taken()

    def leave(self) -> tuple[str, str] | None:
        """It is being left to another server, and stays as it is kept. Returns its id and this server's name in the store; None:
        it was never kept."""
        self.is_left = True
        return None if self.is_first else (self.call_id, self.journal.server)

    def end(self) -> None:
        """The call is over: keep it no more."""
        self.is_over = True
        self.journal.put(self)


class ServerJournal:
    """The calls of one server that are kept."""

    def __init__(self, address: StoreAddress, losses: Losses | None = None) -> None:
        self.server = secrets.token_hex(8)
        """This server's name in the store."""
        self._address = address
        self._losses = losses or Losses()
        self._changed = threading.Condition()
        self._known: dict[str, JournalledCall] = {}
        self._dirty: dict[str, JournalledCall] = {}
        self._closing = False
        self._database: Database | None = None
        self._beat_s = float("-inf")
        self._loop: asyncio.AbstractEventLoop

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write for the time of the body. At its end nothing of this server is kept any more."""
        self._loop = asyncio.get_running_loop()
        thread = threading.Thread(target=self._run, name="journal", daemon=True)
        thread.start()
        try:
            yield
        finally:
            with self._changed:
                self._closing = True
                self._changed.notify()
            await asyncio.to_thread(thread.join, CLOSED_S)

    def put(self, call: JournalledCall) -> None:
        """Write the newest state of a call, or forget one that is over."""
        with self._changed:
            self._dirty[call.call_id] = self._known[call.call_id] = call
            if call.is_over:
                del self._known[call.call_id]
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                wait_s = max(0.0, self._beat_s + BEAT_S - time.monotonic())
                self._changed.wait_for(lambda: self._dirty or self._closing, wait_s)
                seemed_dead = time.monotonic() - self._beat_s > carried_calls.LEASE_S
                batch = list((self._known | self._dirty if seemed_dead else self._dirty).values())
                closing = self._closing
                self._dirty.clear()
            is_written = self._try(batch, closing=closing)
            if closing:
                break
            if not is_written:
                with self._changed:
                    for call in batch:
                        self._dirty.setdefault(call.call_id, call)
                    self._changed.wait_for(lambda: self._closing, RETRY_S)
        self._disconnect()

    def _try(self, batch: list[JournalledCall], *, closing: bool) -> bool:
        """Write a batch. Returns False if it is to be tried again."""
        done: list[tuple[JournalledCall, int, Outcome]] = []
        try:
            if self._database is None:
                self._database = connect(self._address, writes=True)
            states = [(call, call.noted, _sealed(call)) for call in batch if call.is_over or not call.is_left]
            with self._database.transaction():
                if closing:
                    end_life(self._database, self.server)
                    return True
                show_life(self._database, self.server)
                for call, number, sealed in states:
                    done.append((call, number, self._write(self._database, call, sealed)))
        except (StoreError, ConfigError) as error:
            self._disconnect()
            self._losses.add(KIND, len(batch), str(error))
            if isinstance(error, ConfigError) or not error.is_refused or closing:
                return False
            for call in batch if len(batch) > 1 else ():  # one that the database refuses takes no other with it
                self._try([call], closing=False)
            done = [(call, call.noted, "not kept") for call in batch if len(batch) == 1]
        self._beat_s = time.monotonic()
        for call, number, outcome in done:
            if outcome == "kept":
                call.is_first = False
            self._tell(call, number, outcome)
        return True

    def _write(self, database: Database, call: JournalledCall, sealed: tuple[bytes, str] | None) -> Outcome:
        if sealed is None or call.is_over:
            forget_call(database, call.call_id, self.server)
            call.is_first = True
            return "not kept"
        keep = keep_first if call.is_first else keep_again
        return "kept" if keep(database, call.call_id, self.server, *sealed) else "taken"

    def _tell(self, call: JournalledCall, number: int, outcome: Outcome) -> None:
        try:
            self._loop.call_soon_threadsafe(call.was_written, number, outcome)
        except RuntimeError:  # the loop is closed: nobody waits any more
            self._closing = True

    def _disconnect(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None


def _sealed(call: JournalledCall) -> tuple[bytes, str] | None:
    """The hash of a call's token, and what it leaves, sealed. None: it is not to be kept."""
    (token, key), left = call.opens, call.left
    try:
        found = None if left is None or call.is_over else left()
        return None if found is None else (token, seal(ENCODER.encode(call.wrap(found)), key, quickly=True))
    except StoreError as error:
        log.warning("call %s cannot go on if this server is killed: %s", call.call_id, error)
    except Exception:
        log.exception("call %s cannot go on if this server is killed", call.call_id)
    call.is_left = True
    return None
