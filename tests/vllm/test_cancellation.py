"""A reply that nobody hears any more frees its place and its KV cache at once: vLLM's own count of running requests says so."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from contextlib import aclosing

import pytest

from bench.vllm_load import CLIENT
from bench.vllm_server import VllmServer
from tests.vllm.watch import RUNNING, WAITING, Watch
from voiceagent.conversation.history import Message
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions

LONG_REPLY = 2000
CANCELLATIONS = 500
AT_ONCE = 5


@pytest.fixture
def talkative(vllm_server: VllmServer) -> OpenAiEngine:
    """Its replies do not end by themselves."""
    return OpenAiEngine(OpenAiOptions(base_url=vllm_server.base_url, max_tokens=LONG_REPLY, request={"ignore_eos": True}))


async def listen(engine: OpenAiEngine, name: str, pieces: int, gone: asyncio.Event) -> None:
    """Hear a reply, and say when so much of it was heard; 0: when it was only asked for."""
    if not pieces:
        gone.set()
    heard = 0
    async with aclosing(engine.open(name).generate([Message("user", f"What can you do? I am {name}.")], [])) as stream:
        async for _ in stream:
            heard += 1
            if heard == pieces:
                gone.set()
    gone.set()


async def test_cancelled_replies_free_their_place(vllm_server: VllmServer, talkative: OpenAiEngine, watch: Watch) -> None:
    rng = random.Random(5)
    slowest_ms = 0.0
    for number in range(0, CANCELLATIONS, AT_ONCE):
        events = [asyncio.Event() for _ in range(AT_ONCE)]
        names = [f"caller {number + index}" for index in range(AT_ONCE)]
        tasks = [
            asyncio.create_task(listen(talkative, name, rng.choice((0, 0, 1, 2, 5, 12)), event))
            for name, event in zip(names, events, strict=True)
        ]
        for task, event in zip(tasks, events, strict=True):
            await event.wait()
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        slowest_ms = max(slowest_ms, await watch.until_idle())
    await talkative.close()
    metrics = await watch.metrics()
    assert metrics["vllm:kv_cache_usage_perc"] == 0
    assert talkative.load == 0
    print(f"\nof {CANCELLATIONS} cancellations the slowest five were free after {slowest_ms:.0f} ms")


async def test_a_dropped_generator_frees_its_place(talkative: OpenAiEngine, watch: Watch) -> None:
    stream = talkative.open("call").generate([Message("user", "What can you do?")], [])
    await anext(stream)
    await watch.until(lambda m: m[RUNNING] == 1)
    await stream.aclose()
    await watch.until_idle()
    await talkative.close()


async def test_a_client_that_dies_frees_its_place(vllm_server: VllmServer, watch: Watch) -> None:
    client = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CLIENT, vllm_server.base_url, stdout=asyncio.subprocess.PIPE
    )
    assert client.stdout is not None
    assert await client.stdout.readline() == b"speaks\n"
    await watch.until(lambda m: m[RUNNING] == 1)
    client.send_signal(signal.SIGKILL)
    await client.wait()
    await watch.until_idle()


async def test_reading_ahead_can_be_cancelled(talkative: OpenAiEngine, watch: Watch) -> None:
    words = " ".join(f"word {number}" for number in range(900))
    reading = asyncio.create_task(talkative.open("call").prefill([Message("user", words)], []))
    await watch.until(lambda m: m[RUNNING] + m[WAITING] > 0 or reading.done())
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    await watch.until_idle()
    await talkative.close()
