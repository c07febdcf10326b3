"""The bundled models on held-out data, which their training never saw: how well they hear, speak and call tools. Their cards in
`models/bundled/` hold these figures."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from bench.bundled.lm import check_lm
from bench.bundled.speech import measure_stt, measure_voice
from bench.harness import Figure
from voiceagent.models.registry import resolve


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """The figures. Takes a few minutes."""
    whisper, voice = resolve("micro-whisper"), resolve("micro-voice")
    return [*measure_stt(whisper), *measure_voice(whisper, voice), *await check_lm()]
