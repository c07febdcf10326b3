"""`voiceagent bench load`: more and more calls at a time to a server, and the most of them that are within its latency budget."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import tempfile
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import urlsplit

import click
import msgspec
import numpy as np
from numpy.typing import NDArray

from voiceagent import __version__
from voiceagent.addresses import is_loopback
from voiceagent.audio.format import PLAYED_HZ
from voiceagent.audio.resample import resample
from voiceagent.capacity.load_result import MIN_TURNS, LoadResult, LoadStep
from voiceagent.cli.output import format_json_option, write_output
from voiceagent.cli.tables import plain_table, show
from voiceagent.client.signalling import about
from voiceagent.client.voices import best_voice, named_voice
from voiceagent.engines import load_tts
from voiceagent.errors import ConfigError, MediaError
from voiceagent.load.callers import CallerJob
from voiceagent.load.ramp import CALLERS_LATE_MS, LoadPlan, climb, steps_to
from voiceagent.load.watched_server import WatchedServer
from voiceagent.models.registry import registry
from voiceagent.scenarios.agent_server import served
from voiceagent.scenarios.speech_caller import RATE_HZ as SPOKEN_HZ
from voiceagent.scenarios.speech_caller import speaker
from voiceagent.tts.clips import read_wav
from voiceagent.vad.detector import has_speech

QUESTIONS = (
    "What time is it in Paris?",
    "What's the weather in London tomorrow?",
    "What is 12 plus 30?",
    "Set a timer for 10 minutes.",
    "How are you?",
    "What can you do?",
)
"""Questions to the demo agent."""
MAX_FILES = 100
MAX_SPEECH_S = 30
MAX_CALLS = 10_000
NOT_WITHIN = 1


class Numbers(click.ParamType[tuple[int, ...]]):
    """Numbers of calls with commas between them."""

    name = "N[,N…]"

    def __init__(self, most: int) -> None:
        self._most = most

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Fails for anything else."""
        parts = str(value).split(",")
        if not all(re.fullmatch(r"\s*\d{1,9}\s*", part) and 1 <= int(part) <= self._most for part in parts):
            self.fail(f"{str(value)[:40]!r}; expected numbers from 1 to {self._most}, such as 8 or 1,3,6", param, ctx)
        return tuple(int(part) for part in parts)


@click.command(
    epilog="""\b
Examples:
  voiceagent bench load --calls 8 --ramp                   1 to 8 calls of the demo agent, on a server of its own
  voiceagent bench load --calls 1,3,6 --hold 240           these steps, each for four minutes
  voiceagent bench load --calls 40 --ramp --url https://agent.example.com --token KEY
  voiceagent bench load --calls 4 --speech recordings/     people's voices: WAV and FLAC files
  voiceagent bench load --calls 8 --ramp --format json --out load.json && voiceagent plan --measured load.json

Each caller asks, listens, pauses, and calls again after some turns. The callers are in processes of their own, but need
processor time, too: run them on another machine where the server has few cores.

Exit codes: 0 the first step is within the budget, 1 it is not, 2 wrong usage."""
)
@click.option("--calls", required=True, type=Numbers(MAX_CALLS), help="Calls at a time; several numbers are steps.")
@click.option("--ramp", is_flag=True, help="Reach the number in up to eight steps; end after two that are over the budget.")
@click.option("--url", default="", help="A server that runs. Default: one is started.")
@click.option("--token", envvar="VOICEAGENT_KEY", show_envvar=True, default="", help="A key of that server for the calls.")
@click.option("--metrics-token", envvar="VOICEAGENT_METRICS_KEY", show_envvar=True, default="", help="A key of it for /metrics.")
@click.option("--agent", type=click.Path(path_type=Path), help="The started server's agent.yaml. Default: the demo agent.")
@click.option("--profile", default="", help="The started server's profile.")
@click.option("--leg", type=click.Choice(["webrtc", "websocket"]), default="webrtc", show_default=True, help="How the calls go.")
@click.option(
    "--hold", "hold_s", type=click.FloatRange(5, 86_400), help="Seconds of a step. Default: 60, or more with fewer than 4 calls."
)
@click.option(
    "--settle", "settle_s", default=15.0, show_default=True, type=click.FloatRange(0, 3600), help="Seconds before, not measured."
)
@click.option("--say", "texts", multiple=True, help="What the callers ask; may be given several times.")
@click.option("--voice", "voice_name", default="", metavar="NAME|PATH", help="Who speaks it. Default: the best that is here.")
@click.option("--speech", type=click.Path(path_type=Path), help="A folder of WAV or FLAC files to speak instead.")
@click.option("--turns", default=6, show_default=True, type=click.IntRange(1, 1000), help="Turns of a call.")
@click.option(
    "--pause", "pause_s", default=2.0, show_default=True, type=click.FloatRange(0, 600), help="Seconds between turns, on average."
)
@click.option("--callers", default=8, show_default=True, type=click.IntRange(1, 100), help="Callers a process carries.")
@click.option("--timeout", "timeout_s", default=20.0, show_default=True, type=click.FloatRange(1, 600), help="Longest wait.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="For pauses and the order of questions.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@format_json_option
@click.option("--out", type=click.Path(path_type=Path), help="Write the JSON to this file; the text goes to the terminal.")
def load(
    calls: tuple[int, ...],
    ramp: bool,
    url: str,
    token: str,
    metrics_token: str,
    agent: Path | None,
    profile: str,
    leg: str,
    hold_s: float | None,
    settle_s: float,
    texts: tuple[str, ...],
    voice_name: str,
    speech: Path | None,
    turns: int,
    pause_s: float,
    callers: int,
    timeout_s: float,
    seed: int,
    form: str,
    as_json: bool,
    out: Path | None,
) -> int:
    """Make more and more calls at a time over real WebRTC, and find the most that a server carries within its latency budget, and
    what binds."""
    logging.getLogger("aioice").setLevel(logging.ERROR)
    form = "json" if as_json else form
    if url and (agent or profile):
        raise click.UsageError("--url calls a server that runs; --agent and --profile belong to one that is started")
    if speech is not None and (texts or voice_name):
        raise click.UsageError("--speech is spoken as it is; --say and --voice belong to text")
    if out is not None and form == "text":
        raise click.UsageError("--out needs --format json")
    recorded = {} if speech is None else read_recordings(speech)
    steps = steps_to(calls, ramp=ramp)
    here = not url or is_loopback(urlsplit(url).hostname or "")
    with (
        tempfile.TemporaryDirectory(prefix="voiceagent-load-") as folder,
        nullcontext(url.rstrip("/")) if url else served(agent, profile, "--max-calls", str(min(1000, 2 * max(steps)))) as address,
    ):
        speeches = recorded or asyncio.run(_spoken(texts or QUESTIONS, voice_name, address, token))
        file = os.path.join(folder, "speech.npz")
        np.savez(file, *speeches.values())
        job = CallerJob(address, token, leg, file, list(speeches), turns, pause_s, timeout_s, seed)
        plan = LoadPlan(steps, settle_s, hold_s, callers, here, ramp, job)
        result = asyncio.run(_measure(plan, metrics_token or token, quiet=form != "text" and out is None))
    if form == "json":
        write_output(msgspec.json.encode(result).decode() + "\n", out)
    return 0 if result.highest else NOT_WITHIN


def read_recordings(folder: Path) -> dict[str, NDArray[np.int16]]:
    """The first `MAX_FILES` recordings in which somebody speaks. Raises ConfigError."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in (".wav", ".flac"))
    found = {}
    for file in files[:MAX_FILES]:
        pcm = read_wav(file, PLAYED_HZ, MAX_SPEECH_S)
        if has_speech(pcm, PLAYED_HZ):
            found[str(file.relative_to(folder))] = pcm
    if not found:
        raise ConfigError(f"--speech {folder}: no WAV or FLAC file in which somebody speaks; name a folder of recordings")
    return found


async def _spoken(texts: tuple[str, ...], voice_name: str, url: str, token: str) -> dict[str, NDArray[np.int16]]:
    known = registry()
    voice = named_voice(known, voice_name) if voice_name else best_voice(known, await about(url, token or None))
    engine = load_tts(voice.spec)
    try:
        speak = speaker(engine)
        return {text: resample(await speak(text), SPOKEN_HZ, PLAYED_HZ) for text in texts}
    finally:
        await engine.close()


async def _measure(plan: LoadPlan, metrics_key: str, *, quiet: bool) -> LoadResult:
    async with WatchedServer(plan.job.url, metrics_key, plan.job.token) as watched:
        profile, limits = await watched.limits()
        limits_ms = {"p50": limits.p50_ms, "p95": limits.p95_ms, "p99": limits.p99_ms}
        result = LoadResult(
            *(__version__, plan.job.url, profile, plan.job.leg, plan.callers_here, plan.callers_a_process, plan.job.pause_s),
            limits_ms,
            [],
        )
        if not quiet:
            click.echo(
                f"{profile}: voice to voice within {limits.p50_ms:.0f} ms p50, {limits.p95_ms:.0f} ms p95; "
                f"{plan.callers_a_process} callers a process, by {plan.job.leg}"
            )

        def tell(step: LoadStep) -> None:
            result.steps.append(step)
            if not quiet:
                click.echo(f"{step.calls} at a time: {', '.join(step.misses(limits)) or 'within the budget'}")

        try:
            await climb(plan, watched, limits, tell)
        except MediaError as error:
            if not result.steps:
                raise
            click.echo(f"error: the load test broke off: {error}", err=True)
    if not quiet:
        _show(result)
    return result


def _show(result: LoadResult) -> None:
    right = ("calls", "turns", "p50", "p95", "mean", "refused", "failed", "late audio", "cores", "loop lag", "callers")
    table = plain_table("", *right, "fullest", right=right)
    for step in result.steps:
        waits = step.waits
        table.add_row(
            str(step.calls),
            str(len(step.turns)),
            *(["-", "-"] if waits is None else [f"{waits.p50_ms:.0f} ms", f"{waits.p95_ms:.0f} ms"]),
            f"{step.mean_ms:.0f} ms",
            str(len(step.refused)),
            str(len(step.failed)),
            f"{step.gaps:.2%}",
            f"{step.server.cores_used:.2f} of {step.server.cores}",
            f"≤ {step.server.lag_p99_ms:g} ms",
            f"{step.callers_cores:.2f}",
            ", ".join(f"{name} {share:.0%}" for name, share in step.binding()[:3]),
        )
    show(table)
    for line in dict.fromkeys(line for step in result.steps for line in (*step.failed[:3], *step.refused[:2])):
        click.echo(f"problem: {line}")
    if any(step.callers_lag_p99_ms > CALLERS_LATE_MS for step in result.steps):
        click.echo("The callers' own event loops ran late: give them another machine, or fewer --callers a process.")
    click.echo(_answer(result))


def _answer(result: LoadResult) -> str:
    told = f"Calls at a time within the budget: {result.highest or 'none that was tried'}."
    over = next((step for step in result.steps if step.calls > result.highest), None)
    if over is None:
        (name, share), *_ = result.steps[-1].binding()
        return f"{told} No more were tried. {name.capitalize()} binds next: {share:.0%} of it is used."
    told = f"{told} Not within it: {over.calls} ({', '.join(over.misses(result.limits))})."
    if len(over.turns) < MIN_TURNS:
        return told
    (name, share), (next_name, next_share), *_ = over.binding()
    return f"{told} {name.capitalize()} binds ({share:.0%} used), then {next_name} ({next_share:.0%})."
