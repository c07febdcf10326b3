"""Both turn judges on published models: Smart Turn says what its authors' pipeline says, and SmolLM2 tells whole sentences from
halves behind an agent's prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import numpy as np
import pytest

from bench.bundled.lm import demo_tools
from tests.real.models import published
from tests.turn_judges.glides import GLIDES, Glide
from voiceagent.conversation.history import Message
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.embedded.worker import EmbeddedOptions
from voiceagent.turn_judges.judge import JudgedPause
from voiceagent.turn_judges.meaning import Meaning
from voiceagent.turn_judges.smart_turn import SmartTurn

PROMPT = (
    Message("system", "You are the front desk of a small hotel. Answer in one or two short sentences."),
    Message("assistant", "Hello, this is the hotel. How can I help you?"),
)
WHOLE = (
    "The washing machine is making a strange noise.",
    "Can you tell me when the pharmacy closes?",
    "My bicycle was stolen last night.",
    "I would like to pay my electricity bill.",
    "How much does it cost to park here?",
    "I forgot my password.",
    "Could you call me back tomorrow morning?",
    "We are a group of nine.",
)
HALF = (
    "The washing machine is making a",
    "Can you tell me when the",
    "My bicycle was stolen and...",
    "I would like to pay my.",
    "How much does it cost to",
    "I lost my",
    "Could you call me back on",
    "Nothing else except.",
)


@pytest.fixture(scope="module")
def ear_model() -> Iterator[SmartTurn]:
    judge = SmartTurn(published("smart-turn-v3.2"))
    yield judge
    asyncio.run(judge.close())


@pytest.fixture(scope="module")
def language_model() -> Iterator[EmbeddedEngine]:
    model = EmbeddedEngine(published("smollm2-135m-tools"), EmbeddedOptions())
    yield model
    asyncio.run(model.close())


@pytest.mark.parametrize("glide", GLIDES)
async def test_smart_turn_says_what_its_authors_pipeline_says(ear_model: SmartTurn, glide: Glide) -> None:
    assert await ear_model.judge(JudgedPause(glide.audio)) == pytest.approx(glide.chance, abs=1e-3)


async def test_whole_sentences_are_likelier_to_end_than_halves(language_model: EmbeddedEngine) -> None:
    judge, session = Meaning(), language_model.open("call")

    async def chances(sentences: tuple[str, ...]) -> list[float]:
        found = []
        for words in sentences:
            messages = (*PROMPT, Message("user", words))
            await session.prefill(messages, demo_tools())
            chance = await judge.judge(JudgedPause(np.zeros(0, np.int16), words, messages, demo_tools(), session))
            assert chance is not None
            found.append(chance)
        return found

    whole, half = await chances(WHOLE), await chances(HALF)
    pairs = [(one > other) + (one == other) / 2 for one in whole for other in half]
    assert sum(pairs) / len(pairs) >= 0.9, (whole, half)
