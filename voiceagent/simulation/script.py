"""Intentions of a simulated caller: requests in fragments with pauses between them, and sounds made while the agent speaks. Since
the intention is known, every decision of the turn engine can be checked."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

Kind = Literal["request", "sentence", "command", "backchannel", "noise"]

REQUESTS: tuple[tuple[str, ...], ...] = (
    ("What's the weather in", "Paris", "tomorrow?"),
    ("What time is it", "in Tokyo?"),
    ("Book a table for", "four people", "on Friday", "at seven PM."),
    ("I'd like to", "book an appointment", "for Monday", "at ten AM."),
    ("Where is order", "four eight", "two seven one?"),
    ("Cancel", "my table", "for Saturday."),
    ("Set a timer", "for ten", "minutes."),
    ("What is", "twelve", "plus thirty?"),
    ("Um", "can you", "help me?"),
    ("Hello.",),
    ("Yes.",),
    ("Thank you,", "goodbye."),
)
"""Each request is cut where people pause."""
SENTENCES = (("What time is it in Berlin?",), ("Actually make it", "five people."), ("I meant London",))
COMMANDS = ("Stop.", "Wait.", "No, stop.")
BACKCHANNELS = ("mm-hm", "Okay.", "yeah", "right", "uh-huh")

LOOKS_UP, HAS_EFFECTS = "find", "book"
TOOLS = (LOOKS_UP, HAS_EFFECTS, "", "", "")

MEDIAN_PAUSE_MS, PAUSE_SPREAD = 450.0, 0.6
"""Pauses inside a turn are log-normal, about half a second (Campione and Véronis 2002)."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """Words said in one breath, and the silence after them."""

    words: tuple[str, ...]
    pause_ms: float


@dataclass(frozen=True, slots=True)
class ScriptedUtterance:
    """Something that the caller says, or another sound."""

    kind: Kind
    fragments: tuple[Fragment, ...]
    """The last fragment's pause does not count."""


@dataclass(frozen=True, slots=True)
class ScriptedTurn:
    """A request, and what the caller does while it is answered."""

    request: ScriptedUtterance
    tool: str
    """The tool that the answer needs; empty: none."""
    overlap: ScriptedUtterance | None
    overlap_after_ms: float
    """Counted from the reply's first sound."""


def script(rng: random.Random) -> tuple[ScriptedTurn, ...]:
    """The turns of one caller: one to four."""
    return tuple(_turn(rng) for _ in range(rng.choice((1, 1, 2, 2, 3, 4))))


def _turn(rng: random.Random) -> ScriptedTurn:
    overlap: ScriptedUtterance | None = None
    dice = rng.random()
    if dice < 0.12:
        overlap = _said(rng, "backchannel", (rng.choice(BACKCHANNELS),))
    elif dice < 0.22:
        overlap = ScriptedUtterance("noise", (Fragment((), 0.0),))
    elif dice < 0.28:
        overlap = _said(rng, "command", (rng.choice(COMMANDS),))
    elif dice < 0.36:
        overlap = _said(rng, "sentence", rng.choice(SENTENCES))
    parts = rng.choice(REQUESTS)
    pauses = rng.random() < 0.5
    request = _said(rng, "request", parts if pauses else (" ".join(parts),))
    return ScriptedTurn(request, rng.choice(TOOLS), overlap, rng.uniform(100.0, 2500.0))


def _said(rng: random.Random, kind: Kind, parts: tuple[str, ...]) -> ScriptedUtterance:
    """An utterance with pauses between some of its parts."""
    fragments: list[Fragment] = []
    words: list[str] = []
    for number, part in enumerate(parts, start=1):
        words += part.split()
        if number == len(parts) or rng.random() < 0.4:
            pause_ms = max(120.0, min(2500.0, rng.lognormvariate(0.0, PAUSE_SPREAD) * MEDIAN_PAUSE_MS))
            fragments.append(Fragment(tuple(words), pause_ms))
            words = []
    return ScriptedUtterance(kind, tuple(fragments))
