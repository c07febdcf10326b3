"""Calls that are recorded, on the page and by the call button, in real Chromium: both say so from the beginning, to eyes and to
screen readers."""

from __future__ import annotations

import asyncio
import os
from contextlib import ExitStack
from pathlib import Path

import pytest
from aiohttp import web

from tests.browser.browsers import installed
from tests.calls.scripted_model import Message
from tests.calls.test_examples import Asked
from tests.loopback import on_loopback
from tests.server_process import running_server
from voiceagent.turn_taking.languages import LANGUAGES

AGENT = """profile: embedded
llm: {base_url: 'ADDRESS/v1', model: m}
phrases: {greeting: "What can you do?"}
telephony:
  recording: {folder: kept, announcement: "What time is it in Berlin?", browsers: true, may_refuse: true, min_free_mb: 1}
"""


def stops(messages: list[Message]) -> str | tuple[str, str]:
    """Has the recording stopped when that is asked for."""
    return ("stop_recording", "{}") if "not record" in messages[-1]["content"] else "All right."


@pytest.mark.browser
async def test_a_recorded_call_says_so_on_the_page_and_beside_the_button(tmp_path: Path) -> None:
    browser, model, app = installed("chromium", "axe-core"), Asked(stops), web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    async with on_loopback(app) as url:
        (tmp_path / "agent.yaml").write_text(AGENT.replace("ADDRESS", url))
        with ExitStack() as stack:  # in a thread, because the model answers from this loop while the server starts
            starting = running_server(tmp_path, "--config", str(tmp_path / "agent.yaml"))
            server = await asyncio.to_thread(stack.enter_context, starting)
            seen = await browser.seen("recording.mjs", server.url, os.environ.get("VOICEAGENT_SCREENSHOTS", "-"))
    assert seen["violations"] == []
    assert (seen["before"], seen["ended"], seen["widgetEnded"]) == ("- status", "", "")
    assert seen["during"] == "- status: This call is being recorded."
    assert seen["after"] == "- status: This call is no longer recorded."
    assert seen["widget"] == "- status: Dieser Anruf wird aufgezeichnet."
    *known, other = seen["languages"]
    assert {code for code, *_ in known} == set(LANGUAGES)
    assert len({text for _, *texts in known for text in texts}) == 2 * len(LANGUAGES)
    assert other == known[0]
