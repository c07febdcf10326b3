"""Requests as calls make them, at a vLLM server, and how long they take: replies of many calls at a time, a growing conversation,
a long context read twice, cancellations."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from bench.context import REPLY, SAID, SYSTEM
from bench.long_talks import shortened
from bench.vllm_server import VllmServer, read_metrics
from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.llm.engine import LlmEngine, LlmSession, ToolSchema, Urgency
from voiceagent.llm.servers.openai import OpenAiEngine, OpenAiOptions

RUNNING, WAITING = "vllm:num_requests_running", "vllm:num_requests_waiting"
KNOWN_IDS = list(range(2000))
"""Ids that the bundled tokenizer has words for; a model with random weights would name others."""
LONG_REPLY = 1000
CLIENT = """
import asyncio, sys
from voiceagent.conversation.history import Message
from voiceagent.llm.servers.openai import OpenAiEngine
from voiceagent.llm.servers.openai import OpenAiOptions

async def main():
    engine = OpenAiEngine(OpenAiOptions(base_url=sys.argv[1], max_tokens=1000, request={"ignore_eos": True}))
    async for _ in engine.open("call").generate([Message("user", "What can you do?")], []):
        print("speaks", flush=True)

asyncio.run(main())
"""


def engine(
    server: VllmServer, max_tokens: int, *, random_weights: bool, timeout_s: float = 60.0, history_tokens: int | None = None
) -> OpenAiEngine:
    """An engine whose replies have just so many tokens."""
    request: dict[str, Any] = {"ignore_eos": True, **({"allowed_token_ids": KNOWN_IDS} if random_weights else {})}
    options = OpenAiOptions(
        server.base_url,
        max_tokens=max_tokens,
        first_token_timeout_s=timeout_s,
        total_timeout_s=300.0,
        request=request,
        long_history_tokens=history_tokens,
    )
    return OpenAiEngine(options)


@dataclass(slots=True)
class Times:
    """Times of replies, in ms."""

    first_ms: list[float] = field(default_factory=list)
    """From the question to the first words."""
    between_ms: list[float] = field(default_factory=list)
    """From words to the next ones."""


async def reply(model: OpenAiEngine, messages: Sequence[Message], times: Times) -> None:
    """One reply, timed as the server sends it: what it says may be taken for a tool call."""
    request = {"temperature": 0.0, "max_tokens": model.options.max_tokens, "extra_body": model.options.request}
    last_s = time.perf_counter()
    first = True
    async for delta in model.replicas[0].stream(messages, [], Urgency.REPLY, request):
        if delta.text:
            now_s = time.perf_counter()
            (times.first_ms if first else times.between_ms).append((now_s - last_s) * 1000)
            first, last_s = False, now_s


async def calls_at_once(model: OpenAiEngine, count: int, rounds: int) -> Times:
    """Makes this many calls, each with a prompt of its own, asking again and again."""
    times = Times()

    async def call(number: int) -> None:
        system = Message("system", f"You are assistant {number}. " + " ".join(f"Rule {number} {i}." for i in range(40)))
        for turn in range(rounds):
            asked = [system, Message("user", f"Tell me about number {turn} of {number}.")]
            await reply(model, asked, times)

    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(call(number))
    return times


async def conversation(model: LlmEngine, call_id: str, turns: int, tools: list[ToolSchema], rng: random.Random) -> list[float]:
    """A talk as a call reads it ahead: what was said after each reply, the caller's words while they are spoken. Replies have one
    token; the time that each turn's takes, ms."""
    session, most = model.open(call_id), model.limits.history_tokens
    history, took_ms = [SYSTEM, Message("user", f"I am {call_id}.")], []
    for number in range(turns):
        said = SAID[number % len(SAID)]
        await session.prefill(history, tools)
        for count in (2, len(said.split()) - 1):
            await session.prefill([*history, Message("user", " ".join(said.split()[:count]))], tools)
        asked = [*history, Message("user", said)]
        began_s = time.perf_counter()
        await _one_token(session, asked, tools)
        took_ms.append((time.perf_counter() - began_s) * 1000)
        words = REPLY.format(number=number).split()[: rng.randint(8, 30)]
        history = shortened([*asked, Message("assistant", " ".join(words))], most)
    await session.close()
    return took_ms


async def _one_token(session: LlmSession, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
    """Have a reply of one token made, be it the beginning of a tool call."""
    with suppress(EngineError):
        async for _ in session.generate(messages, tools):
            pass


async def long_context(model: OpenAiEngine, number: int, words: int) -> tuple[float, float]:
    """The time to the first words with a context that nobody has read yet, and with the same read ahead; ms."""
    took_ms = []
    for index in range(2):
        system = Message("system", " ".join(f"{number}{index} is {word}." for word in range(words)))
        session = model.open(f"context {number} {index}")
        if index:
            await session.prefill([system, Message("user", "What can you do?")], [])
        began_s = time.perf_counter()
        await _one_token(session, [system, Message("user", "What can you do? Please tell me.")], [])
        took_ms.append((time.perf_counter() - began_s) * 1000)
    return took_ms[0], took_ms[1]


class Watch:
    """The server's own count of its requests."""

    def __init__(self, server: VllmServer, session: aiohttp.ClientSession) -> None:
        self._url, self._session = f"{server.root}/metrics", session

    async def metrics(self) -> dict[str, float]:
        """All of them."""
        async with self._session.get(self._url) as answer:
            return read_metrics(await answer.text())

    async def idle_after_ms(self) -> float:
        """Returns the time until nothing runs or waits, as it is seen by asking again and again; the last question included."""
        began_s = time.perf_counter()
        async with asyncio.timeout(30):
            while (seen := await self.metrics())[RUNNING] + seen[WAITING]:
                pass
        return (time.perf_counter() - began_s) * 1000


async def cancellations(model: OpenAiEngine, watch: Watch, count: int, rng: random.Random) -> list[float]:
    """Replies that are dropped after a random number of pieces, none among them: ms until the server is idle."""
    took_ms = []
    for number in range(count):
        wanted = rng.choice((0, 0, 1, 2, 5, 12))
        enough = asyncio.Event()
        task = asyncio.create_task(_listen(model, f"caller {number}", wanted, enough))
        await enough.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        took_ms.append(await watch.idle_after_ms())
    return took_ms


async def _listen(model: OpenAiEngine, name: str, pieces: int, enough: asyncio.Event) -> None:
    if not pieces:
        enough.set()
    heard = 0
    async with aclosing(model.open(name).generate([SYSTEM, Message("user", f"What can you do? I am {name}.")], [])) as stream:
        async for _ in stream:
            heard += 1
            if heard >= pieces:
                enough.set()


async def deaths(server: VllmServer, watch: Watch, count: int) -> list[float]:
    """Clients that are killed while they are answered: ms until the server is idle."""
    took_ms = []
    for _ in range(count):
        client = await asyncio.create_subprocess_exec(
            sys.executable, "-c", CLIENT, server.base_url, stdout=asyncio.subprocess.PIPE
        )
        assert client.stdout is not None
        await client.stdout.readline()
        client.send_signal(signal.SIGKILL)
        await client.wait()
        took_ms.append(await watch.idle_after_ms())
    return took_ms
