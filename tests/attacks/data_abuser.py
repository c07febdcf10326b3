"""`python -m tests.attacks.data_abuser URL KIND`: a caller in a process of its own whose data channel does one of `ABUSES` for as
long as the call stands; prints how long that was, in seconds."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from struct import pack

from aiortc import RTCSctpTransport
from aiortc.rtcsctptransport import DataChunk, ReconfigChunk, serialize_packet

from voiceagent.client.caller import Caller

BYTES_PER_S = 2_000_000
GIVE_UP_S = 10.0


def data(sctp: RTCSctpTransport, tsn: int, size: int, *, stream: int = 1, flags: int = 0, protocol: int = 51) -> bytes:
    """A packet with a DATA chunk."""
    chunk = DataChunk(flags=flags)
    chunk.tsn, chunk.stream_id, chunk.protocol = tsn % 2**32, stream, protocol
    chunk.user_data = bytes(size)
    return packet(sctp, bytes(chunk))


def packet(sctp: RTCSctpTransport, chunks: bytes) -> bytes:
    """A packet of the association that holds `chunks`."""

    class Raw(DataChunk):
        def __bytes__(self) -> bytes:
            return chunks

    return serialize_packet(sctp._local_port, sctp._remote_port or 5000, sctp._remote_verification_tag, Raw())


def endless_message(sctp: RTCSctpTransport, count: int) -> bytes:
    """Pieces of one message, of which none is the last."""
    return data(sctp, sctp._local_tsn + count, 1100, flags=0x02 if count == 0 else 0)


def far_ahead(sctp: RTCSctpTransport, count: int) -> bytes:
    """Data behind a gap that is never filled, the last first."""
    return data(sctp, sctp._local_tsn + 2_000_000 - 2 * count, 1100, flags=0x03)


def tiny_pieces(sctp: RTCSctpTransport, count: int) -> bytes:
    """As many chunks as a packet holds, each of one byte."""
    chunks = []
    for n in range(50):
        chunk = DataChunk(flags=0)
        chunk.tsn, chunk.stream_id, chunk.protocol = (sctp._local_tsn + 50 * count + n) % 2**32, 1, 51
        chunk.user_data = b"x"
        chunks.append(bytes(chunk))
    return packet(sctp, b"".join(chunks))


def stream_after_stream(sctp: RTCSctpTransport, count: int) -> bytes:
    """A new data channel with each packet."""
    chunk = DataChunk(flags=0x03)
    chunk.tsn, chunk.stream_id, chunk.protocol = (sctp._local_tsn + count) % 2**32, (10 + 2 * count) % 65_535, 50
    chunk.user_data = pack("!BBHLHH", 3, 0, 0, 0, 1, 0) + b"x"
    return packet(sctp, bytes(chunk))


def reset_after_reset(sctp: RTCSctpTransport, count: int) -> bytes:
    """Stream resets without end (RFC 6525)."""
    chunk = ReconfigChunk()
    streams = b"".join(pack("!H", stream) for stream in range(500))
    chunk.params.append((13, pack("!LLL", count, 0, sctp._local_tsn) + streams))
    return packet(sctp, bytes(chunk))


ABUSES: dict[str, Callable[[RTCSctpTransport, int], bytes]] = {
    one.__name__: one for one in (endless_message, far_ahead, tiny_pieces, stream_after_stream, reset_after_reset)
}


async def established(sctp: RTCSctpTransport) -> None:
    """Wait until the association is up, the server has what was sent, and the call's channel is open."""
    for _ in range(2000):
        is_sent = sctp.state == "connected" and not sctp._outbound_queue and not sctp._sent_queue
        if is_sent and sctp._data_channels and all(each.readyState == "open" for each in sctp._data_channels.values()):
            return
        await asyncio.sleep(0.005)
    raise TimeoutError("the association did not come up")


async def ignore(data: bytes) -> None:
    """What the server says to what was never asked."""


async def abuse(caller: Caller, make: Callable[[RTCSctpTransport, int], bytes]) -> float:
    """Send what `make` gives at `BYTES_PER_S` until the call is over; how many seconds it stood."""
    sctp = caller._peer.sctp if caller._peer else None
    assert sctp is not None
    await established(sctp)
    sctp._handle_data = ignore  # type: ignore[method-assign]  # an abuser does not answer
    send: Callable[[bytes], Awaitable[None]] = sctp.transport._send_data
    started_s, sent_bytes, count = time.monotonic(), 0, 0
    while not caller.end_reason and time.monotonic() - started_s < GIVE_UP_S:
        while sent_bytes < (time.monotonic() - started_s) * BYTES_PER_S and not caller.end_reason:
            piece = make(sctp, count)
            await send(piece)
            sent_bytes, count = sent_bytes + len(piece), count + 1
            if count % 8 == 0:
                await asyncio.sleep(0)
        await asyncio.sleep(0.002)
    return time.monotonic() - started_s


async def main(url: str, kind: str) -> None:
    async with Caller(url) as caller:
        print(await abuse(caller, ABUSES[kind]), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
