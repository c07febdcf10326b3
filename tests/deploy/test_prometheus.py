"""A real Prometheus reads a real server with real calls: each panel of the dashboard shows something, and alerts fire."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
import yaml
from aiohttp import web

from tests.calls.scripted_model import Message, ScriptedModel
from tests.deploy.test_monitoring import DASHBOARD, DEPLOY
from tests.fakes import Said
from tests.guard.screening_service import ScreeningService
from tests.loopback import on_loopback
from tests.programs import program
from tests.server_process import ServerProcess, running_server
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.errors import MediaError
from voiceagent.realtime.event_allowance import EVENTS_AT_ONCE
from voiceagent.scenarios.text_caller import TextCaller

KEY, METRICS_KEY = "caller-key-of-a-test", "metrics-key-of-a-test"
TOOLS = '''
import time
from voiceagent.tools import tool

@tool(effect="none")
async def get_order(number: str) -> str:
    """Look up an order.

    Args:
        number: The order's number.
    """
    time.sleep(0.02)  # holds the event loop, as no tool should
    return "on its way"
'''
AGENT = """
tools: [own_tools.py]
llm: {{base_url: '{model}/v1', model: m}}
context: [{{folder: handbook}}]
admission: {{max_calls: 2}}
guard:
  output: {{phrases: [forbidden], plugins: [{{name: http, options: {{url: '{guard}/v2/guard'}}, deadline_ms: 2000}}]}}
steps:
  first:
    values: {{phone: {{collect: phone}}}}
    next: [{{to: last}}]
  last: {{}}
"""
pytestmark = pytest.mark.asyncio(loop_scope="module")
NOT_HERE = re.compile(r"vllm:|voiceagent_handoffs")
"""Metrics of vLLM, which tests/vllm holds against a real one, and of agents that hand calls off."""
SEEN = (
    *('voiceagent_steps_total{step="first"}', 'voiceagent_guard_hits_total{rule="output: phrases"}'),
    *('voiceagent_guard_checks_total{outcome="output: http: answered"}', 'voiceagent_values_total{stage="collecting"}'),
    *('voiceagent_calls_refused_total{reason="server_full"}', "voiceagent_speculative_replies_total"),
    'voiceagent_stage_seconds_count{stage="barge_in_stop"}',
)
"""Counts whose first increase Prometheus must have seen: before it, there is a 0."""
WAIT_S = 90.0
LONG = "Here is a long answer, which goes on for a while, and then says more, until somebody interrupts it."


class Model(ScriptedModel):
    """Says what the last words ask for. `slow_s` and `is_broken` are the faults."""

    def __init__(self) -> None:
        super().__init__(self._say)
        self.slow_s = 0.0
        self.is_broken = False

    @staticmethod
    def _say(messages: list[Message]) -> str | tuple[str, str]:
        last = str(messages[-1]["content"])
        if messages[-1]["role"] == "tool":
            return LONG
        if "order" in last:
            return ("get_order", '{"number": "48213"}')
        return "That is forbidden." if "forbidden" in last else "Until ten."

    async def complete(self, request: web.Request) -> web.StreamResponse:
        if self.is_broken:
            return web.json_response({"error": {"message": "on purpose"}}, status=500)
        await asyncio.sleep(self.slow_s)
        return await super().complete(request)


@dataclass
class Watched:
    """A server, its language model, and the Prometheus that reads it."""

    server: ServerProcess
    model: Model
    prometheus: str

    async def ask(self, query: str) -> list[Any]:
        """The answer's samples, without those that are no number."""
        url, asked = f"{self.prometheus}/api/v1/query", {"query": query}
        async with aiohttp.ClientSession() as session, session.get(url, params=asked) as response:
            if response.status == 503:  # it is still starting
                return []
            found = await response.json()
        assert found["status"] == "success", (query, found)
        return [sample for sample in found["data"]["result"] if sample["value"][1] != "NaN"]

    async def until(self, query: str) -> list[Any]:
        """Wait until the query has an answer."""
        try:
            async with asyncio.timeout(WAIT_S):
                while True:
                    if found := await self.ask(query):
                        return found
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise AssertionError(f"no answer within {WAIT_S:g} s: {query}") from None

    async def until_fired(self, alert: str) -> str:
        """Wait until the alert fires. Returns its summary."""
        await self.until(f'ALERTS{{alertname="{alert}", alertstate="firing"}}')
        async with aiohttp.ClientSession() as session, session.get(f"{self.prometheus}/api/v1/alerts") as response:
            alerts = (await response.json())["data"]["alerts"]
        return next(str(one["annotations"]["summary"]) for one in alerts if one["labels"]["alertname"] == alert)

    async def write(self, text: str) -> None:
        """A call in writing."""
        async with TextCaller(self.server.url, KEY, WAIT_S) as caller:
            await caller.say(text)


@asynccontextmanager
async def watched(folder: Path) -> AsyncIterator[Watched]:
    """All of it on loopback. Ten minutes of an alert are five seconds, an hour is as long as the test."""
    model, port = Model(), free_port()
    app = web.Application()
    app.router.add_get("/v1/models", model.models)
    app.router.add_post("/v1/chat/completions", model.complete)
    (folder / "own_tools.py").write_text(TOOLS)
    (folder / "handbook").mkdir()
    (folder / "handbook" / "house.md").write_text("# Breakfast\n\nBreakfast is served from seven to ten in the hall.\n")
    async with on_loopback(app) as model_url, on_loopback(ScreeningService().app) as guard_url, AsyncExitStack() as stack:
        (folder / "agent.yaml").write_text(AGENT.format(model=model_url, guard=guard_url))
        options = ("--config", str(folder / "agent.yaml"))
        starting = running_server(folder, *options, environment={"VOICEAGENT_KEYS": KEY, "VOICEAGENT_METRICS_KEYS": METRICS_KEY})
        inside = ExitStack()  # in a thread, because the model answers from this loop while the server starts and stops
        stack.push_async_callback(asyncio.to_thread, inside.close)
        server = await asyncio.to_thread(inside.enter_context, starting)
        stack.enter_context(prometheus(folder, server.url.removeprefix("http://"), port))
        yield Watched(server, model, f"http://127.0.0.1:{port}")


@contextmanager
def prometheus(folder: Path, target: str, port: int) -> Iterator[None]:
    """Our configuration and our rules, with times of a test, in a Prometheus of its own."""
    (folder / "metrics.key").write_text(METRICS_KEY)
    settings = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    settings["global"] = {"scrape_interval": "250ms", "scrape_timeout": "250ms", "evaluation_interval": "250ms"}
    agent = settings["scrape_configs"][0]
    agent["authorization"]["credentials_file"] = str(folder / "metrics.key")
    agent["static_configs"][0]["targets"] = [target]
    (folder / "prometheus.yml").write_text(yaml.safe_dump({**settings, "scrape_configs": [agent]}))
    rules = re.sub(r"for: \w+", "for: 500ms", (DEPLOY / "prometheus" / "alerts.yml").read_text())
    (folder / "alerts.yml").write_text(rules.replace("[10m]", "[5s]"))
    command = [
        *(program("prometheus", "prometheus"), f"--config.file={folder}/prometheus.yml"),
        *(f"--storage.tsdb.path={folder}/prometheus", f"--web.listen-address=127.0.0.1:{port}"),
    ]
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_open(process, port)
            yield
        finally:
            process.terminate()
            process.wait(10)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def wait_open(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until it listens."""
    while process.poll() is None:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        time.sleep(0.05)
    raise AssertionError("Prometheus did not start")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def one(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Watched]:
    async with watched(tmp_path_factory.mktemp("prometheus")) as running:
        await running.until("up == 1")
        yield running


async def test_every_panel_shows_something_of_real_calls(one: Watched, said: Said) -> None:
    (order, rate_hz), (no, _) = await said("Where is my order?"), await said("No, when is breakfast?")
    async with Caller(one.server.url, KEY) as caller, Dialogue(caller) as dialogue:

        async def write() -> None:
            async with TextCaller(one.server.url, KEY, WAIT_S) as second:
                await second.say("Say what is forbidden.")
                with pytest.raises(MediaError, match="503"):
                    await one.write("This call is one too many.")

        await asyncio.gather(dialogue.turn("order", order, rate_hz, interrupt_with=("no", no)), write())
        for _ in range(2 * int(EVENTS_AT_ONCE)):
            caller.send_event({"type": "input_audio_buffer.clear"})
        await one.until("sum(increase(voiceagent_queue_drops_total[1m])) > 0")
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            if not NOT_HERE.search(target["expr"]):
                await one.until(target["expr"].replace("$__rate_interval", "1m"))
    for counted in SEEN:
        await one.until(f"increase({counted}[1m]) > 0")


async def test_alerts_fire_for_a_slow_model_a_broken_one_and_a_server_that_is_gone(one: Watched, said: Said) -> None:
    await one.until("voiceagent_calls_active == 0")
    one.model.slow_s = 1.5
    async with Caller(one.server.url, KEY) as caller, Dialogue(caller) as dialogue:
        since = dialogue.event_count
        caller.say(*await said("When is breakfast?"))
        await dialogue.wait_event(lambda event: event.type == "output_audio_buffer.started", since, "an answer")
    assert re.search(r"Callers wait [12]\.\d\d s \(p95\)", await one.until_fired("SlowAnswers"))
    one.model.slow_s, one.model.is_broken = 0.0, True
    for _ in range(5):
        await one.until("voiceagent_calls_active == 0")
        with pytest.raises(MediaError, match="the server reported"):
            await one.write("When is breakfast?")
    assert "The engine llm does not work" in await one.until_fired("EngineDown")
    assert re.match(r"\d replies failed", await one.until_fired("RepliesFail"))
    one.server.process.terminate()
    assert "nobody can call" in await one.until_fired("AgentDown")
