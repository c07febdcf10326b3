"""Repeats the datagrams that a connection's set-up lost on the way. aioice waits 500 ms before it repeats an ICE check, and
OpenSSL 1 s before it repeats a DTLS flight. At 30 % loss, these waits make 2 of 5 calls miss the 5 s in which a call must be up.
A repeated datagram is byte for byte the first one, so a receiver that already has it recognises it at no cost (RFC 8489 §6.3.1,
RFC 6347 §4.1.2.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

REPEATS_S = (0.1, 0.25, 0.6)
"""The times of the repeats, in seconds after the first time."""


class Repeats:
    """Calls `send` again at `REPEATS_S`, until it is told to stop."""

    def __init__(self, send: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._timers = [loop.call_later(delay_s, send) for delay_s in REPEATS_S]

    def stop(self) -> None:
        """Repeat no more."""
        for timer in self._timers:
            timer.cancel()
