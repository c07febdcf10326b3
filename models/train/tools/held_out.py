"""What the model is judged on (bench/starter/sets/held_out): no conversation that it learns from may hold a sentence of it. Short
ones ("Thank you very much.") are said everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import yaml

from models.train.tools.values import ONES

SETS = Path(__file__).parents[3] / "bench" / "starter" / "sets" / "held_out"
SAID_IN = ("requests", "dialogues", "none", "facts")
"""The sections whose lines begin with a caller's sentence; what is right then follows behind an arrow."""
ARROW = " => "
LONGEST_COMMON_WORDS = 4
ARTICLES = frozenset({"a", "an", "the"})
NUMBERS = {word: str(number) for number, word in enumerate(ONES)}


def is_judged(said: Iterable[str]) -> bool:
    """Whether one of these is a sentence of the held-out sets, however it is spelled."""
    return any(_plain(text) in _sentences() for text in said)


@cache
def _sentences() -> frozenset[str]:
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in SETS.glob("*.yaml")]
    lines = [line for file in files for section in SAID_IN for line in file.get(section, "").splitlines()]
    said = [line.partition(ARROW)[0].strip() for line in lines]
    return frozenset(_plain(text) for text in said if len(text.split()) > LONGEST_COMMON_WORDS)


def _plain(text: str) -> str:
    found = re.findall(r"[a-z0-9]+", text.lower().replace("'", ""))
    return " ".join(NUMBERS.get(word, word) for word in found if word not in ARTICLES)


@cache
def judged_tools() -> frozenset[str]:
    """Names of their tools, in small letters without `_`."""
    files = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in SETS.glob("*.yaml")]
    names = [line.partition("(")[0].strip() for file in files for line in file.get("tools", "").splitlines()]
    return frozenset(name.replace("_", "").lower() for name in names if name)
