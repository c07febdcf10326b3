"""vLLM behind our engine: time to first token at turn 2 and at turn 50, a long context read ahead or not, cancellations, tokens
of many calls at a time, and what speculative decoding buys. With the bundled model on this machine's CPU; with `--shape 8b` or
`30b-a3b` on a GPU, with random weights of that shape. It runs in an environment that has vLLM: `scripts/install-vllm.sh` makes
one."""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import os
import random
import statistics
import tempfile
from collections.abc import Iterable
from pathlib import Path

import aiohttp
import msgspec

from bench.bundled.lm import demo_tools
from bench.harness import Figure, at_most
from bench.vllm_load import LONG_REPLY, Watch, calls_at_once, cancellations, conversation, deaths, engine, long_context
from bench.vllm_server import CPU_ENVIRONMENT, VllmServer, installed, serving
from bench.vllm_shapes import make_shape
from voiceagent.errors import ConfigError
from voiceagent.latency.budgets import percentile
from voiceagent.llm.engine import LlmEngine
from voiceagent.llm.servers.vllm import VllmEngine, VllmOptions
from voiceagent.models.registry import profile
from voiceagent.resources import bundled_models_dir

BUNDLED = "micro"
TURNS, CONVERSATIONS = 50, 8
CONTEXT_WORDS, CONTEXTS = 480, 10
CANCELLATIONS, DEATHS = 500, 5
REPLY_TOKENS, ROUNDS = 64, 3
NGRAMS = '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}'
NOTES = """
The server is `vllm serve` with the options of `bench/vllm_server.py`, the client is our engine over HTTP on the same machine;
times are the client's. A conversation is read ahead as in a call: what was said after each reply, the caller's words while they
are spoken; what is timed is the turn's own request for one token. With the profiles `vllm-cpu` and `vllm-inside` the older half
of a long conversation is left out (`long_history_tokens`): the bundled model learned from short talks. With nothing left
out it shows what grows with the prompt, as a step of this small model takes about 5 ms: the server renders and tokenises all of
it anew, and one CPU thread attends to 2,300 tokens. Nothing of the prompt is computed again but its last, unfilled block.
The context "read ahead" was read
with the caller's first words; "not read" is another one of the same length. A cancellation is timed from the moment the stream is
closed until `vllm:num_requests_running` and `…_waiting` are seen to be 0, the question to `/metrics` included. Calls at a time
have prompts of about 300 tokens of their own and replies of 64 tokens. N-grams are guessed 4 tokens at a time and checked
together: with a model whose step costs no more than its overhead that only loses; measure it with your own. Sleep mode is for
GPUs and not measured.
"""


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """The figures: about five minutes on two cores."""
    if not installed():
        raise ConfigError("vLLM is not in this environment; run scripts/install-vllm.sh and python -m bench vllm with its python")
    shape: str = options.shape
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        folder = Path(name)
        if shape == BUNDLED:
            with serving(folder / "vllm.log") as server:
                figures = [*await _bundled(server), *await _calls(server, options.calls or (1, 4, 16), random_weights=False)]
            with serving(folder / "ngrams.log", "--speculative-config", NGRAMS) as server:
                speculative = await _calls(server, (1,), random_weights=False, label="with n-gram speculation, ")
            return [_version(), *figures, *await _in_process(), *speculative]
        more = ("--load-format", "dummy", "--gpu-memory-utilization", "0.9")
        model = make_shape(shape, folder / shape)
        with serving(folder / "vllm.log", *more, model=model, cpu=shape == "tiny") as server:
            counts = options.calls or (1, 16, 64, 256)
            figures = [*await _calls(server, counts, random_weights=True), *await _cancelled(server, random_weights=True)]
        return [_version(), *figures]


def _version() -> Figure:
    """The release of vLLM, as a number such as 0.32."""
    major, minor = importlib.metadata.version("vllm").split(".")[:2]
    return Figure("vLLM", float(f"{major}.{minor}"), "", "", True)


async def _in_process() -> list[Figure]:
    os.environ.update(CPU_ENVIRONMENT)
    options = msgspec.convert({**profile("vllm-inside").llm.options, "max_tokens": 1}, VllmOptions)
    talker = await asyncio.to_thread(VllmEngine, bundled_models_dir() / "lm" / "safetensors", options)
    try:
        return await _turns(talker, "in process, ")
    finally:
        await talker.close()


async def _turns(talker: LlmEngine, label: str = "") -> list[Figure]:
    """Measures whether late turns are answered as soon as early ones."""
    rng, tools = random.Random(50), demo_tools()
    await conversation(talker, "warm-up", 3, tools, rng)
    took = [await conversation(talker, f"talk {number}", TURNS, tools, rng) for number in range(CONVERSATIONS)]
    early, late = statistics.median(turns[1] for turns in took), statistics.median(turns[-1] for turns in took)
    every_ms = [ms for turns in took for ms in turns[1:]]
    return [
        Figure(f"{label}time to first token, turn 2", early, "ms", "", True),
        Figure(f"{label}time to first token, turn {TURNS}", late, "ms", "", True),
        at_most(f"{label}turn {TURNS} against turn 2", late / early, 1.2, "x"),
        Figure(f"{label}time to first token, all turns p50", percentile(every_ms, 50), "ms", "", True),
        Figure(f"{label}time to first token, all turns p95", percentile(every_ms, 95), "ms", "", True),
    ]


async def _bundled(server: VllmServer) -> list[Figure]:
    history_tokens = profile("vllm-cpu").llm.options["long_history_tokens"]
    assert isinstance(history_tokens, int)
    talker = engine(server, 1, random_weights=False, history_tokens=history_tokens)
    turns = await _turns(talker)
    whole = engine(server, 1, random_weights=False)
    unabridged = await _turns(whole, "nothing left out, ")
    await whole.close()
    contexts = [await long_context(talker, number, CONTEXT_WORDS) for number in range(CONTEXTS)]
    await talker.close()
    cold, warm = (statistics.median(context[index] for context in contexts) for index in (0, 1))
    return [
        *turns,
        *unabridged,
        Figure("time to first token, a context of 3,000 tokens not read", cold, "ms", "", True),
        Figure("time to first token, a context of 3,000 tokens read ahead", warm, "ms", "", True),
        at_most("read ahead against not read", warm / cold, 0.25, "x"),
        *await _cancelled(server, random_weights=False),
    ]


async def _cancelled(server: VllmServer, *, random_weights: bool) -> list[Figure]:
    talker = engine(server, LONG_REPLY, random_weights=random_weights)
    async with aiohttp.ClientSession() as session:
        watch = Watch(server, session)
        await watch.metrics()
        dropped = await cancellations(talker, watch, CANCELLATIONS, random.Random(5))
        killed = await deaths(server, watch, DEATHS)
        left = (await watch.metrics())["vllm:kv_cache_usage_perc"]
    await talker.close()
    return [
        Figure(f"idle after a cancellation, p50 of {CANCELLATIONS}", percentile(dropped, 50), "ms", "", True),
        Figure("idle after a cancellation, p95", percentile(dropped, 95), "ms", "", True),
        at_most("idle after a cancellation, the slowest", max(dropped), 100.0, "ms"),
        at_most(f"idle after the client's death, the slowest of {DEATHS}", max(killed), 100.0, "ms"),
        at_most("KV cache in use afterwards", 100 * left, 0.0, "%"),
    ]


async def _calls(server: VllmServer, counts: Iterable[int], *, random_weights: bool, label: str = "") -> list[Figure]:
    figures = []
    talker = engine(server, REPLY_TOKENS, random_weights=random_weights)
    await calls_at_once(talker, 1, 1)
    for count in counts:
        times = await calls_at_once(talker, count, ROUNDS if count > 1 else 5 * ROUNDS)
        name = f"{label}{count} call{'s' if count > 1 else ''} at a time"
        figures += [Figure(f"{name}, first token p{p}", percentile(times.first_ms, p), "ms", "", True) for p in (50, 95)]
        figures += [Figure(f"{name}, between tokens p{p}", percentile(times.between_ms, p), "ms", "", True) for p in (50, 95, 99)]
        mean = statistics.fmean(times.between_ms) * len(times.between_ms) / (len(times.first_ms) * (REPLY_TOKENS - 1))
        figures.append(Figure(f"{name}, time a token", mean, "ms", "", True))
    await talker.close()
    return figures
