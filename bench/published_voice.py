"""A published Piper voice (en_US-joe-medium) in chunks, on one thread and on two: how soon a clause is heard, how much faster
than speech it is made, what the loaded voice takes of memory, and how near its joined chunks come to the uncut voice."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable

import psutil

from bench.harness import Figure, at_most
from bench.synthesis import CLAUSES, SENTENCES, likeness_rows, spoken
from voiceagent.latency.budgets import percentile
from voiceagent.models.registry import resolve
from voiceagent.tts.piper import PiperEngine, PiperOptions

NOTES = """\
*first audio*: from the text handed over to the first chunk. *real-time factor*: time to make all chunks by the time they take to
say. Memory is what the process grew by when the voice was loaded, its text part, flow and vocoder as three sessions.
The committed run shared its two cores with other work (see the load): on idle cores one thread needs about half as long
(`synthesis.md`), and a second thread that has no core to itself makes it slower.
"""
ROUNDS = 4
MIB = 1 << 20


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about a minute."""
    folder = resolve("piper-joe")
    figures: list[Figure] = []
    for threads in (1, 2):
        before = psutil.Process().memory_info().rss
        began_s = time.perf_counter()
        engine = PiperEngine(folder, PiperOptions(threads=threads))
        load_s = time.perf_counter() - began_s
        name = f"{threads} thread{'s' if threads > 1 else ''}"
        figures.append(Figure(f"{name}: loading the voice", load_s, "s", "", True))
        if threads == 1:  # the second engine finds memory that the first one's loading left free
            figures.append(Figure(f"{name}: memory", (psutil.Process().memory_info().rss - before) / MIB, "MiB", "", True))
        for what, texts in (("6 words", CLAUSES), ("19 words", SENTENCES)):
            figures += await _timed(f"{name}, {what}", engine, texts)
        await engine.close()
    return [*figures, *likeness_rows("published voice", folder / "voice.onnx")]


async def _timed(name: str, engine: PiperEngine, texts: tuple[str, ...]) -> list[Figure]:
    await spoken(engine, texts[0])
    first_ms: list[float] = []
    made_ms = said_ms = 0.0
    for _ in range(ROUNDS):
        for text in texts:
            times = await spoken(engine, text)
            first_ms += times.first_ms
            made_ms += times.all_ms[0]
            said_ms += times.said_ms
    return [
        at_most(f"{name}: first audio p50", percentile(first_ms, 50), 100, "ms"),
        Figure(f"{name}: first audio p95", percentile(first_ms, 95), "ms", "", True),
        at_most(f"{name}: real-time factor", made_ms / said_ms, 0.5, "×"),
    ]
