"""The turn engine over 100,000 generated calls in virtual time: how long that takes, and what it decides. Delays are generated:
no time inside a call is a latency of this machine."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable

from bench.harness import Figure, at_most
from voiceagent.call.rules import rules_of
from voiceagent.resources import demo_agent_file
from voiceagent.settings.agent import load_agent
from voiceagent.simulation.call import EFFECTS, NOT_COMMITTED
from voiceagent.simulation.run import simulate
from voiceagent.tools.toolset import ToolSet

CALLS = 100_000
SHARES = (
    ("speculative replies kept", "the speculative reply was", "kept"),
    ("tokens of speculative replies wasted", "tokens of speculative replies", "wasted"),
    ("speculative tool calls unused", "a speculative tool call was", "unused"),
    ("noise yielded to", "over its speech: noise", "yields"),
    ("backchannels yielded to", "over its speech: backchannel", "yields"),
    ("sentences yielded to", "over its speech: sentence", "yields"),
    ("commands yielded to", "over its speech: command", "yields"),
)


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """The figures."""
    rules = rules_of(load_agent(demo_agent_file()), ToolSet())
    began_s = time.perf_counter()
    tally = simulate(rules, CALLS)
    effects = tally.decisions[EFFECTS]
    elapsed_s = time.perf_counter() - began_s
    return [
        Figure("calls", float(tally.calls), "", "", True),
        Figure("events", float(tally.events), "", "", True),
        at_most("all of them took", elapsed_s, 120.0, "s"),
        at_most("rules of the turn engine that did not hold", float(len(tally.broken)), 0.0, ""),
        Figure("external effects", float(effects.total()), "", "", True),
        at_most("external effects of dropped or uncommitted replies", float(effects[NOT_COMMITTED]), 0.0, ""),
        *(Figure(name, 100 * tally.share(question, answer), "%", "", True) for name, question, answer in SHARES),
    ]
