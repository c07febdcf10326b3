"""For all tests: they answer calls with the bundled models, whatever other models this machine has. The fixtures that tests of
several rooms use."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase
from hypothesis import settings as hypothesis_settings
from numpy.typing import NDArray

from tests.browser.browsers import DRIVER
from tests.fakes import MakeService, Said, Switchboard
from tests.sent_events import CheckedSessions, require_none, told_of
from voiceagent.engines import load_tts
from voiceagent.latency.budgets import load_budgets
from voiceagent.models.choice import PROFILE_VARIABLE
from voiceagent.models.registry import profile
from voiceagent.resources import default_budgets_file
from voiceagent.server.access.key_ring import KeyRing
from voiceagent.server.calls.admission import Admission
from voiceagent.server.http.app import Service
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings
from voiceagent.telephone.application import TelephonePart
from voiceagent.telephone.messages import Unanswered
from voiceagent.telephone.sip.line import SipService
from voiceagent.telephone.streams.vendors import NO_TELEPHONE, Telephone

os.environ.setdefault(PROFILE_VARIABLE, "embedded")

hypothesis_settings.register_profile("here", deadline=None, print_blob=True)
hypothesis_settings.register_profile(
    "ci",
    hypothesis_settings.get_profile("here"),
    database=None,
    derandomize=False,
    phases=(Phase.explicit, Phase.generate, Phase.target),
)
"""CI tries other examples each time. It makes a failing one no smaller, which can take five minutes: the line that it prints
repeats the failure elsewhere."""
hypothesis_settings.load_profile("ci" if os.environ.get("CI") else "here")


@pytest.fixture(scope="session", autouse=True)
def browsers_end() -> Iterator[None]:
    """The browsers that tests have started are closed after the last test of a process."""
    yield
    DRIVER.end()


@pytest.fixture(autouse=True)
def checked_events() -> Iterator[None]:
    """Hold each event that a call in this process makes against the official SDK's types and the order rules."""
    checked = CheckedSessions()
    with told_of(checked.take):
        yield
    require_none(checked.faults)


@pytest.fixture
async def switchboard() -> Switchboard:
    return Switchboard()


@pytest.fixture
def make_service(switchboard: Switchboard, tmp_path: Path) -> MakeService:
    folder = tmp_path / "web"
    (folder / "lib").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Call</title>")
    (folder / "lib" / "client.js").write_text("export const x = 1;\n")
    (folder / "notes.txt").write_text("private")
    (tmp_path / "secret.json").write_text("{}")
    limits = load_budgets(default_budgets_file()).of("embedded")

    def make(
        *,
        admission: AdmissionSettings | None = None,
        telephone: Telephone = NO_TELEPHONE,
        sip: SipService | None = None,
        unanswered: Unanswered = lambda facts, reason: None,
        **changes: Any,
    ) -> Service:
        metrics = Metrics()
        if isinstance(changes.get("keys"), tuple):
            changes["keys"] = KeyRing(changes["keys"], changes.pop("operator_keys", ()))
        settings: dict[str, Any] = {
            "answer": switchboard.answer,
            "load": switchboard.load,
            "profile": "embedded",
            "limits": limits,
            "metrics": metrics,
            "admission": Admission(admission or AdmissionSettings(), metrics),
            "parts": (TelephonePart(telephone, sip, unanswered),),
            "web_folder": folder,
        }
        return Service(**{**settings, **changes})

    return make


@pytest.fixture
async def said() -> Said:
    """The bundled voice."""

    async def speak(text: str) -> tuple[NDArray[np.int16], int]:
        voice = load_tts(profile("embedded").tts)
        try:
            pcm = np.concatenate([chunk.pcm async for chunk in voice.synthesise(text)])
        finally:
            await voice.close()
        return pcm, voice.sample_rate_hz

    return speak
