"""The browsers that the tests drive: where they are, and what a program beside this file saw in one."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import wave
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Timer
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from voiceagent.audio.resample import resample
from voiceagent.engines import load_tts
from voiceagent.models.registry import profile

HERE = Path(__file__).parent
RATE_HZ = 48_000
LIMIT_S = 240.0
"""How long a program may take."""
COMMANDS = {"chromium": ("chromium", "chromium-browser", "google-chrome"), "firefox": ("firefox-esr", "firefox")}
DEBIAN = {"chromium": "chromium", "firefox": "firefox-esr"}
IN_BOTH = pytest.mark.parametrize("name", list(COMMANDS))
"""The test takes the name of a browser, and is run in each."""


class Driver:
    """Node, which runs the programs, one after another, in browsers that stay open between them. It starts when it is needed."""

    def __init__(self) -> None:
        self._node: subprocess.Popen[str] | None = None
        self._lock = Lock()

    def answer(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """What it answers to what it is told, once the program has ended."""
        with self._lock:
            if self._node is None or self._node.poll() is not None:
                command = ["node", str(HERE / "driver.mjs")]
                self._node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            node = self._node
            assert node.stdin is not None
            assert node.stdout is not None
            limit = Timer(LIMIT_S, node.terminate)
            limit.start()
            try:
                node.stdin.write(f"{json.dumps(told)}\n")
                node.stdin.flush()
                line = node.stdout.readline()
            finally:
                limit.cancel()
        assert line, "the driver of the browsers has ended"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self) -> None:
        """Close the browsers."""
        if self._node is not None:
            self._node.communicate()
            self._node = None


DRIVER = Driver()
"""Of this process."""


@dataclass(frozen=True)
class Browser:
    """An installed browser."""

    name: str
    path: str

    def sees(self, program: str | Path, *arguments: str) -> dict[str, Any]:
        """What a program saw, which lies beside this file unless its path says otherwise. Its pages threw no error."""
        told = {"browser": self.name, "path": self.path, "program": str(HERE / program), "arguments": arguments}
        answer = DRIVER.answer(told)
        assert "failed" not in answer, answer["failed"]
        assert not answer["errors"], answer["errors"]
        seen: dict[str, Any] = answer["seen"]
        return seen

    async def seen(self, program: str | Path, *arguments: str) -> dict[str, Any]:
        """What a program saw, from a test that is a coroutine."""
        return await asyncio.to_thread(self.sees, program, *arguments)


def installed(name: str, *packages: str) -> Browser:
    """The browser. Skips the test where it, its driver or one of these packages is missing; in CI that is a failure."""
    found = next(filter(None, map(shutil.which, COMMANDS[name])), None)
    missing = []
    if found is None:
        missing.append(f"{name.capitalize()} (Debian: apt-get install {DEBIAN[name]})")
    if shutil.which("node") is None:
        missing.append("Node.js (Debian: apt-get install nodejs)")
    folders = [(package, HERE.parents[1] / "node_modules" / package) for package in ("playwright-core", *packages)]
    missing += [f"{package} (make browser)" for package, folder in folders if not folder.is_dir()]
    if missing:
        reason = "not installed: " + ", ".join(missing)
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    assert found is not None
    return Browser(name, found)


def chromium(*also: str) -> str:
    """Chromium's path."""
    return installed("chromium", *also).path


_SAID: dict[str, NDArray[np.int16]] = {}


async def speech(script: tuple[str | float, ...]) -> NDArray[np.int16]:
    """What the bundled voice says, and pauses in seconds, at 48 kHz."""
    for line in {part for part in script if isinstance(part, str)} - _SAID.keys():
        voice = load_tts(profile("embedded").tts)
        pcm = np.concatenate([chunk.pcm async for chunk in voice.synthesise(line)])
        _SAID[line] = resample(pcm, voice.sample_rate_hz, RATE_HZ)
        await voice.close()
    return np.concatenate(
        [np.zeros(int(part * RATE_HZ), np.int16) if isinstance(part, float) else _SAID[part] for part in script]
    )


def recorded(file: Path, pcm: NDArray[np.int16]) -> str:
    """The path of a WAV file of this, 16-bit mono at 48 kHz."""
    with wave.open(str(file), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE_HZ)
        out.writeframes(pcm.astype("<i2").tobytes())
    return str(file)
