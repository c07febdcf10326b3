"""The first call of a process imports nothing, and holds the event loop no longer than any other."""

from __future__ import annotations

import subprocess
import sys

FIRST_CALL = """
import asyncio, sys
from tests.attacks.loop_time import loop_time
from tests.media.conftest import MediaServer
from voiceagent.client.caller import Caller
from voiceagent.media.webrtc.webrtc_leg import prepare

async def call(server):
    with loop_time() as loop:
        caller = Caller(server.url)
        await caller.connect()
        await server.legs[-1].wait_connected()
        await caller.hangup()
        await server.legs[-1].close()
    return loop.longest_ms

async def main():
    server = MediaServer()
    await server.start()
    await asyncio.to_thread(prepare)
    before = set(sys.modules)
    longest_ms = await call(server)
    print(longest_ms, file=sys.stderr)
    print(*(set(sys.modules) - before))
    await server.stop()

asyncio.run(main())
"""


def test_the_first_call_imports_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_CALL], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
