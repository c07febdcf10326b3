"""Requests as fast as one address can send them hold up nobody's call, and keep nobody else from calling."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from tests.attacks.figures import MEASURING, at_most, hold, within
from tests.attacks.honest import meet, percentile
from tests.attacks.raw_http import address_of
from tests.server_process import running_server
from voiceagent.server.http.connections import REQUESTS_AT_ONCE, REQUESTS_PER_S


async def test_a_flood_of_requests_holds_up_nobody(tmp_path: Path) -> None:
    with running_server(tmp_path) as server:
        host, port = address_of(server.url)
        flood = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.attacks.request_flood", host, str(port)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        began_s = time.monotonic()
        met = await meet(server.url, calls=2, turns=5 if MEASURING else 2)
        assert flood.stdin is not None
        flood.stdin.close()
        answers = int((await flood.communicate())[0])
        lasted_s = time.monotonic() - began_s
    assert met.failed == met.refused == []
    allowed = 2 * (REQUESTS_AT_ONCE + lasted_s * REQUESTS_PER_S)  # each refusal is an answer too
    print(f"{answers} answers in {lasted_s:.0f} s")
    hold(
        within("a flood of requests: packet gap p99 of callers beside it", percentile(met.gaps_ms, 99), 40.0, "ms"),
        at_most("a flood of requests: answers, for each that is allowed", answers / allowed, 10.0, ""),
    )
