"""Measures the cost of the guards for a clause, and their hits: the sentences of the held-out dialogues, token by token through
the look-ahead window, with every built-in rule switched on; then by a screening service on loopback that answers after 20 ms, and
by one that never answers. In whole calls, each question is asked with the first screening both directions, and without."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import math
import re
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
import msgspec.yaml
from aiohttp import web

from bench.calls import QUESTIONS, RATE_HZ, spoken
from bench.harness import Figure, at_most
from bench.server import Server, running
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.guard.checks import Guards, load_guards
from voiceagent.guard.settings import GuardSettings, OutputRules, PluginSettings
from voiceagent.guard.window import OutputWindow, WindowCheck
from voiceagent.latency.budgets import percentile
from voiceagent.resources import demo_agent_file

CLAUSES = 20_000
PHRASES = 200
SCREENED = 500
"""Clauses that a service screens."""
CALLS, WRITTEN_CALLS, WAITS_OF = 2, 8, 8
"""Spoken and written calls whose waits are measured, and the questions of each."""
APART_S = 1.5
"""Between written questions: a client that asks more quickly is told to wait."""
ANSWERED_S = 30.0
SERVICE_S = 0.02
DEADLINE_MS = 150
MUST_HIT = (
    "Your card number is 4111 1111 1111 1111, and it is valid.",
    "It is four one one one, one one one one, one one one one, one one one one.",
    "You can call six five zero, two five three, zero zero zero zero.",
    "Call +1 (650) 253-0000 for help.",
    "The key is sk-k9Fq2LmZ7xW4cVb8Rt1Yp6Ns, keep it.",
    "Your password is Tr0ub4dor&3, don't tell.",
    "Buy the Acme. Rocket is its name.",
    "The usual dosage is two pills.",
)
"""Texts that must not be spoken: each of them hits one rule, half of them across clauses."""


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """The figures."""
    guards = load_guards(GuardSettings(output=_rules()))
    replies = _replies()
    refused = sum([(await _spoken(guards, reply))[-1].verdict.blocked for reply in replies])
    checks: list[WindowCheck] = []
    while len(checks) < CLAUSES:
        for reply in replies:
            checks += await _spoken(guards, reply)
    missed = [text for text in MUST_HIT if not (await _spoken(guards, text))[-1].verdict.blocked]
    times_ms = [check.guard_ms for check in checks]
    return [
        Figure("clauses checked", float(len(checks)), "", "", True),
        Figure("a clause p50", percentile(times_ms, 50), "ms", "", True),
        at_most("a clause p95", percentile(times_ms, 95), 2.0, "ms"),
        Figure("a clause p99", percentile(times_ms, 99), "ms", "", True),
        at_most("ordinary replies refused", float(refused), 0.0, ""),
        at_most("unspeakable replies let pass", float(len(missed)), 0.0, ""),
        *await _screened(replies),
    ]


async def _screened(replies: list[str]) -> list[Figure]:
    """The cost of a service, beyond the time that it takes to answer; and of one that is dead."""
    answers_s: list[float] = []
    async with _service(answers_s) as url:
        answering = [check.guard_ms for check in await _checks(url, replies)]
        of_clauses_s = answers_s.copy()
        async with _servers(url) as servers:
            written_ms, spoken_ms = await _written(servers), await _spoken_to(servers)
    async with _service(None) as url:
        dead = [check.guard_ms for check in await _checks(url, replies)]
    ours_ms = [ms - service_s * 1000 for ms, service_s in zip(answering, of_clauses_s, strict=True)]
    return [
        Figure("a clause by a service that answers in 20 ms p50", percentile(answering, 50), "ms", "", True),
        Figure("a clause by a service that answers in 20 ms p95", percentile(answering, 95), "ms", "", True),
        at_most("of it ours and the loopback's p95", percentile(ours_ms, 95), 5.0, "ms"),
        *_added("written", written_ms),
        *_added("spoken", spoken_ms),
        at_most("a clause while a service is dead p95", percentile(dead, 95), 5.0, "ms"),
        at_most(
            f"clauses of {len(dead)} that waited for the dead service", float(sum(ms > DEADLINE_MS / 2 for ms in dead)), 5.0, ""
        ),
    ]


@asynccontextmanager
async def _servers(url: str) -> AsyncIterator[list[Server]]:
    """The demo's agent on two servers: one whose guards ask the service in both directions, and one without."""
    screened: dict[str, object] = {
        "plugins": [{"name": "http", "options": {"url": url}, "deadline_ms": DEADLINE_MS, "if_late": "allow"}]
    }
    demo = demo_agent_file()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(shutil.copytree(demo.parent, Path(name) / "agent"))
        for file, guard in (("guarded", {"output": screened, "input": screened}), ("bare", {})):
            agent = {**msgspec.yaml.decode(demo.read_bytes()), "guard": guard}
            (folder / f"{file}.yaml").write_bytes(msgspec.yaml.encode(agent))
        async with (
            running("--config", str(folder / "guarded.yaml")) as guarded,
            running("--config", str(folder / "bare.yaml")) as bare,
        ):
            yield [guarded, bare]


async def _written(servers: list[Server]) -> list[list[float]]:
    """The waits for the answers to what is typed, from the caller's words in the history to the first audio, in ms; each
    question to one server after the other. There is no pause in which a reply could be begun before."""
    waits_ms: list[list[float]] = [[], []]
    async with aiohttp.ClientSession() as http:
        for call in range(WRITTEN_CALLS):
            sockets = [
                await http.ws_connect(
                    f"{server.url.replace('http', 'ws', 1)}/v1/realtime", headers={"Authorization": "Bearer any"}
                )
                for server in servers
            ]
            for socket in sockets:
                await _until(socket, "response.done")
            for number, question in enumerate(QUESTIONS[:WAITS_OF]):
                await asyncio.sleep(APART_S)
                for place in (0, 1) if (call + number) % 2 else (1, 0):
                    waits_ms[place].append(await _wait(sockets[place], question))
            for socket in sockets:
                await socket.close()
    return waits_ms


async def _wait(socket: aiohttp.ClientWebSocketResponse, question: str) -> float:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": question}]}
    await socket.send_json({"type": "conversation.item.create", "item": item})
    await _until(socket, "conversation.item.done")
    began = time.perf_counter()
    await socket.send_json({"type": "response.create"})
    await _until(socket, "response.output_audio.delta")
    waited_ms = (time.perf_counter() - began) * 1000
    await socket.send_json({"type": "response.cancel"})
    await _until(socket, "response.done")
    return waited_ms


async def _until(socket: aiohttp.ClientWebSocketResponse, name: str) -> None:
    async with asyncio.timeout(ANSWERED_S):
        while (await socket.receive_json())["type"] != name:
            pass


async def _spoken_to(servers: list[Server]) -> list[list[float]]:
    """The waits after spoken questions, from the end of the speech to the first audio, in ms; each to one server after the other.
    Mostly, a reply is begun in the pause, and so both checks of it."""
    waits_ms: list[list[float]] = [[], []]
    questions = QUESTIONS[:WAITS_OF]
    speeches = {text: spoken(text) for text in questions}
    for call in range(CALLS):
        async with (
            Caller(servers[0].url) as first,
            Dialogue(first) as guarded,
            Caller(servers[1].url) as second,
            Dialogue(second) as bare,
        ):
            await guarded.wait_greeting()
            await bare.wait_greeting()
            for number, question in enumerate(questions):
                pair = [math.nan, math.nan]
                for place in (0, 1) if (call + number) % 2 else (1, 0):
                    (exchange,) = await (guarded, bare)[place].turn(question, speeches[question], RATE_HZ)
                    pair[place] = exchange.voice_to_voice_ms or math.nan
                if not any(map(math.isnan, pair)):
                    for place, waited_ms in enumerate(pair):
                        waits_ms[place].append(waited_ms)
    return waits_ms


def _added(of: str, waits_ms: list[list[float]]) -> list[Figure]:
    """The waits with the guards against those without, answer by answer."""
    guarded, bare = waits_ms
    added_ms = [with_ms - without_ms for with_ms, without_ms in zip(guarded, bare, strict=True)]
    return [
        Figure(f"answers to {of} questions, each with and without the service", float(len(bare)), "", "", True),
        Figure("wait for their first audio without it p50", percentile(bare, 50), "ms", "", True),
        Figure("wait for their first audio without it p95", percentile(bare, 95), "ms", "", True),
        Figure(f"added to it p50 of {of} pairs", percentile(added_ms, 50), "ms", "", True),
        at_most(f"added to the p95 of {of} answers", percentile(guarded, 95) - percentile(bare, 95), 5.0, "ms"),
    ]


@asynccontextmanager
async def _service(answers_s: list[float] | None) -> AsyncIterator[str]:
    """A screening service, which notes the duration of each answer; without a list it never answers."""

    async def guard(request: web.Request) -> web.Response:
        began = time.perf_counter()
        await request.json()
        await (asyncio.Event().wait() if answers_s is None else asyncio.sleep(SERVICE_S))
        if answers_s is not None:
            answers_s.append(time.perf_counter() - began)
        return web.json_response({"flagged": False, "breakdown": []})

    app = web.Application()
    app.router.add_post("/v2/guard", guard)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v2/guard"
    finally:
        await runner.cleanup()


async def _checks(url: str, replies: list[str]) -> list[WindowCheck]:
    plugin = PluginSettings("http", {"url": url}, DEADLINE_MS, "allow")
    guards = load_guards(GuardSettings(output=OutputRules(secrets=False, cards=False, plugins=(plugin,))))
    checks: list[WindowCheck] = []
    for reply in itertools.cycle(replies):
        checks += await _spoken(guards, reply)
        if len(checks) >= SCREENED:
            break
    await guards.close()
    return checks


def _rules() -> OutputRules:
    """Every rule, with as many phrases as an operator may come to list."""
    phrases = ("acme rocket", *(f"blocked phrase number {number}" for number in range(PHRASES)))
    return OutputRules(
        phones=True, phrases=phrases, topics={"medicine": (r"\bdos(e|age)\b", r"\bdiagnos"), "politics": "election"}
    )


def _replies() -> list[str]:
    """Returns the lines of the held-out dialogues, by either side."""
    lines = (Path(__file__).parent / "bundled" / "held_out" / "lm.jsonl").read_bytes().splitlines()
    messages = [message for line in lines for message in msgspec.json.decode(line)["messages"]]
    return sorted({message["content"] for message in messages if message["role"] in ("assistant", "user") and message["content"]})


async def _spoken(guards: Guards, reply: str) -> list[WindowCheck]:
    """A reply token by token; what came of each check."""
    window = OutputWindow(guards.output, guards.window_tokens)
    checks = []
    for piece in re.findall(r"\s*\S{1,5}", reply):
        checked = await window.add(piece)
        if checked is not None:
            checks.append(checked)
            if checked.verdict.blocked:
                return checks
    rest = await window.finish()
    return [*checks, rest] if rest is not None else checks
