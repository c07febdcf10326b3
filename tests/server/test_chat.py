"""Answers in writing that nobody comes back for: they are ended and forgotten after a while, and only so many are kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer

from tests.fakes import MakeService, Switchboard
from voiceagent.call.written_leg import AnswerEnd, AnswerText, WrittenLeg
from voiceagent.server.http.app import READINESS, make_app
from voiceagent.server.http.chat import KEPT, PATH, ChatPart
from voiceagent.server.http.chat_memory import KeepLimits

BODY = {"model": "Demo", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}


class Chat:
    """A server whose answers the test gives."""

    def __init__(self, part: ChatPart, client: TestClient[Any, Any], switchboard: Switchboard) -> None:
        self.part, self.client, self.switchboard = part, client, switchboard

    async def begin(self) -> tuple[Any, WrittenLeg]:
        response = await self.client.post(PATH, json=BODY)
        leg = self.switchboard.calls[-1].leg
        assert isinstance(leg, WrittenLeg)
        return response, leg


@pytest.fixture
def limits() -> KeepLimits:
    """The limits of the server. A test that parametrizes this name sets its own."""
    return KEPT


@pytest.fixture
async def served(make_service: MakeService, switchboard: Switchboard, limits: KeepLimits) -> AsyncIterator[Chat]:
    part = ChatPart(lambda: "Demo", limits)
    app = make_app(make_service(parts=(part,)))
    async with TestClient(TestServer(app)) as client:
        await app[READINESS].wait()
        yield Chat(part, client, switchboard)


@pytest.mark.parametrize("limits", [replace(KEPT, seconds=0.05)])
async def test_an_answer_that_nobody_comes_back_for_is_ended(served: Chat) -> None:
    response, leg = await served.begin()
    leg.tell(AnswerText("Once"))
    assert b"Once" in await response.content.readuntil(b"\n\n")
    response.close()
    async with asyncio.timeout(20):
        async for _ in leg.frames():
            raise AssertionError
    assert leg.end_reason == "lost"
    assert served.part.kept == 0


@pytest.mark.parametrize("limits", [replace(KEPT, answers=2)])
async def test_only_so_many_answers_are_kept(served: Chat) -> None:
    for _ in range(4):
        response, leg = await served.begin()
        leg.tell(AnswerText("Hello"))
        leg.tell(AnswerEnd("stop"))
        assert (await response.read()).endswith(b"[DONE]\n\n")
        served.switchboard.calls[-1].hang_up("answered")
    assert served.part.kept == 2


async def test_a_client_that_leaves_ends_an_answer_in_one_piece(served: Chat) -> None:
    asked = asyncio.create_task(served.client.post(PATH, json={**BODY, "stream": False}))
    async with asyncio.timeout(20):
        await served.switchboard.begun.wait()
    leg = served.switchboard.calls[-1].leg
    assert isinstance(leg, WrittenLeg)
    asked.cancel()
    async with asyncio.timeout(20):
        async for _ in leg.frames():
            raise AssertionError
    assert leg.end_reason == "lost"
