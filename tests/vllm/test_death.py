"""A real vLLM that is killed in the middle of a reply, and comes back: the call goes on all the time."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil

from bench.vllm_server import VllmServer, free_port, serving
from tests.server_process import running_server
from tests.vllm.test_calls import LONG, WEATHER, said
from tests.vllm.watch import RUNNING
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.resources import demo_agent_file

AGENT = """
name: Lasting
profile: vllm-cpu
tools: ["{tools}"]
turn: {{silence_timeout_s: 0}}
llm: {{base_url: "{url}", fallback: embedded, max_tokens: 1000}}
options: {{llm: {{request: {{ignore_eos: true}}}}}}
"""
"""vLLM's replies do not end by themselves, so that there is a middle; the fallback's do. At `base_url` is anybody's model: what
it writes is not held against what was said, which would end it."""
WRITTEN = "vllm:generation_tokens_total"


def kill(server: VllmServer) -> None:
    """All of its processes at once."""
    root = psutil.Process(server.process.pid)
    for process in [*root.children(recursive=True), root]:
        process.send_signal(signal.SIGKILL)
    server.process.wait()


@asynccontextmanager
async def served(log: Path, port: int) -> AsyncIterator[VllmServer]:
    """vLLM, while this process goes on with its call."""
    context = serving(log, port=port)
    server = await asyncio.to_thread(context.__enter__)
    try:
        yield server
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)


async def test_a_call_outlives_its_vllm_and_goes_back_to_it(tmp_path: Path) -> None:
    asked, interruption = await said(LONG), await said(WEATHER)
    port = free_port()
    agent = tmp_path / "agent.yaml"
    agent.write_text(AGENT.format(tools=demo_agent_file().parent / "tools.py", url=f"http://127.0.0.1:{port}/v1"))
    with running_server(tmp_path, "--config", str(agent)) as server:
        caller = Caller(server.url)
        async with caller, Dialogue(caller) as dialogue:
            async with served(tmp_path / "vllm.log", port) as vllm:
                since = dialogue.event_count
                caller.say(*asked)
                await dialogue.wait_event(lambda event: event.type == "voiceagent.heard", since, "the reply's first words")
                assert vllm.metrics()[RUNNING] == 1
                kill(vllm)
                caller.say(*interruption)
                await dialogue.wait_event(lambda event: event.type == "voiceagent.turn", since, "the broken reply's end")
            (turn,) = await dialogue.turn(WEATHER, *interruption)
            assert "Paris" in turn.heard
            async with served(tmp_path / "again.log", port) as vllm:
                since = dialogue.event_count
                caller.say(*asked)
                await dialogue.wait_event(lambda event: event.type == "voiceagent.heard", since, "vLLM's words")
                assert vllm.metrics()[WRITTEN] > 0
