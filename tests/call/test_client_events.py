"""A client that says much at once is heard a message at a time: what it costs is spread over turns of the event loop."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any, cast

from tests.call.test_broken_call import IdleEngine
from tests.server.conftest import SilentLeg
from voiceagent.call import Call
from voiceagent.call.agent_parts import AgentParts
from voiceagent.config import AgentConfig, Phrases
from voiceagent.engines import Engines
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings
from voiceagent.latency.budget_file import load_budgets
from voiceagent.resources import default_budgets_file
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.spoken_voice import Speech


class HastyLeg(SilentLeg):
    """A client whose twenty messages came in one packet, and that hangs up then; `answered` is the turn of the event loop in
    which each was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.answered: list[int] = []
        self.turn = 0
        self._count()

    def _count(self) -> None:
        self.turn += 1
        if not self.closed.is_set():
            asyncio.get_running_loop().call_soon(self._count)

    async def client_events(self) -> AsyncIterator[str]:
        for _ in range(20):
            yield '{"type": "session.update", "session": {}}'
        self.closed.set()

    def send_event(self, event: dict[str, Any]) -> None:
        if event["type"] == "session.updated":
            self.answered.append(self.turn)


async def test_messages_that_come_together_are_answered_one_a_turn_of_the_event_loop() -> None:
    leg, engine = HastyLeg(), cast(Any, IdleEngine())
    speech = Speech(SpeechSettings(), {}, ".", engine)
    engines, guards = Engines(engine, engine, engine), load_guards(GuardSettings())
    budgets = load_budgets(default_budgets_file())
    agent = AgentConfig(phrases=Phrases(greeting=""))
    call = Call("rtc_1", leg, AgentParts(agent, engines, guards, speech, budgets), CallTools(ToolSet()))
    assert await call.run() == "closed"
    assert len(leg.answered) == 20
    assert all(earlier < later for earlier, later in itertools.pairwise(leg.answered))
