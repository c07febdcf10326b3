"""Requests beside each other: what is urgent goes first, what was read is not read again, a full queue is told."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from bench.vllm_server import BLOCK_TOKENS, CONTEXT_TOKENS, VllmServer
from tests.vllm.watch import HITS, QUERIES, WAITING, Watch
from voiceagent.conversation.history import Message
from voiceagent.llm.engine import KvCapacity, Urgency
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions

CROWD = 24


@pytest.fixture
def crowded(vllm_server: VllmServer) -> OpenAiEngine:
    """It waits for the last of a crowd, on a slow machine too."""
    options = OpenAiOptions(
        base_url=vllm_server.base_url,
        max_tokens=60,
        first_token_timeout_s=60.0,
        inactivity_timeout_s=60.0,
        busy_generations=1000,
        request={"ignore_eos": True},
    )
    return OpenAiEngine(options)


async def asked(engine: OpenAiEngine, name: str, urgency: Urgency, order: list[str]) -> None:
    """Have a reply made, and note when its first words came."""
    words = " ".join(f"{name} says {number}" for number in range(120))
    async with aclosing(engine.open(name).generate([Message("user", words)], [], urgency)) as stream:
        await anext(stream, None)
        order.append(name)


async def test_a_reply_goes_before_speculative_ones_and_those_before_reading_ahead(crowded: OpenAiEngine, watch: Watch) -> None:
    order: list[str] = []
    async with asyncio.TaskGroup() as group:
        for number in range(CROWD):
            group.create_task(asked(crowded, f"ahead {number}", Urgency.AHEAD, order))
        await watch.until(lambda m: m[WAITING] > CROWD / 2)
        group.create_task(asked(crowded, "speculative", Urgency.SPECULATIVE, order))
        group.create_task(asked(crowded, "reply", Urgency.REPLY, order))
    await crowded.close()
    assert order.index("reply") < order.index("speculative") < CROWD / 2 + 2


async def test_a_queue_at_the_server_is_load(crowded: OpenAiEngine, watch: Watch) -> None:
    order: list[str] = []
    await asked(crowded, "first", Urgency.REPLY, order)
    assert crowded.load < 1
    async with asyncio.TaskGroup() as group:
        for number in range(CROWD):
            group.create_task(asked(crowded, f"caller {number}", Urgency.REPLY, order))

        async def busy() -> None:
            while crowded.load < 1:
                await watch.metrics()

        await asyncio.wait_for(busy(), 60)
    await crowded.close()


async def test_what_was_read_ahead_is_not_read_again(engine: OpenAiEngine, watch: Watch) -> None:
    system = Message("system", " ".join(f"Rule {number} is to be brief." for number in range(100)))
    before = await watch.metrics()
    await engine.open("call").prefill([system, Message("user", "What can you")], [])
    read = await watch.metrics()
    async with aclosing(engine.open("call").generate([system, Message("user", "What can you do?")], [])) as stream:
        async for _ in stream:
            pass
    after = await watch.metrics()
    prompt_tokens = after[QUERIES] - read[QUERIES]
    assert read[HITS] - before[HITS] < BLOCK_TOKENS
    assert prompt_tokens - (after[HITS] - read[HITS]) < 2 * BLOCK_TOKENS


async def test_the_cache_is_as_large_as_vllm_says(engine: OpenAiEngine, watch: Watch) -> None:
    capacity = await engine.kv_capacity()
    assert isinstance(capacity, KvCapacity)
    assert capacity.longest_tokens == CONTEXT_TOKENS
    assert capacity.tokens > 10 * CONTEXT_TOKENS
