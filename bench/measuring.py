"""What all measuring costs: the server's CPU at 20 calls with all of it on (counters, spans, times of turns, event logs, a JSON
log, OpenTelemetry, `/metrics` read every ten seconds) and with none, in pairs whose order alternates."""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import numpy as np
from aiohttp import web

from bench.harness import Figure, at_least, at_most, plain
from bench.measured_server import CPU
from bench.media import call_all
from bench.quiet import quiet_machine
from bench.real import BUNDLED
from bench.server import Server, running
from voiceagent.resources import demo_agent_file
from voiceagent.task_owner import running as running_task

NOTES = """
Each call is real: 20 callers by WebRTC in a process of their own ask for the time, wait, and ask again (15 s later; 40 s where
published models hear, answer and speak), on two cores. *off* is a server whose counters, spans, records and loop monitor were
taken out, which no setting can do. The parts are counted with a clock around each, in a further run; what the loop monitor does
on the event loop is in the pairs alone.
"""
CALLS = 20
SAID, GAP_S = "What time is it in Paris?", 15.0
PUBLISHED_GAP_S = 40.0
"""With published models, so that the calls of two cores do not wait for them."""
SECONDS, WARM_S = 50.0, 5.0
PAIRS = 12
SCRAPE_S = 10.0
MOST_PERCENT = 2.0
MOST_CORES = 1.5
"""Above it the calls would wait for the cores, and nothing would cost more."""
DRAWS = 10_000


@dataclass(frozen=True, slots=True)
class Run:
    """One server's calls."""

    cpu_ms: float
    """A call-second."""
    cores: float
    turns: float
    """Those in `/metrics`."""
    requests: int
    """Those that the collector got."""
    parts_ms: dict[str, float]
    """The CPU of each part, a call-second, where it was counted."""


def result_name(options: argparse.Namespace) -> str:
    """The name of the result: that of another profile says so."""
    profile = options.profile or BUNDLED
    return "measuring" if profile == BUNDLED else f"measuring_{profile}"


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: 35 minutes for 12 pairs; `--turns` is another number of pairs."""
    profile: str = options.profile or BUNDLED
    runs: dict[str, list[Run]] = {"on": [], "off": []}
    for number in range(options.turns or PAIRS):
        for mode in ("on", "off")[:: 1 if number % 2 else -1]:
            async with quiet_machine():
                runs[mode].append(await run(mode, profile))
            print(f"{mode}: {runs[mode][-1]}", flush=True)
    async with quiet_machine():
        counted = await run("counted", profile)
    return rows(runs["on"], runs["off"], counted)


def rows(on: Sequence[Run], off: Sequence[Run], counted: Run) -> Iterator[Figure]:
    """The figures of pairs of runs, and of one whose parts were counted."""
    more = np.array([(one.cpu_ms / other.cpu_ms - 1) * 100 for one, other in zip(on, off, strict=True)])
    means = np.random.default_rng(1).choice(more, (DRAWS, len(more))).mean(axis=1)
    low, high = np.percentile(means, (2.5, 97.5))
    yield Figure("calls at once", CALLS, "", "", True)
    yield Figure("pairs", len(more), "", "", True)
    for name, each in (("on", on), ("off", off)):
        yield plain(f"CPU a call-second, all measuring {name}", float(np.mean([one.cpu_ms for one in each])), "ms", 2)
    yield at_least("turns that a run counted, all measuring on, least", min(one.turns for one in on), CALLS, "")
    yield at_most("turns that a run counted, all measuring off, most", max(one.turns for one in off), 0, "")
    yield at_most("CPU of the server, most", round(max(one.cores for one in (*on, *off)), 2), MOST_CORES, "cores")
    yield at_most("all measuring: more CPU", round(float(more.mean()), 2), MOST_PERCENT, "%")
    yield plain("all measuring: more CPU, 95 % from", float(low), "%", 2)
    yield plain("all measuring: more CPU, 95 % to", float(high), "%", 2)
    yield at_least("requests to the collector, least", min(one.requests for one in on), 1, "")
    for part, ms in sorted(counted.parts_ms.items(), key=lambda one: -one[1]):
        yield plain(f"counted: {part}", ms / counted.cpu_ms * 100, "%", 2)
    yield at_most("counted: together", round(sum(counted.parts_ms.values()) / counted.cpu_ms * 100, 2), MOST_PERCENT, "%")


async def run(mode: str, profile: str) -> Run:
    """Start a server of that mode with the models of a profile, and make the calls."""
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name:
        async with _collector() as (otlp, came):
            agent = _agent(Path(name), "" if mode == "off" else otlp)
            options = ("--config", str(agent), "--profile", profile, *(() if mode == "off" else ("--log-format", "json")))
            async with running(*options, program=("bench.measured_server", mode, "serve")) as server:
                said = (SAID, str(GAP_S if profile == BUNDLED else PUBLISHED_GAP_S))
                await call_all(server.process, server.url, CALLS, WARM_S, *said)
                before = _parts_s(await _metrics(server))
                async with running_task(_scrape(server, mode), "scraping"):
                    measured = await call_all(server.process, server.url, CALLS, SECONDS, *said)
                text = await _metrics(server)
    parts_ms = {part: (cpu_s - before.get(part, 0.0)) * 1000 / CALLS / SECONDS for part, cpu_s in _parts_s(text).items()}
    (turns,) = re.findall(r"^voiceagent_turns_total (\S+)", text, re.MULTILINE)
    return Run(measured["cpu_cores"] * 1000 / CALLS, measured["cpu_cores"], float(turns), len(came), parts_ms)


def _agent(folder: Path, otlp: str) -> Path:
    demo = demo_agent_file()
    text = demo.read_text(encoding="utf-8")
    for name in ("tools.py", "endpointing.json"):
        text = text.replace(name, str(demo.parent / name))
    keep = f"records: {{keep: event_logs}}\ntelemetry: {{otlp: '{otlp}'}}" if otlp else "records: {keep: nothing}"
    (folder / "agent.yaml").write_text(f"{text}\nadmission: {{max_calls: {2 * CALLS}}}\n{keep}\n", encoding="utf-8")
    return folder / "agent.yaml"


@asynccontextmanager
async def _collector() -> AsyncIterator[tuple[str, list[int]]]:
    """An address that takes what comes, and the sizes of it."""
    came: list[int] = []

    async def take(request: web.Request) -> web.Response:
        came.append(len(await request.read()))
        return web.Response()

    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/{signal}", take)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", came
    finally:
        await runner.cleanup()


async def _scrape(server: Server, mode: str) -> None:
    while mode != "off":
        await asyncio.sleep(SCRAPE_S)
        await _metrics(server)


async def _metrics(server: Server) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"{server.url}/metrics") as response:
        return await response.text()


def _parts_s(metrics: str) -> dict[str, float]:
    return {part: float(cpu_s) for part, cpu_s in re.findall(CPU + r'\{part="([^"]+)"\} (\S+)', metrics)}
