"""Fits the weight of a speculative tool call (`endpointing.TOOL_CALL`), all other weights held. Each first sentence of the agents
in `sets/dev` is cut off after each of its words, as if the caller paused there, and the language model of the profile `starter`
is asked what it would do. A cut counts as often as people hesitate there; the whole sentence counts once.

    python -m bench.starter.tool_call_weight
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.starter.cases import Agent, agents
from bench.starter.transcript import transcript
from models.train.domain import Unit
from models.train.turns.draw import BASE_RATE, Word, hesitation_factor
from voiceagent.conversation.history import Message, ToolCall
from voiceagent.engines import grounded
from voiceagent.errors import EngineError
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.embedded.worker import EmbeddedOptions
from voiceagent.llm.engine import LlmEngine
from voiceagent.models.registry import profile, resolve
from voiceagent.tools.toolset import ToolSet
from voiceagent.turn_taking.endpointing import EndpointModel, PauseEvidence, Prosody, log_odds
from voiceagent.turn_taking.languages.en import ENGLISH

PROFILE = "starter"
WORD_MS = 350.0
"""Speech that a word is taken for: the sentences are not spoken here."""
SUREST = 1e-9
"""Chances closer to 0 or 1 count as this close."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Cut:
    """A sentence up to a pause."""

    words: str
    is_end: bool
    weight: float
    """The frequency of people's pauses there."""


def cuts(said: str) -> Iterator[Cut]:
    """All pauses of a sentence. The recogniser closes what it heard with a full stop."""
    words = transcript(said).split()
    for count, (word, after) in enumerate(pairwise(words), 1):
        weight = BASE_RATE * hesitation_factor(_word(word), _word(after))
        yield Cut(" ".join(words[:count]).rstrip(",.?!") + ".", False, weight)
    yield Cut(" ".join(words), True, 1.0)


def _word(written: str) -> Word:
    return Word(Unit(written, written), any(character.isdigit() for character in written))


def fitted(known: Floats, calls: Floats, is_end: Floats, importance: Floats) -> float:
    """Returns the weight that is added to the log-odds `known` where the model calls a tool, by logistic regression (Newton's
    method). All arrays have the shape (pauses,)."""
    weight = 0.0
    for _ in range(60):
        likely = 1 / (1 + np.exp(-(known + weight * calls)))
        gradient = float((importance * calls * (likely - is_end)).sum())
        curvature = float((importance * calls * likely * (1 - likely)).sum())
        weight -= gradient / max(1e-9, curvature)
    return weight


async def calls_tool(engine: LlmEngine, agent: Agent, found: list[Cut]) -> list[bool]:
    """Returns whether the language model answers each with a tool call."""
    session, schemas = engine.open(agent.name), ToolSet(agent.tools()).schemas()
    greeted = [Message("assistant", agent.greeting)] if agent.greeting else []
    answers: list[bool] = []
    for cut in found:
        prompt = [Message("system", agent.instructions), *greeted, Message("user", cut.words)]
        try:
            answers.append(any([isinstance(piece, ToolCall) async for piece in session.generate(prompt, schemas)]))
        except EngineError:
            answers.append(False)
    await session.close()
    return answers


async def main() -> None:
    """Print the weight and what the language model did."""
    llm = profile(PROFILE).llm
    engine = grounded(EmbeddedEngine(resolve(llm.model), msgspec.convert(dict(llm.options), EmbeddedOptions)), llm.model)
    model = EndpointModel()
    known, called, ends, weights = [], [], [], []
    for agent in agents("dev"):
        found = [cut for dialogue in agent.dialogues for cut in cuts(dialogue[0].said)]
        called += await calls_tool(engine, agent, found)
        for cut in found:
            evidence = PauseEvidence(cut.words, agent.greeting, WORD_MS * len(cut.words.split()), Prosody())
            known.append(log_odds(model.completeness(evidence, ENGLISH), SUREST))
            ends.append(float(cut.is_end))
            weights.append(cut.weight)
    await engine.close()
    calls, is_end, importance = np.array(called, float), np.array(ends), np.array(weights)
    for name, chosen in (("ends", is_end == 1), ("pauses inside", is_end == 0)):
        share = (importance * calls)[chosen].sum() / importance[chosen].sum()
        print(f"{name}: {chosen.sum()}, weight {importance[chosen].sum():.1f}, with a tool call {100 * share:.1f} %")
    print(f"weight of a tool call: {fitted(np.array(known), calls, is_end, importance):.2f}")


if __name__ == "__main__":
    asyncio.run(main())
