"""A client that says much at once is heard a message at a time: what it costs is spread over turns of the event loop."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from tests.fakes import IdleEngine, SilentLeg
from voiceagent.call import Call
from voiceagent.call.scope import AgentParts
from voiceagent.engines import Engines
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings
from voiceagent.json_types import JsonObject
from voiceagent.latency.budgets import load_budgets
from voiceagent.media.audio_cleaner import AudioCleaning
from voiceagent.media.webrtc.ports import MediaSettings
from voiceagent.resources import default_budgets_file
from voiceagent.settings.agent import AgentConfig, PhraseSettings
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.spoken_voice import AgentSpeech


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


class NoisyLeg(SilentLeg):
    """A client that asks for noise reduction and hangs up; `began` is what its leg was set to before."""

    async def client_events(self) -> AsyncIterator[str]:
        self.began = self.cleaner.settings
        yield '{"type": "session.update", "session": {"audio": {"input": {"noise_reduction": {"type": "near_field"}}}}}'
        self.closed.set()


def call_of(leg: SilentLeg, agent: AgentConfig, asked: JsonObject | None = None) -> Call:
    engine = cast(Any, IdleEngine())
    speech = AgentSpeech(SpeechSettings(), {}, ".", engine)
    engines, guards = Engines(engine, engine, engine), load_guards(GuardSettings())
    budgets = load_budgets(default_budgets_file())
    return Call("rtc_1", leg, AgentParts(agent, engines, guards, speech, budgets), CallTools(ToolSet()), asked=asked)


async def test_a_leg_is_cleaned_as_its_kind_is_set_and_as_its_client_asks() -> None:
    leg = NoisyLeg()
    agent = AgentConfig(
        profile="embedded", phrases=PhraseSettings(greeting=""), media=MediaSettings(webrtc=AudioCleaning(echo_cancellation=True))
    )
    assert await call_of(leg, agent).run() == "closed"
    assert leg.began == AudioCleaning(echo_cancellation=True)
    assert leg.cleaner.settings == AudioCleaning(echo_cancellation=True, noise_suppression=True)


class ToldLeg(SilentLeg):
    """A client that only listens, and hangs up at its first chance."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[dict[str, Any]] = []

    def send_event(self, event: dict[str, Any]) -> None:
        self.told.append(event)

    async def client_events(self) -> AsyncIterator[str]:
        self.closed.set()
        return
        yield


@pytest.mark.parametrize("wanted", [{"type": "far_field"}, None])
async def test_noise_reduction_that_comes_with_an_offer_is_shown_and_done(wanted: dict[str, str] | None) -> None:
    leg = ToldLeg()
    media = MediaSettings(webrtc=AudioCleaning(echo_cancellation=True, noise_suppression=wanted is None))
    asked = {"audio": {"input": {"noise_reduction": wanted}}}
    await call_of(leg, AgentConfig(profile="embedded", phrases=PhraseSettings(greeting=""), media=media), asked).run()
    assert leg.told[0]["session"]["audio"]["input"]["noise_reduction"] == wanted
    assert leg.cleaner.settings == AudioCleaning(echo_cancellation=True, noise_suppression=wanted is not None)


async def test_messages_that_come_together_are_answered_one_a_turn_of_the_event_loop() -> None:
    leg = HastyLeg()
    assert await call_of(leg, AgentConfig(profile="embedded", phrases=PhraseSettings(greeting=""))).run() == "closed"
    assert len(leg.answered) == 20
    assert all(earlier < later for earlier, later in itertools.pairwise(leg.answered))
