"""The agent's steps on the page, in real Chromium: drawn, and marked as a call goes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.browser.browsers import installed
from tests.calls.test_examples import Asked
from tests.calls.test_handoff import desks, desks_on


async def seen_at(url: str, *lines: str) -> dict[str, Any]:
    """What the page shows at the beginning of a call and after each line that is typed, which leads to the step behind it."""
    shots = os.environ.get("VOICEAGENT_SCREENSHOTS", "-")
    seen = await installed("chromium", "axe-core").seen("steps.mjs", url, shots, *lines)
    assert seen["violations"] == []
    return seen


@pytest.mark.browser
async def test_the_page_draws_the_steps_and_marks_where_the_call_is(tmp_path: Path) -> None:
    installed("chromium", "axe-core")
    async with desks_on(tmp_path, Asked(desks)) as server:
        seen = await seen_at(server.url, "I have an invoice.|number", "The number is forty-two.|reason")
    first, there, back = seen["moments"]
    assert not first["hidden"]
    assert first["agents"] == [["Front desk", True], ["Billing", False]]
    assert first["steps"] == ["reason", "billing", "number", "front"]
    assert (first["current"], first["seen"], first["known"]) == (["reason"], ["reason"], {})
    assert first["ways"] == 2
    assert there["agents"] == [["Front desk", True], ["Billing", True]]
    assert (there["current"], there["seen"]) == (["number"], ["reason", "billing", "number"])
    assert there["known"] == {"reason": "invoice", "name": "Ann"}
    assert [moment["agent"] for moment in seen["moments"]] == ["Front desk", "Billing", "Front desk"]
    assert back["current"] == ["reason"]
    assert back["known"] == {"number": "42"}
