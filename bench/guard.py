"""Measures the cost of the built-in guards for a clause, and their hits: the sentences of the held-out dialogues, token by token
through the look-ahead window, with every rule switched on."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from bench.harness import Figure, at_most
from voiceagent.guard.checks import Guards, load_guards
from voiceagent.guard.settings import GuardSettings, OutputRules
from voiceagent.guard.window import OutputWindow, WindowCheck
from voiceagent.latency.budgets import percentile

CLAUSES = 20_000
PHRASES = 200
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
    ]


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
