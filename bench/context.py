"""Context and long conversations: how long a folder of 500 pages takes to be indexed and asked, and whether the language model
answers at turn 100 as soon as at turn 2. The conversation goes through the embedded engine as a call's does: the words that are
stable are read ahead while the caller speaks, then the whole is answered."""

from __future__ import annotations

import argparse
import random
import re
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench.harness import Figure, at_most
from bench.long_talks import shortened
from voiceagent.context.index import FolderIndex, index_file
from voiceagent.conversation.history import Message
from voiceagent.latency.budgets import percentile
from voiceagent.llm.embedded.embedded import EmbeddedEngine
from voiceagent.llm.embedded.worker import EmbeddedOptions
from voiceagent.llm.engine import ToolSchema
from voiceagent.models.registry import profile, resolve
from voiceagent.resources import demo_agent_file
from voiceagent.tools.toolset import ToolSet

PAGES, PAGE_WORDS, QUERIES = 500, 500, 500
VOCABULARY = 8000
CONVERSATIONS, TURNS = 20, 100
SYSTEM = Message("system", "You are a friendly voice assistant. Answer in one or two short sentences.")
SAID = ("Thank you very much.", "Hello, can you hear me?", "What can you do for me?", "Thanks, that is very kind of you.")
"""Turns that are answered without a tool."""
REPLY = (
    "You are welcome, I am glad that I could help. This was turn {number} of our talk, and all of it went well. Is there anything"
)
NOTES = """
A page is about 500 words of a vocabulary of 8,000 whose frequencies fall as those of English words do (Zipf), under headings;
questions are six words of one page. The language model is that of the profile `embedded`, with its options. A turn's words are
read ahead in three pieces, then the whole is answered: timed until the first token is there, whatever it is. The history holds
given replies of 8 to 30 words, so that conversations are shortened at different turns. Medians over the conversations.
"""


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """The figures: about a minute."""
    return [*_index(), *await _conversations()]


def _index() -> list[Figure]:
    rng = random.Random(20)
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        folder = Path(name) / "docs"
        folder.mkdir()
        pages = [_page(rng) for _ in range(PAGES)]
        for number, page in enumerate(pages):
            (folder / f"page{number}.md").write_text(page, encoding="utf-8")
        index = FolderIndex(folder, index_file(Path(name), folder))
        began = time.perf_counter()
        indexed = index.refresh()
        index_s = time.perf_counter() - began
        began = time.perf_counter()
        index.refresh()
        again_s = time.perf_counter() - began
        took_ms, right = [], 0
        for _ in range(QUERIES):
            number = rng.randrange(PAGES)
            question = "Please tell me about " + " ".join(rng.sample(re.findall(r"[a-z]+", pages[number]), 6))
            began = time.perf_counter()
            found = index.search(question, 3)
            took_ms.append((time.perf_counter() - began) * 1000)
            right += any(chunk.source.startswith(f"page{number}.md") for chunk in found)
        index.close()
    return [
        Figure("pages", float(indexed.documents), "", "", True),
        Figure("pieces", float(indexed.pieces), "", "", True),
        at_most("indexed in", index_s, 20.0, "s"),
        Figure("looked through again, unchanged", again_s, "s", "", True),
        Figure("a question p50", percentile(took_ms, 50), "ms", "", True),
        at_most("a question p95", percentile(took_ms, 95), 10.0, "ms"),
        Figure("questions whose page is among the first 3", 100 * right / QUERIES, "%", "", True),
    ]


def _page(rng: random.Random) -> str:
    weights = [1 / (rank + 3) for rank in range(VOCABULARY)]
    words = ["".join(_letters(rank)) for rank in range(VOCABULARY)]
    text = rng.choices(words, weights, k=PAGE_WORDS)
    parts = [f"## {' '.join(text[at : at + 3])}\n\n{' '.join(text[at : at + 100])}." for at in range(0, PAGE_WORDS, 100)]
    return "\n\n".join(parts)


def _letters(rank: int) -> Iterable[str]:
    """A word of its own for each rank."""
    for _ in range(3):
        rank, consonant = divmod(rank, 20)
        rank, vowel = divmod(rank, 5)
        yield "bcdfghjklmnpqrstvwxz"[consonant] + "aeiou"[vowel]


async def _conversations() -> list[Figure]:
    tools = ToolSet.from_config(["tools.py"], demo_agent_file().parent).schemas()
    spec = profile("embedded").llm
    engine = EmbeddedEngine(resolve(spec.model), msgspec.convert({**spec.options, "max_tokens": 1}, EmbeddedOptions))
    rng = random.Random(100)
    try:
        await _converse(engine, "warm-up", 3, tools, rng)
        took_ms = [await _converse(engine, f"call {number}", TURNS, tools, rng) for number in range(CONVERSATIONS)]
    finally:
        await engine.close()
    every_ms = [ms for turns in took_ms for ms in turns[1:]]
    early, late = statistics.median(turns[1] for turns in took_ms), statistics.median(turns[-1] for turns in took_ms)
    return [
        Figure("time to first token, turn 2", early, "ms", "", True),
        Figure("time to first token, turn 100", late, "ms", "", True),
        Figure("time to first token, all turns p50", percentile(every_ms, 50), "ms", "", True),
        Figure("time to first token, all turns p95", percentile(every_ms, 95), "ms", "", True),
        at_most("turn 100 against turn 2", late / early, 1.2, "x"),
    ]


async def _converse(engine: EmbeddedEngine, call_id: str, turns: int, tools: list[ToolSchema], rng: random.Random) -> list[float]:
    """The time to first token of each turn, ms."""
    session, most = engine.open(call_id), engine.limits.history_tokens
    history, took_ms = [SYSTEM], []
    for number in range(turns):
        words = SAID[number % len(SAID)].split()
        await session.prefill(history, tools)
        for count in (1, 2, len(words) - 1):
            await session.prefill([*history, Message("user", " ".join(words[:count]))], tools)
        asked = [*history, Message("user", " ".join(words))]
        began = time.perf_counter()
        async for _ in session.generate(asked, tools):
            pass
        took_ms.append((time.perf_counter() - began) * 1000)
        reply = REPLY.format(number=number).split()[: rng.randint(8, 30)]
        history = shortened([*asked, Message("assistant", " ".join(reply))], most)
    await session.close()
    return took_ms
