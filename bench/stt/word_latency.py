"""Times the caller's words on the screen. Pure: texts with the times at which they were shown in, a latency a word out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from bench.bundled.speech import normalised


@dataclass(frozen=True, slots=True)
class Shown:
    """The text that was shown from a moment on."""

    at_ms: float
    stable: str
    unstable: str


@dataclass(frozen=True, slots=True)
class WordLatency:
    """From the end of a word's sound; below zero, if it was guessed before that. None: never."""

    shown_ms: float | None
    """Until it was shown, stable or not, and never left its place again."""
    stable_ms: float | None
    """Until it was among the stable words."""


def word_latencies(text: str, word_ends_ms: Sequence[float], timeline: Sequence[Shown]) -> list[WordLatency]:
    """One latency for each word of `text`, which are said by `word_ends_ms`."""
    words = [normalised(word) for word in text.split()]
    shown = _settled_since(words, [(step.at_ms, f"{step.stable} {step.unstable}") for step in timeline])
    stable = _settled_since(words, [(step.at_ms, step.stable) for step in timeline])
    return [
        WordLatency(None if seen is None else seen - end_ms, None if fixed is None else fixed - end_ms)
        for end_ms, seen, fixed in zip(word_ends_ms, shown, stable, strict=True)
    ]


def _settled_since(words: Sequence[str], timeline: Sequence[tuple[float, str]]) -> list[float | None]:
    """Returns for each word the time since which it stands in the text in its place among the others up to the last text."""
    since: list[float | None] = [None] * len(words)
    for at_ms, text in timeline:
        matched = _matched(words, normalised(text).split())
        since = [(at_ms if before is None else before) if index in matched else None for index, before in enumerate(since)]
    return since


def _matched(words: Sequence[str], heard: Sequence[str]) -> set[int]:
    blocks = SequenceMatcher(None, words, heard, autojunk=False).get_matching_blocks()
    return {block.a + offset for block in blocks for offset in range(block.size)}
