"""The cost of an agent's steps to the language model: the time to first token, and the tokens that are read, in turns within a
step, at the change of the step and in the turn after it. A written call of `examples/clinic` with the rules of a house in front,
walked by the turn engine: every prompt and what is read ahead are its own. On vLLM's CPU build with the bundled model, and on the
embedded engine with the bundled model and with that of `starter`. It runs in an environment that has vLLM, as `vllm` does."""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path

import aiohttp
import msgspec

from bench.harness import Figure, at_most, plain
from bench.vllm_load import Watch, engine
from bench.vllm_server import installed, serving
from voiceagent.call.rules import rules_of, step_tools
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.rules import ReplyRules
from voiceagent.conversation.steps import NOTE
from voiceagent.errors import ConfigError, EngineError
from voiceagent.latency.budgets import percentile
from voiceagent.llm.embedded.embedded import create
from voiceagent.llm.engine import LlmEngine, TokenCount
from voiceagent.models.registry import profile, resolve
from voiceagent.settings.agent import AgentConfig, load_agent
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet

EXAMPLE = Path(__file__).parents[1] / "examples" / "clinic" / "agent.yaml"
CALLS = 12
RULES = 40
"""Sentences of house rules: an operator's instructions are longer than an example's."""
WITHIN, CHANGE, AFTER = "within a step", "at the change of the step", "in the turn after the change"
REPLY = "Certainly, I have written that down for you. What else may I do?"
TALK = (
    ("Hello, is this the practice?", None),
    ("I was there last year with my knee.", None),
    ("It hurts again when I climb the stairs.", None),
    ("So I need an appointment, please.", "appointment"),
    ("Any day of the next week is fine.", None),
    ("In the morning it is easier for me.", None),
)
"""The caller's turns, and the reason that the model notes in them."""
NOTES = """
A call has six turns. In the fourth the model notes values, and the reply goes on in the next step: its second request is the
one *at the change*. Only the agent's own instructions, which stand first, are the same there: behind them come the
instructions, the known values and the tools of the step, and then the conversation. All of that is read once more, and before
and after it no more than the caller's words. What was said after each reply is read ahead, as in a call. *Tokens read* are
those of a request's prompt that were in no cache, as the engine counts them. vLLM's cache has blocks of at least 16 tokens, and
calls share it; each call has another name among its values. Medians; the first turn of a call is left out.
"""


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """The figures: about three minutes on two cores."""
    if not installed():
        raise ConfigError("vLLM is not in this environment; run scripts/install-vllm.sh, and this with its python")
    figures = []
    with tempfile.TemporaryDirectory(prefix="voiceagent-bench-") as name, serving(Path(name) / "vllm.log") as server:
        talker = engine(server, 1, random_weights=False)
        async with aiohttp.ClientSession() as session:
            watch = Watch(server, session)

            async def read() -> float:
                found = await watch.metrics()
                return found["vllm:prefix_cache_queries_total"] - found["vllm:prefix_cache_hits_total"]

            figures += await _figures("vLLM", talker, read)
        await talker.close()
    for label, name in (("embedded, bundled model", "embedded"), ("embedded, starter's model", "starter")):
        spec = profile(name).llm
        local: LlmEngine = create(resolve(spec.model), {**spec.options, "max_tokens": 1})
        figures += await _figures(label, local)
        await local.close()
    return figures


async def _figures(label: str, model: LlmEngine, read: Callable[[], Awaitable[float]] | None = None) -> list[Figure]:
    agent = _agent()
    took: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for number in range(CALLS + 1):
        call = _Call(agent, model, f"call {number}", read)
        await call.run()
        if number:  # the first one warms the engine up
            for kind, measured in call.took.items():
                took[kind] += measured
        await call.close()
    figures = []
    for kind in (WITHIN, CHANGE, AFTER):
        figures.append(plain(f"{label}: time to first token {kind}", percentile([ms for ms, _ in took[kind]], 50), "ms"))
        figures.append(plain(f"{label}: tokens read {kind}", percentile([tokens for _, tokens in took[kind]], 50), "", 0))
    within, after = (percentile([tokens for _, tokens in took[kind]], 50) for kind in (WITHIN, AFTER))
    figures.append(at_most(f"{label}: tokens read after the change beyond those within a step", after - within, 32, ""))
    return figures


def _agent() -> AgentConfig:
    agent = load_agent(EXAMPLE)
    rules = " ".join(
        f"Rule {number}: if somebody asks for thing {number}, say that the practice has it." for number in range(RULES)
    )
    return msgspec.structs.replace(agent, instructions=f"{agent.instructions} {rules}")


class _Call:
    """One written call: the turn engine's requests go to the model, and what the model is to have answered goes back."""

    def __init__(self, agent: AgentConfig, model: LlmEngine, call_id: str, read: Callable[[], Awaitable[float]] | None) -> None:
        self.took: dict[str, list[tuple[float, float]]] = defaultdict(list)
        """The times of requests and the tokens read for them, by kind."""
        tools = ToolSet.from_config(agent.tools, agent.base_dir)
        self._tools = CallTools(tools, steps=step_tools(agent))
        rules = rules_of(agent, tools, limits=model.limits)
        phrases = msgspec.structs.replace(rules.phrases, greeting="")
        self._state = machine.start(msgspec.structs.replace(rules, phrases=phrases, replies=ReplyRules(text_only=True)))
        self._session = model.open(call_id)
        self._read = read
        self._now_ms = 0.0
        self._call_id = call_id
        self._notes: dict[str, str] = {}
        self._kind = ""

    async def run(self) -> None:
        """Talk. The first turn is not measured: nothing was read before it."""
        await self._feed(ev.CallStarted(0.0))
        changed = False
        for number, (said, reason) in enumerate(TALK):
            self._notes = {"reason": reason, "surname": f"Miller of {self._call_id}"} if reason else {}
            self._kind = "" if not number else AFTER if changed else WITHIN
            changed = bool(reason)
            await self._feed(ev.TextReceived(self._now_ms, said))
            await self._feed(ev.ReplyRequested(self._now_ms))

    async def close(self) -> None:
        """Free what the model keeps."""
        await self._session.close()

    async def _feed(self, event: ev.Event) -> None:
        self._now_ms += 1.0
        self._state, actions = machine.step(self._state, event)
        for action in actions:
            match action:
                case act.StepChanged(step):
                    self._tools.step = step
                case act.Prefill():
                    await self._session.prefill(action.messages, self._tools.schemas())
                case act.Generate():
                    await self._generate(action)
                case act.RunTool():
                    output = json.dumps({"noted": json.loads(action.arguments)})
                    await self._feed(ev.ToolFinished(self._now_ms, action.reply_id, action.call_id, output, True))

    async def _generate(self, action: act.Generate) -> None:
        before = await self._read() if self._read is not None else 0.0
        began_s, count = time.perf_counter(), TokenCount(0, 0)
        with suppress(EngineError):  # one token may be the beginning of a tool call
            async for piece in self._session.generate(action.messages, self._tools.schemas()):
                if isinstance(piece, TokenCount):
                    count = piece
        took_ms = (time.perf_counter() - began_s) * 1000
        tokens = await self._read() - before if self._read is not None else float(count.prompt - (count.cached or 0))
        if self._kind:
            self.took[self._kind].append((took_ms, tokens))
        if self._notes:
            call_id, notes, self._notes, self._kind = f"n{self._now_ms}", json.dumps(self._notes), {}, CHANGE
            await self._feed(ev.ToolCallRequested(self._now_ms, action.reply_id, call_id, NOTE, notes))
            await self._feed(ev.GenerationDone(self._now_ms, action.reply_id))
            return
        await self._feed(ev.TextDelta(self._now_ms, action.reply_id, REPLY))
        await self._feed(ev.GenerationDone(self._now_ms, action.reply_id))
