"""`python -m tests.attacks.media_server_process`: a server that echoes its callers, in a process of its own; prints its URL, and
when its input ends why each call ended, as JSON."""

from __future__ import annotations

import asyncio
import json
import sys

from tests.attacks.packets import serving
from tests.media.conftest import echo


async def main() -> None:
    async with serving(echo) as server:
        print(server.url, flush=True)
        await asyncio.to_thread(sys.stdin.read)
        print(json.dumps([leg.end_reason for leg in server.legs]), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
