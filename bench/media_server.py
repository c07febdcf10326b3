"""The media path alone as a server: answers calls with `WebRtcLeg` and lets each play synthesised speech and silence in turns,
while it decodes what the caller says. `python -m bench.media_server` prints its URL and serves until it is ended."""

from __future__ import annotations

import asyncio
import gc

import numpy as np
from aiohttp import web
from numpy.typing import NDArray

from models.train.espeak import Espeak
from voiceagent.audio.format import PLAYED_HZ
from voiceagent.audio.resample import resample
from voiceagent.errors import MediaError
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg

SPEECH = "I can look up your order, tell you the weather, or book a table for you. What would you like me to do first?"
SPEECH_RATE_HZ = 16_000
ROUND_S = 10.0
"""A reply begins this often; its speech is about half of it, silence the rest."""


def speech(text: str = SPEECH) -> NDArray[np.int16]:
    """Speech, mono at the playout's rate."""
    audio = Espeak().say(text, "en-us").resampled(SPEECH_RATE_HZ)
    pcm = (audio / np.abs(audio).max() * 0.5 * 32767).astype(np.int16)
    return resample(pcm, SPEECH_RATE_HZ, PLAYED_HZ)


async def _talk(leg: WebRtcLeg, reply: NDArray[np.int16]) -> None:
    number = 0
    while not leg.end_reason:
        number += 1
        leg.playout.push(number, 0, reply, complete=True)
        await asyncio.sleep(ROUND_S)


async def _serve_leg(leg: WebRtcLeg, reply: NDArray[np.int16]) -> None:
    talking = asyncio.create_task(_talk(leg, reply))
    try:
        async for _ in leg.frames():
            pass
    finally:
        talking.cancel()
        await leg.close()
        print("skipped", leg.counters["frames_skipped"], flush=True)


async def serve() -> None:
    """Serve for ever; the URL is the first line printed."""
    reply = speech()
    legs: set[asyncio.Task[None]] = set()

    async def answer(request: web.Request) -> web.Response:
        try:
            leg, sdp = await WebRtcLeg.answer(await request.text())
        except MediaError as error:
            return web.json_response({"error": {"message": str(error)}}, status=400)
        task = asyncio.create_task(_serve_leg(leg, reply))
        legs.add(task)
        task.add_done_callback(legs.discard)
        return web.Response(status=201, text=sdp, content_type="application/sdp")

    app = web.Application()
    app.router.add_post("/v1/realtime/calls", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    gc.freeze()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve())
