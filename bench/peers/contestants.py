"""The processes of the comparison: voiceagent and Pipecat (twice, with other settings), each with a language model server of its
own, so that its requests can be told from the others'. Each answers calls at an address, and is measured from outside."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import psutil
import yaml

from bench.llm_server import MODEL
from bench.peers.caller import SmallWebRtcCaller
from bench.program import ROOT, answering
from bench.server import running
from voiceagent.client.caller import Caller
from voiceagent.models.registry import Profile, profile, resolve
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.stt.whisper import WhisperOptions

Encoder = Literal["bundled", "short", "stock"]
"""The Whisper class that Pipecat runs: on the bundled model voiceagent's, the only one that can; on a published one voiceagent's,
which encodes the audio there is, or faster-whisper's own, which pads it to 30 s."""
SHORT_ENCODER = ("margin_frames", "margin_fill", "min_frames", "step_frames")
"""Options of a profile's Whisper that are those of the short encoder."""
OURS, DEFAULT, FASTEST = "voiceagent", "Pipecat, defaults", "Pipecat, fastest"


@dataclass(frozen=True, slots=True)
class Entry:
    """One of Pipecat's servers in the comparison."""

    name: str
    settings: str
    """`default` or `fastest`."""
    encoder: Encoder


ON_BUNDLED = (Entry(DEFAULT, "default", "bundled"), Entry(FASTEST, "fastest", "bundled"))


@dataclass(frozen=True, slots=True)
class Llm:
    """A language model server."""

    url: str
    process: psutil.Process
    log: Path
    """A JSON line for each of its requests."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """A server that answers calls."""

    name: str
    url: str
    process: psutil.Process
    caller: type[Caller]
    llm: Llm


@dataclass(frozen=True, slots=True)
class Asked:
    """One request to the language model."""

    words: str
    """The caller's last words."""
    outcome: str


def cpu_s(process: psutil.Process) -> float:
    """Processor seconds of a process and its children so far, user and system."""
    total = 0.0
    for one in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = one.cpu_times()
            total += times.user + times.system
    return total


def memory_mb(process: psutil.Process) -> float:
    """Resident memory of a process and its children, in units of 10⁶ bytes."""
    return sum(one.memory_info().rss for one in (process, *process.children(recursive=True))) / 1e6


def asked_since(log: Path, offset_bytes: int) -> list[Asked]:
    """The requests that the language model server noted after `offset_bytes` of its log."""
    with log.open("rb") as file:
        file.seek(offset_bytes)
        lines = file.read().decode().splitlines()
    return [Asked(str(data["user"]), str(data["outcome"])) for data in map(json.loads, lines)]


@asynccontextmanager
async def contestants(
    pipecat_python: Path, entries: Sequence[Entry] = ON_BUNDLED, profile_name: str = "embedded"
) -> AsyncIterator[tuple[Contestant, ...]]:
    """Start voiceagent on a profile and Pipecat's entries on the profile's Whisper and voice, wait until they answer, end it all.
    Raises RuntimeError with the end of the log of what did not start."""
    spoken_by = profile(profile_name)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="voiceagent-peers-")))
        llm = await stack.enter_async_context(language_model(folder, "ours"))
        server = await stack.enter_async_context(running("--config", str(_agent(folder, llm.url)), "--profile", profile_name))
        found = [Contestant(OURS, server.url, server.process, Caller, llm)]
        for entry in entries:
            label = f"{entry.settings}-{entry.encoder}"
            llm = await stack.enter_async_context(language_model(folder, label))
            command = (str(pipecat_python), *pipecat_command(entry, llm.url, spoken_by, demo_agent_file()))
            url, process = await stack.enter_async_context(answering(folder / f"{label}.log", *command))
            found.append(Contestant(entry.name, url, process, SmallWebRtcCaller, llm))
        yield tuple(found)


@asynccontextmanager
async def language_model(folder: Path, name: str, profile_name: str = "embedded") -> AsyncIterator[Llm]:
    """Start a server of a profile's language model, whose logs go to `folder`, and end it."""
    requests = folder / f"{name}.jsonl"
    requests.touch()
    command = (sys.executable, "-m", "bench.llm_server", "--profile", profile_name, "--log", str(requests))
    async with answering(folder / f"{name}-llm.log", *command) as (url, process):
        yield Llm(url, process, requests)


def _agent(folder: Path, llm_url: str) -> Path:
    """The demo agent, with the language model server in place of the engine inside."""
    demo = load_agent(demo_agent_file())
    settings = yaml.safe_load(demo_agent_file().read_text(encoding="utf-8"))
    settings["tools"] = [str(Path(demo.base_dir) / tool) for tool in demo.tools if isinstance(tool, str)]
    settings["llm"] = {"base_url": llm_url, "model": MODEL}
    if demo.turn.endpointing:
        settings["turn"]["endpointing"] = str(Path(demo.base_dir) / demo.turn.endpointing)
    file = folder / "agent.yaml"
    file.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return file


def pipecat_command(entry: Entry, llm_url: str, models: Profile, agent: Path) -> tuple[str, ...]:
    """Arguments for Pipecat's interpreter: its server, with an agent's instructions, greeting and tools."""
    whisper, voice = resolve(models.stt.model), resolve(models.tts.model)
    options = msgspec.convert(models.stt.options, WhisperOptions)
    short = {name: getattr(options, name) for name in SHORT_ENCODER}
    return (
        "-P", str(ROOT / "bench" / "peers" / "pipecat_server.py"), "--settings", entry.settings, "--llm", llm_url,
        "--agent", str(agent), "--whisper", str(whisper), "--voice", str(voice / "voice.onnx"),
        "--encoder", entry.encoder, "--short", json.dumps(short),
    )  # fmt: skip
