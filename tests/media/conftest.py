"""A tiny server that answers calls with `WebRtcLeg`, for tests of the media path alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from voiceagent.audio.resample import StreamResampler
from voiceagent.errors import MediaError
from voiceagent.media.leg import InboundFrame
from voiceagent.media.webrtc.webrtc_leg import WebRtcLeg

Behaviour = Callable[[WebRtcLeg], Awaitable[None]]


def tone(seconds: float, hz: float = 440.0, rate_hz: int = 24_000, amplitude: float = 8000.0) -> np.ndarray:
    return (amplitude * np.sin(2 * np.pi * hz * np.arange(int(seconds * rate_hz)) / rate_hz)).astype(np.int16)


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Nothing here may take a minute, whatever it waits for."""
    started_s = time.monotonic()
    yield
    assert time.monotonic() - started_s < 60


async def echo(leg: WebRtcLeg) -> None:
    """Say back what was heard."""
    up = StreamResampler(16_000, 24_000, quality="QQ")
    async for frame in leg.frames():
        leg.playout.push(1, 0, up.process(frame.pcm), complete=False)


async def listen(leg: WebRtcLeg) -> None:
    """Hear, say nothing."""
    async for _ in leg.frames():
        pass


class MediaServer:
    """Answers `POST /v1/realtime/calls` and runs `behaviour` for each leg."""

    def __init__(self) -> None:
        self.behaviour: Behaviour = listen
        self.options: dict[str, Any] = {}
        self.legs: list[WebRtcLeg] = []
        self.change_answer: Callable[[str], str] = str
        self.url = ""
        self._tasks: list[asyncio.Task[None]] = []
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/v1/realtime/calls", self._call)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _call(self, request: web.Request) -> web.Response:
        try:
            leg, answer = await WebRtcLeg.answer(await request.text(), **self.options)
        except MediaError as error:
            return web.json_response({"error": {"message": str(error)}}, status=400)
        self.legs.append(leg)
        self._tasks.append(asyncio.create_task(self._serve(leg)))
        headers = {"Location": f"/v1/realtime/calls/rtc_{len(self.legs)}"}
        return web.Response(status=201, text=self.change_answer(answer), content_type="application/sdp", headers=headers)

    async def _serve(self, leg: WebRtcLeg) -> None:
        try:
            await self.behaviour(leg)
        finally:
            await leg.close()

    async def finish(self) -> None:
        """Wait until every leg so far has ended and freed its things."""
        await asyncio.gather(*self._tasks)
        self._tasks.clear()

    async def stop(self) -> None:
        for leg in self.legs:
            await leg.close()
        await self.finish()
        assert self._runner is not None
        await self._runner.cleanup()


@pytest.fixture
async def media_server() -> AsyncIterator[MediaServer]:
    server = MediaServer()
    await server.start()
    yield server
    await server.stop()


async def collect(leg: WebRtcLeg, frames: int) -> list[InboundFrame]:
    """The next frames that the leg hears."""
    got: list[InboundFrame] = []
    async for frame in leg.frames():
        got.append(frame)
        if len(got) >= frames:
            break
    return got
