"""Files over HTTP on loopback, as a whole, from a byte on, or cut off in the middle: what the small hub and the small package
index of these tests have in common."""

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from aiohttp import web


async def send(
    request: web.Request, data: bytes, wanted: str, headers: Mapping[str, str] = {}, *, cut_after: int | None = None
) -> web.StreamResponse:
    """Answer with `data` from where the Range header `wanted` begins; with `cut_after` the connection ends after so many
    bytes."""
    start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
    response = web.StreamResponse(
        status=206 if start else 200, headers={**headers, "Accept-Ranges": "bytes", "Content-Length": str(len(data) - start)}
    )
    if start:
        response.headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
    await response.prepare(request)
    await response.write(data[start:] if cut_after is None else data[start : start + cut_after])
    if cut_after is not None:
        assert request.transport is not None
        request.transport.close()
    return response


@contextmanager
def served(app: web.Application) -> Iterator[str]:
    """Serve it in a thread of its own; its address."""
    loop = asyncio.new_event_loop()
    runner = web.AppRunner(app)

    async def start() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()

    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()
