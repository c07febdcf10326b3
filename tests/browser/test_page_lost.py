"""The page in real Chromium and real Firefox while its network is cut, while its server is frozen, and when its server ends and
another begins: it notices within two seconds, says so, marks the line that the agent was saying, and takes the call up again by
itself, over WebRTC and over a WebSocket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.browser.browsers import installed
from tests.browser.test_page_states import NOTICED_MS
from tests.calls.scripted_model import agent_on
from tests.calls.test_restart import stopped_and_started
from tests.calls.test_resume import STORY, TOOLS, tells
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]

SETTINGS = "phrases: {greeting: '', resumed: ''}\nturn: {silence_timeout_s: 300, resume_after_restart: true}\n"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ServerProcess]:
    async with agent_on(tmp_path_factory.mktemp("lost"), tells, TOOLS, SETTINGS) as running:
        yield running


def check_taken_up(page: dict[str, Any]) -> None:
    """The reply went on, and nothing tells of the loss any more."""
    assert " ".join(page["heard"]) == STORY
    assert page["states"][-2:] == ["resuming", "live"], page["states"]
    assert page["problem"]
    assert page["muted"] == "true"


def check_told(page: dict[str, Any]) -> None:
    """The loss was noticed in time, and said."""
    assert page["noticedMs"] <= NOTICED_MS, page
    assert "server" in page["first"]
    assert "Your call waits" in page["told"]
    assert page["mark"] == "Cut: the connection broke here."
    assert len(page["heard"]) == 1
    assert page["marks"] == 0


async def test_a_cut_network_is_noticed_in_firefox_and_the_call_is_taken_up_again(server: ServerProcess) -> None:
    seen = await installed("firefox").seen("lost.mjs", server.url)
    for page in seen["network"]:
        check_taken_up(page)
        check_told(page)


async def test_a_lost_call_is_noticed_told_and_taken_up_again(server: ServerProcess) -> None:
    """Last: the server is followed by another."""
    browser = installed("chromium")
    looking = asyncio.create_task(browser.seen("lost.mjs", server.url, str(server.process.pid)))
    ended = asyncio.create_task(asyncio.to_thread(server.process.wait))
    await asyncio.wait((looking, ended), return_when=asyncio.FIRST_COMPLETED)
    async with stopped_and_started(server):
        seen = await looking
    await ended
    assert seen["transports"] == [False, True]
    for page in (*seen["network"], *seen["freeze"], *seen["restart"]):
        check_taken_up(page)
    for page in (*seen["network"], *seen["freeze"]):
        check_told(page)
