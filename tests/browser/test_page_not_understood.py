"""A person whose muffled voice is not understood, in real Chromium: the page marks it, and the agent says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.browser.test_page import RATE_HZ, heard_by_chromium
from tests.people.muffled import muffled
from tests.people.people import RATE_HZ as PEOPLE_HZ
from tests.people.people import recordings
from voiceagent.audio.resample import resample
from voiceagent.turn_taking.languages import LANGUAGES

AFTER_GREETING_S = 6


@pytest.mark.browser
def test_speech_that_is_not_understood_is_marked_and_answered(tmp_path: Path) -> None:
    person = next(each for each in recordings("utterances") if each.path.stem == "pvcheeta011")
    quiet = np.zeros(AFTER_GREETING_S * RATE_HZ, np.int16)
    speech = resample(muffled(person.audio()), PEOPLE_HZ, RATE_HZ)
    seen = heard_by_chromium("not-understood.mjs", np.concatenate([quiet, speech, quiet]), tmp_path)
    assert seen["caller"] == ["(not understood)"]
    assert seen["agent"][1] == LANGUAGES["en"].sayings.not_understood
