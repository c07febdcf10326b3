"""A person whose muffled voice is not understood, in real Chromium: the page marks it, and the agent says so."""

from __future__ import annotations

import json
import os
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest

from tests.browser.test_page import HERE, RATE_HZ, chromium
from tests.people.muffled import muffled
from tests.people.people import RATE_HZ as PEOPLE_HZ
from tests.people.people import recordings
from tests.server_process import running_server
from voiceagent.audio.resample import resample
from voiceagent.turn_taking.languages import LANGUAGES

AFTER_GREETING_S = 6


@pytest.mark.browser
def test_speech_that_is_not_understood_is_marked_and_answered(tmp_path: Path) -> None:
    browser = chromium()
    person = next(each for each in recordings("utterances") if each.path.stem == "pvcheeta011")
    speech = resample(muffled(person.audio()), PEOPLE_HZ, RATE_HZ)
    microphone = tmp_path / "microphone.wav"
    with wave.open(str(microphone), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        quiet = np.zeros(AFTER_GREETING_S * RATE_HZ, np.int16)
        file.writeframes(np.concatenate([quiet, speech, quiet]).tobytes())
    with running_server(tmp_path) as server:
        driven = subprocess.run(
            ["node", str(HERE / "not-understood.mjs"), server.url, str(microphone), str(tmp_path / "profile")],
            capture_output=True,
            text=True,
            timeout=150,
            env={**os.environ, "CHROMIUM": browser},
            check=False,
        )
    assert driven.returncode == 0, driven.stderr
    seen = json.loads(driven.stdout)
    assert seen["errors"] == []
    assert seen["caller"] == ["(not understood)"]
    assert seen["agent"][1] == LANGUAGES["en"].sayings.not_understood
