"""Repeats the datagrams that a connection's set-up lost on the way. aioice waits 500 ms before it repeats an ICE check, and
OpenSSL 1 s before it repeats a DTLS flight. At 30 % loss, these waits make 2 of 5 calls miss the 5 s in which a call must be up.
A repeated datagram is byte for byte the first one, so a receiver that already has it recognises it at no cost (RFC 8489 §6.3.1,
RFC 6347 §4.1.2.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from aiortc import RTCIceTransport
from aiortc.rtcdtlstransport import RTCDtlsTransport

from voiceagent.task_owner import TaskOwner

REPEATS_S = (0.1, 0.25, 0.6)
"""The times of the repeats, in seconds after the first time."""

_SEND = "_send"


def moved() -> list[str]:
    """Lists the parts of the installed aiortc that are elsewhere than this module expects."""
    return [] if _SEND in RTCIceTransport.__init__.__code__.co_names else ["RTCIceTransport sends elsewhere"]


class Repeats:
    """Calls `send` again at `REPEATS_S`, until it is told to stop."""

    def __init__(self, send: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._timers = [loop.call_later(delay_s, send) for delay_s in REPEATS_S]

    def stop(self) -> None:
        """Repeat no more."""
        for timer in self._timers:
            timer.cancel()


def repeat_flights(transport: RTCDtlsTransport, tasks: TaskOwner) -> None:
    """Repeat each handshake flight of `transport` until it sends the next one or is done."""
    send: Callable[[bytes], Awaitable[None]] = getattr(transport.transport, _SEND)
    repeats: list[Repeats] = []

    async def send_flight(data: bytes) -> None:
        if transport.encrypted:  # the last flight's repeats go on: nothing answers it
            setattr(transport.transport, _SEND, send)
        else:
            while repeats:
                repeats.pop().stop()
            repeats.append(Repeats(lambda: repeat(data)))
        await send(data)

    def repeat(data: bytes) -> None:
        if transport.state in ("connecting", "connected"):
            tasks.start_alone(send_again(data), "repeated flight")

    async def send_again(data: bytes) -> None:
        with suppress(ConnectionError):
            await send(data)

    setattr(transport.transport, _SEND, send_flight)
