"""Sentence patterns of everyday calls, as people of many styles say them, by topic and kind, in `texts/<part>/*.yaml`.

    topic:
      kind: [pattern, …]                       # said of one's own accord
      kind_asked: {question: [pattern, …]}     # in answer to the agent's question; so is what stands under `answer` and `short`

A pattern is written as it is said, with marks; `{slot}` is drawn from `values.py`. `fit` and `held_out` share none: no two of
them have more than `MOST_SHARED` of their words in common. A fifth of `fit` is kept for tuning; `brief` is answers of a word
or two, which are fitted besides.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import yaml

Part: TypeAlias = Literal["fit", "brief", "tune", "held_out"]
FOLDER = Path(__file__).parent / "texts"
MOST_SHARED = 0.4
TUNED_OF = 5
"""One pattern of so many is for tuning."""
_ASKED = "_asked"
_MARK = re.compile(r"[^\w\s'{}-]")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a caller may say."""

    topic: str
    kind: str
    """`request`, `statement`, `question`, `answer`, `spelled`, `dictated`, `correction`, `tag`, `list`, `restart`, `short` or
    `opening`."""
    asked: str
    """What the agent asked before; empty where the caller speaks of their own accord."""
    text: str

    @property
    def words(self) -> frozenset[str]:
        """Its words in lower case, slots among them."""
        return frozenset(word.strip("'") for word in _MARK.sub(" ", self.text.lower()).split())


def shared(one: frozenset[str], other: frozenset[str]) -> float:
    """The share of all their words that both have (Jaccard)."""
    return len(one & other) / max(1, len(one | other))


@functools.cache
def patterns(part: Part) -> tuple[Pattern, ...]:
    """Those of a part, in the order of its files."""
    found = _read("fit" if part == "tune" else part)
    if part in ("held_out", "brief"):
        return found
    return tuple(pattern for pattern in found if _is_for_tuning(pattern) == (part == "tune"))


def _is_for_tuning(pattern: Pattern) -> bool:
    digest = hashlib.md5(pattern.text.encode(), usedforsecurity=False).digest()
    return digest[0] % TUNED_OF == 0


@functools.cache
def _read(folder: str) -> tuple[Pattern, ...]:
    found: list[Pattern] = []
    for path in sorted((FOLDER / folder).glob("*.yaml")):
        topics: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
        for topic, kinds in topics.items():
            found += _of_topic(topic, kinds)
    return tuple(found)


def _of_topic(topic: str, kinds: dict[str, Any]) -> Iterator[Pattern]:
    for kind, said in kinds.items():
        by_question: dict[str, list[str]] = said if isinstance(said, dict) else {"": said}
        for asked, texts in by_question.items():
            for text in texts:
                yield Pattern(topic, kind.removesuffix(_ASKED), asked, text)
