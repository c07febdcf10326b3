"""Many callers in one process, for a server that is measured in another: `python -m bench.media_callers URL CALLS SECONDS
[TEXT GAP_S]` prints `connected` once all calls are up, and after that time one line of JSON: how late packets came. Each caller
says the text again and again, with that gap."""

from __future__ import annotations

import asyncio
import gc
import json
import sys

import numpy as np
from numpy.typing import NDArray

from bench.media_server import SPEECH, speech
from voiceagent.client.caller import Caller
from voiceagent.client.packet_times import PacketTimes

SETTLE_S = 2.0
SPEECH_GAP_S = "3.0"


async def _speak(caller: Caller, said: NDArray[np.int16], gap_s: float) -> None:
    while True:
        caller.say(said)
        await caller.wait_said()
        await asyncio.sleep(gap_s)


async def run(url: str, calls: int, seconds: float, text: str, gap_s: float) -> dict[str, float]:
    """Make the calls; what was measured."""
    said = speech(text)
    callers = [Caller(url) for _ in range(calls)]
    times = [PacketTimes() for _ in callers]
    for caller, packets in zip(callers, times, strict=True):
        caller.on_packet = packets.add
        await caller.connect()
        await asyncio.sleep(0.05)
    speakers = [asyncio.create_task(_speak(caller, said, gap_s)) for caller in callers]
    await asyncio.sleep(SETTLE_S)
    for packets in times:
        packets.forget()
    gc.collect()
    gc.freeze()  # a collection of all the callers' objects would make packets look late
    print("connected", flush=True)
    await asyncio.sleep(seconds)
    late_ms = [one for packets in times for one in packets.lateness_ms()]
    for speaker in speakers:
        speaker.cancel()
    await asyncio.gather(*speakers, return_exceptions=True)
    result = {
        "packets": float(len(late_ms)),
        "missing": float(sum(packets.missing for packets in times)),
        "late_p50_ms": float(np.percentile(late_ms, 50)),
        "late_p99_ms": float(np.percentile(late_ms, 99)),
        "late_p999_ms": float(np.percentile(late_ms, 99.9)),
        "late_max_ms": max(late_ms),
    }
    print(json.dumps(result), flush=True)
    await asyncio.gather(*(caller.hangup() for caller in callers))
    return result


if __name__ == "__main__":
    url, calls, seconds, text, gap_s = (*sys.argv[1:], SPEECH, SPEECH_GAP_S)[:5]
    asyncio.run(run(url, int(calls), float(seconds), text, float(gap_s)))
