"""What the model is judged on (bench/starter/sets/held_out): no conversation that it learns from may hold a sentence of it. Short
ones ("Thank you very much.") are said everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from bench.starter.cases import agents
from bench.starter.normal import words

LONGEST_COMMON_WORDS = 4


@cache
def sentences() -> frozenset[str]:
    """All sentences of callers that are longer, in the form that makes different spellings equal."""
    said = (turn.said for agent in agents("held_out") for dialogue in agent.dialogues for turn in dialogue)
    return frozenset(" ".join(words(text)) for text in said if len(text.split()) > LONGEST_COMMON_WORDS)


def is_judged(said: Iterable[str]) -> bool:
    """Whether one of these is a sentence of the held-out sets."""
    return any(" ".join(words(text)) in sentences() for text in said)
