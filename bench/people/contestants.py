"""The servers that people's turns are spoken to: voiceagent once for each manner of taking turns, and Pipecat with its documented
defaults, all on one profile's models and with the same instructions. Each is a process of its own."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench.peers.caller import SmallWebRtcCaller
from bench.peers.contestants import Entry, language_model, pipecat_command
from bench.peers.environment import pipecat_python, pipecat_version
from bench.program import answering
from bench.server import running
from voiceagent.client.caller import Caller
from voiceagent.models.registry import profile

AGENT = """
name: Front desk
phrases: {greeting: "Hello, how can I help you?"}
instructions: You answer the telephone of a town hall. Answer in one short sentence.
"""
AS_SHIPPED = "default"
"""The manner of an agent that names none."""
PIPECAT = Entry("Pipecat, defaults", "default", "short")


@dataclass(frozen=True, slots=True)
class Contestant:
    """A server that answers calls."""

    name: str
    url: str
    caller: type[Caller]
    manner: str = ""
    """The manner of voiceagent; empty for a peer."""


def agent(manner: str) -> str:
    """The agent's YAML in that manner."""
    settings = yaml.safe_load(AGENT)
    if manner != AS_SHIPPED:
        settings["turn"] = {"manner": manner}
    return yaml.safe_dump(settings)


@asynccontextmanager
async def contestants(manners: Sequence[str], profile_name: str, *, with_peer: bool) -> AsyncIterator[list[Contestant]]:
    """Start voiceagent in each manner, and Pipecat if wanted; wait until they answer; end them. Raises RuntimeError with the end
    of the log of what did not start."""
    python = await asyncio.to_thread(pipecat_python) if with_peer else None
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="voiceagent-people-")))
        found = []
        for manner in manners:
            file = folder / f"{manner}.yaml"
            file.write_text(agent(manner), encoding="utf-8")
            server = await stack.enter_async_context(running("--config", str(file), "--profile", profile_name))
            found.append(Contestant(f"voiceagent, {manner}", server.url, Caller, manner))
        if python is not None:
            file = folder / "peer.yaml"
            file.write_text(AGENT, encoding="utf-8")
            llm = await stack.enter_async_context(language_model(folder, "peer", profile_name))
            command = (str(python), *pipecat_command(PIPECAT, llm.url, profile(profile_name), file))
            url, _ = await stack.enter_async_context(answering(folder / "peer.log", *command))
            found.append(Contestant(f"Pipecat {pipecat_version()}, defaults", url, SmallWebRtcCaller))
        yield found
