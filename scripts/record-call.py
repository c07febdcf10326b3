"""Films the page in a real call and writes docs/images/call.webp, which stands at the top of the README: a published voice speaks
to the demo on the models of `starter`, in Chromium, over WebRTC. Needs make browser and the models (make fetch-models). About a
minute: python scripts/record-call.py"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import wave
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from voiceagent.audio.resample import resample
from voiceagent.engines import load_tts
from voiceagent.models.registry import profile

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "call.webp"
RATE_HZ = 48_000
SECONDS = 20
PROFILE = "starter"
SCRIPT: tuple[str | float, ...] = (
    *(4.0, "What's the weather in Berlin tomorrow?", 5.0),
    *("What can you do?", 2.4, "What time is it in Paris?", 30.0),
)
"""What the caller says, and pauses in seconds. The last question comes over the agent's answer."""
WIDTH, FRAMES_A_SECOND, QUALITY = 1120, 8, 70
LARGEST_BYTES = 3_000_000


async def speech(chosen: str) -> np.ndarray:
    """The caller's side, in the profile's voice."""
    voice = load_tts(profile(chosen).tts)
    parts: list[np.ndarray] = []
    for part in SCRIPT:
        if isinstance(part, float):
            parts.append(np.zeros(int(part * RATE_HZ), np.int16))
            continue
        said = [chunk.pcm async for chunk in voice.synthesise(part)]
        parts.append(resample(np.concatenate(said), voice.sample_rate_hz, RATE_HZ))
    await voice.close()
    return np.concatenate(parts)


def film(folder: Path, chosen: str) -> None:
    """Serves the demo and has Chromium call it. Raises SystemExit where the call was not as it should be."""
    microphone = folder / "microphone.wav"
    with wave.open(str(microphone), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE_HZ)
        out.writeframes(asyncio.run(speech(chosen)).tobytes())
    command = [sys.executable, "-m", "voiceagent", "serve", "--port", "0", "--profile", chosen]
    environment = {**os.environ, "VOICEAGENT_DATA": str(folder / "data"), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stdout is not None
            url = next(found[1] for line in server.stdout if (found := re.search(r"answers at (http://\S+)", line)))
            browser = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
            recorder = ["node", str(ROOT / "scripts" / "record-call.mjs"), url, str(microphone), str(folder), str(SECONDS)]
            filmed = subprocess.run(recorder, check=True, stdout=subprocess.PIPE, env={**os.environ, "CHROMIUM": browser})
        finally:
            server.terminate()
    seen = json.loads(filmed.stdout)
    if not (seen["interrupted"] == 1 and any("degrees" in words for words in seen["heard"]) and "Paris" in seen["heard"][-1]):
        raise SystemExit(f"the call was not as it should be; is the machine busy? {seen}")


def joined(folder: Path, target: Path) -> None:
    """Writes the frames as one moving picture that begins again at its end."""
    frames = json.loads((folder / "frames.json").read_text())
    began = frames[0]["at"]
    with av.open(str(target), "w", format="webp", options={"loop": "0"}) as out:
        stream = None
        for number in range(SECONDS * FRAMES_A_SECOND):
            now = began + number / FRAMES_A_SECOND
            shown = [frame for frame in frames if frame["at"] <= now][-1]
            with av.open(str(folder / shown["name"])) as source:
                picture = next(source.decode(video=0))
            if stream is None:
                height = round(picture.height * WIDTH / picture.width / 2) * 2
                stream = out.add_stream("libwebp_anim", rate=FRAMES_A_SECOND, options={"quality": str(QUALITY)})
                stream.width, stream.height, stream.pix_fmt = WIDTH, height, "yuv420p"
            small = picture.reformat(WIDTH, stream.height, "yuv420p", interpolation="LANCZOS")
            small.pts, small.time_base = number, Fraction(1, FRAMES_A_SECOND)
            out.mux(stream.encode(small))
        assert stream is not None
        out.mux(stream.encode(None))


def main() -> int:
    """Films, and says how large the picture is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="a folder for the frames")
    parser.add_argument("--profile", default=PROFILE, help=f"the models (default: {PROFILE})")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        film(folder, asked.profile)
        joined(folder, PICTURE)
    size = PICTURE.stat().st_size
    print(f"{PICTURE.relative_to(ROOT)}: {size / 1e6:.2f} MB")
    return 0 if size <= LARGEST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
