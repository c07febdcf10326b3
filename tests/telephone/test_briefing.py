"""What a colleague is told of a caller, by a real server of a language model, which also goes wrong."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, cast

import numpy as np
import pytest

from tests.fakes import SilentLeg
from tests.llm.faulty_server import FaultyServer, faulty_server
from voiceagent.call import Call
from voiceagent.call.scope import AgentParts
from voiceagent.engines import Engines
from voiceagent.errors import EngineError
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings, OutputRules
from voiceagent.latency.budgets import load_budgets
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions
from voiceagent.media.playout import Playout
from voiceagent.resources import default_budgets_file
from voiceagent.settings.agent import AgentConfig
from voiceagent.telephone.transfer.feature import MAX_SUMMARY_CHARACTERS, AgentBriefing, shortened
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.engine import SpeechChunk
from voiceagent.tts.spoken_voice import AgentSpeech
from voiceagent.turn_taking.languages import LANGUAGES
from voiceagent.turn_taking.languages.de import GERMAN
from voiceagent.turn_taking.languages.en import ENGLISH


class NotingVoice:
    """Notes what it is to say; fails on purpose at the word "Hello"."""

    sample_rate_hz = 24_000

    def __init__(self) -> None:
        self.said: list[str] = []

    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        self.said.append(text)
        yield SpeechChunk(np.ones(2400, np.int16), ())
        if text.startswith("Hello"):
            raise EngineError("on purpose")


def briefing_at(
    server: FaultyServer, voice: NotingVoice, agent: AgentConfig, *, phrases: tuple[str, ...] = (), **more: float
) -> AgentBriefing:
    llm, mouth = OpenAiEngine(OpenAiOptions(base_url=server.url)), cast(Any, voice)
    guards = load_guards(GuardSettings(output=OutputRules(phrases=phrases)))
    speech = AgentSpeech(SpeechSettings(), {}, ".", mouth, agent.language)
    parts = AgentParts(agent, Engines(mouth, llm, mouth), guards, speech, load_budgets(default_budgets_file()))
    return AgentBriefing(Call("rtc_1", SilentLeg(), parts, CallTools(ToolSet())), parts, **more)


@pytest.mark.parametrize(
    ("fault", "language", "phrases", "told"),
    [
        ("", "en", (), "Hello there."),
        ("500", "en", (), ENGLISH.transfer.unknown),
        ("silent", "de", (), GERMAN.transfer.unknown),
        ("", "en", ("hello there",), ENGLISH.transfer.unknown),
    ],
)
async def test_the_summary_is_the_models_or_says_that_there_is_none(
    fault: str, language: str, phrases: tuple[str, ...], told: str
) -> None:
    async with faulty_server() as server:
        server.fault = fault
        agent = AgentConfig(profile="embedded", language=language)
        made = briefing_at(server, NotingVoice(), agent, phrases=phrases, summary_timeout_s=0.5)
        assert await made.summary() == told
        assert server.requests[-1]["messages"][-1]["content"] == LANGUAGES[language].transfer.ask


async def test_a_model_that_does_not_end_is_cut_off() -> None:
    async with faulty_server() as server:
        server.fault = "endless"
        told = await briefing_at(server, NotingVoice(), AgentConfig(profile="embedded")).summary()
    assert MAX_SUMMARY_CHARACTERS - 10 < len(told) <= MAX_SUMMARY_CHARACTERS


async def test_a_voice_that_fails_keeps_the_rest_from_no_colleague() -> None:
    async with faulty_server() as server:
        voice, playout = NotingVoice(), Playout()
        await briefing_at(server, voice, AgentConfig(profile="embedded")).brief(playout, "They want a refund.", "1")
    words = ENGLISH.transfer
    assert voice.said == [words.opening, "They want a refund.", words.press.format(key="one")]
    frames = 0
    while playout.next_frame() is not None:
        frames += 1
    assert frames == 15
    assert playout.idle


async def test_a_colleague_is_told_in_one_sentence_that_the_caller_has_hung_up() -> None:
    async with faulty_server() as server:
        voice, playout = NotingVoice(), Playout()
        playout.cancel(0)
        await briefing_at(server, voice, AgentConfig(profile="embedded")).say_caller_left(playout)
    assert voice.said == [ENGLISH.transfer.gone]
    assert playout.next_frame() is not None


def test_a_long_summary_ends_with_a_sentence() -> None:
    assert shortened("One.\n Two. " + "x" * 500) == "One. Two."
    assert shortened("word " * 100) == " ".join(["word"] * 80)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_the_words_of_a_transfer(code: str) -> None:
    words = LANGUAGES[code].transfer
    assert all((words.connecting, words.opening, words.ask, words.unknown, words.gone, words.joined))
    assert "1" in words.press.format(key="1")
