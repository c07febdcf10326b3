"""Calls by WHIP and WHEP: npm `whip-whep` pushes speech in, in Chromium, and pulls the agent's voice out."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import av
import numpy as np
import pytest

from tests.browser.test_page import chromium
from tests.fakes import Said
from tests.server_process import ServerProcess
from voiceagent.audio.resample import resample

HERE = Path(__file__).parent
WEATHER = "What's the weather in Paris tomorrow?"
RATE_HZ = 48_000


@pytest.mark.browser
async def test_a_page_pushes_and_pulls_with_whip_whep(keyed: tuple[ServerProcess, str], said: Said, tmp_path: Path) -> None:
    browser = chromium("whip-whep")
    server, key = keyed
    pcm, rate_hz = await said(WEATHER)
    microphone = tmp_path / "microphone.wav"
    with av.open(str(microphone), "w") as file:
        stream = file.add_stream("pcm_s16le", rate=RATE_HZ)
        stream.layout = "mono"
        speech = np.concatenate((np.zeros(2 * RATE_HZ, np.int16), resample(pcm, rate_hz, RATE_HZ), np.zeros(RATE_HZ, np.int16)))
        frame = av.AudioFrame.from_ndarray(speech.reshape(1, -1), "s16", "mono")
        frame.sample_rate = RATE_HZ
        file.mux([*stream.encode(frame), *stream.encode(None)])
    driven = await asyncio.to_thread(
        subprocess.run,
        ["node", str(HERE / "whip.mjs"), server.url, key, str(microphone)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "CHROMIUM": browser},
        check=False,
    )
    assert driven.returncode == 0, driven.stderr
    made = json.loads(driven.stdout)
    assert made["energy"] > 0
    assert made["pulled"] == 404, "the call is over, and what listened to it"
