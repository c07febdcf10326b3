"""Whole HTTP requests without a key, as fast as they are answered, from another address of this machine. Runs in a process that
gives way to all others, `python -m tests.attacks.request_flood HOST PORT`, until its standard input is closed, and then prints
how many answers it got."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress

SOURCE = "127.0.0.2"
CONNECTIONS, PIPELINED = 200, 16
REQUESTS = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * PIPELINED


async def flood(host: str, port: int, answers: list[int]) -> None:
    """One connection after the other, each used for as long as it is open."""
    while True:
        with suppress(OSError):
            reader, writer = await asyncio.open_connection(host, port, local_addr=(SOURCE, 0))
            try:
                while True:
                    writer.write(REQUESTS)
                    await writer.drain()
                    received = await reader.read(65_536)
                    answers[0] += received.count(b"HTTP/1.1 ")
                    if not received:
                        break
            finally:
                writer.close()
        await asyncio.sleep(0.01)


async def main() -> None:
    """The program."""
    os.nice(10)
    answers = [0]
    told = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(told), sys.stdin)
    tasks = [asyncio.create_task(flood(sys.argv[1], int(sys.argv[2]), answers)) for _ in range(CONNECTIONS)]
    await told.read()
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=3)
    print(answers[0])


if __name__ == "__main__":
    asyncio.run(main())
