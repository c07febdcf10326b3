"""The page in real Chromium, with a spoken WAV as the microphone, against a real server with the bundled models."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.server_process import running_server
from voiceagent.audio.resample import resample
from voiceagent.engines import load_tts
from voiceagent.models.registry import profile

HERE = Path(__file__).parent
RATE_HZ = 48_000
SCRIPT: tuple[str | float, ...] = (
    *(4.0, "What's the weather in Paris tomorrow?", 11.0, "What can you do?"),
    *(3.0, "What time is it in Berlin?", 6.0, "What can you do?", 3.0, "Stop.", 30.0),
)
"""What the caller says, and pauses in seconds. The first interruption is a sentence: the agent must be silent while it lasts.
The second is a word, which is answered as soon as it is over."""
QUIET, LOUD = 0.003, 0.03
"""Root mean square of full scale."""


def chromium(*also: str) -> str:
    """The browser's path. Skips the test where it, its driver or one of these packages is missing."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    missing = []
    if found is None:
        missing.append("Chromium (Debian: apt-get install chromium)")
    if shutil.which("node") is None:
        missing.append("Node.js (Debian: apt-get install nodejs)")
    packages = [name for name in ("playwright-core", *also) if not (HERE.parents[1] / "node_modules" / name).is_dir()]
    missing += [f"{name} (make browser)" for name in packages]
    if missing:
        reason = "not installed: " + ", ".join(missing)
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    assert found is not None
    return found


async def speech(script: tuple[str | float, ...]) -> np.ndarray[Any, np.dtype[np.int16]]:
    voice = load_tts(profile("embedded").tts)
    parts = []
    for part in script:
        if isinstance(part, float):
            parts.append(np.zeros(int(part * RATE_HZ), np.int16))
        else:
            pcm = np.concatenate([chunk.pcm async for chunk in voice.synthesise(part)])
            parts.append(resample(pcm, voice.sample_rate_hz, RATE_HZ))
    await voice.close()
    return np.concatenate(parts)


def heard_by_chromium(program: str, microphone: NDArray[np.int16], folder: Path) -> dict[str, Any]:
    """What a program beside this file saw on the page, whose microphone hears this. There were no errors on the page."""
    browser, file = chromium(), folder / "microphone.wav"
    with wave.open(str(file), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE_HZ)
        out.writeframes(microphone.tobytes())
    with running_server(folder) as server:
        driven = subprocess.run(
            ["node", str(HERE / program), server.url, str(file), str(folder / "profile")],
            capture_output=True,
            text=True,
            timeout=150,
            env={**os.environ, "CHROMIUM": browser},
            check=False,
        )
    assert driven.returncode == 0, driven.stderr
    seen: dict[str, Any] = json.loads(driven.stdout)
    assert seen["errors"] == []
    return seen


@pytest.mark.browser
def test_a_person_speaks_sees_their_words_hears_the_agent_and_interrupts_it(tmp_path: Path) -> None:
    seen = heard_by_chromium("call.mjs", asyncio.run(speech(SCRIPT)), tmp_path)
    said = [line for line in SCRIPT if isinstance(line, str)]
    assert seen["caller"][:4] == said[:4]
    assert seen["caller"][4].strip(".").lower() == "stop"
    assert seen["partials"] > 0
    assert (seen["tools"][0]["tool"], seen["tools"][0]["status"]) == ("get_weather", "completed")
    assert json.loads(seen["tools"][0]["arguments"]) == {"city": "Paris", "day": "tomorrow"}
    assert "Paris" in seen["agent"][1]
    assert len(seen["cut"]) == 2
    assert all(seen["cut"])
    assert seen["turns"] >= 4
    spoken = [level for _, level in seen["levels"]]
    assert max(spoken) > LOUD
    until = min(seen["cutAt"] + 350, seen["nextAt"])
    after_cut = [level for at, level in seen["levels"] if seen["cutAt"] + 100 < at < until]
    assert after_cut
    assert max(after_cut) < QUIET
