"""Calls by WHIP and WHEP: npm `whip-whep` pushes speech in, in Chromium, and pulls the agent's voice out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.browsers import installed, recorded, speech
from tests.server_process import ServerProcess


@pytest.mark.browser
async def test_a_page_pushes_and_pulls_with_whip_whep(keyed: tuple[ServerProcess, str], tmp_path: Path) -> None:
    server, key = keyed
    said = recorded(tmp_path / "speech.wav", await speech((1.0, "What's the weather in Paris tomorrow?")))
    made = await installed("chromium", "whip-whep").seen(Path(__file__).with_name("whip.mjs"), server.url, key, said)
    assert made["energy"] > 0
    assert made["pulled"] == 404, "the call is over, and what listened to it"
