"""A person whose muffled voice is not understood, in real Chromium: the page marks it, and the agent says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.browsers import RATE_HZ, installed, recorded
from tests.people.muffled import muffled
from tests.people.people import RATE_HZ as PEOPLE_HZ
from tests.people.people import recordings
from tests.server_process import ServerProcess
from voiceagent.audio.resample import resample
from voiceagent.turn_taking.languages import LANGUAGES


@pytest.mark.browser
def test_speech_that_is_not_understood_is_marked_and_answered(tmp_path: Path, demo_server: ServerProcess) -> None:
    person = next(each for each in recordings("utterances") if each.path.stem == "pvcheeta011")
    said = recorded(tmp_path / "speech.wav", resample(muffled(person.audio()), PEOPLE_HZ, RATE_HZ))
    seen = installed("chromium").sees("not-understood.mjs", demo_server.url, said)
    assert seen["caller"] == ["(not understood)"]
    assert seen["agent"][1] == LANGUAGES["en"].sayings.not_understood
