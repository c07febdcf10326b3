"""What the page says of the models that answer, in real Chromium."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.browser.test_page import HERE, chromium
from tests.server_process import running_server


def seen_at(url: str) -> list[dict[str, Any]]:
    """On a desktop and a telephone, by day and by night."""
    driven = subprocess.run(
        ["node", str(HERE / "about.mjs"), url],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "CHROMIUM": chromium()},
        check=False,
    )
    assert driven.returncode == 0, driven.stderr
    return list(json.loads(driven.stdout))


@pytest.mark.browser
def test_the_page_says_which_profile_answers_and_what_it_cannot_do(tmp_path: Path) -> None:
    chromium()
    with running_server(tmp_path, "--profile", "embedded") as server:
        seen = seen_at(server.url)
    assert len(seen) == 4
    for page in seen:
        assert "Profile embedded" in page["about"]
        assert "micro-whisper · micro-lm · micro-voice" in page["about"]
        assert "Understands English only" in page["about"]
        assert (page["unfit"], page["tooWide"]) == ("", False)
        assert page["stepsHidden"]


@pytest.mark.browser
def test_the_page_says_that_the_language_model_was_not_made_for_the_agent(tmp_path: Path) -> None:
    chromium()
    (tmp_path / "agent.yaml").write_text("name: Front desk\n")
    with running_server(tmp_path, "--config", str(tmp_path / "agent.yaml"), "--profile", "embedded") as server:
        seen = seen_at(server.url)
    assert len(seen) == 4
    for page in seen:
        assert "micro-lm was not made for this agent, which has no tools" in page["unfit"]
        assert "voiceagent models pull --profile" in page["unfit"]
        assert not page["tooWide"]
