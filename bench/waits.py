"""Measures what the server's account of a wait leaves unexplained, on received audio: the caller's clock times the wait from the
last sample of its speech to the first sample that it hears, and the server's parts of the same turn are taken from it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field

from bench.calls import QUESTIONS, RATE_HZ, STEP_TIMEOUT_S, TURNS_A_CALL, Speech, spoken
from bench.harness import Figure, at_most, plain
from bench.server import Server, running
from voiceagent.audio.format import FRAME_MS
from voiceagent.client.caller import Caller
from voiceagent.client.dialogue import Dialogue
from voiceagent.client.impairment import ImpairedRelay, Impairment
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import percentile
from voiceagent.latency.spans import WaitCause

TURNS = 40
DELAY_MS = 40.0
NOTES = f"""\
Calls of the bundled models over WebRTC on one machine, so both clocks are one. *Received*: from the last voiced 5 ms that the
caller sent to the first that it heard. *The server's account*: the sum of the parts of `voiceagent.turn`, from the end of speech
to the first frame on the line. *The caller's packet*: a frame is sent when its {FRAME_MS:g} ms are over. *The network*: what a
relay between both adds, {DELAY_MS:g} ms each way; without it next to nothing. What is left is unexplained, or, below zero, was
counted twice.
"""


@dataclass(slots=True)
class Waits:
    """The turns of some calls, in milliseconds."""

    received: list[float] = field(default_factory=list)
    accounted: list[float] = field(default_factory=list)
    other: list[float] = field(default_factory=list)
    """The part of the account in which nothing measured went on."""
    problems: list[str] = field(default_factory=list)


async def measure(options: argparse.Namespace) -> Iterable[Figure]:
    """All figures: about five minutes."""
    turns: int = options.turns or TURNS
    speeches = {text: spoken(text) for text in QUESTIONS}
    figures: list[Figure] = []
    for name, delay_ms in (("", 0.0), (f"{DELAY_MS:g} ms each way: ", DELAY_MS)):
        waits = Waits()
        async with running() as server:
            for _ in range(-(-turns // TURNS_A_CALL)):
                await _converse(server, waits, speeches, delay_ms)
        figures += _rows(name, waits, FRAME_MS, 2 * delay_ms)
    return figures


async def _converse(server: Server, waits: Waits, speeches: dict[str, Speech], delay_ms: float) -> None:
    relay = ImpairedRelay(Impairment(delay_ms=delay_ms)) if delay_ms else None
    try:
        async with Caller(server.url, relay=relay) as caller, Dialogue(caller, timeout_s=STEP_TIMEOUT_S) as dialogue:
            await dialogue.wait_greeting()
            for question in QUESTIONS[:TURNS_A_CALL]:
                (exchange,) = await dialogue.turn(question, speeches[question], RATE_HZ)
                measured = [turn.measured for turn in exchange.turns if turn.measured is not None]
                if exchange.voice_to_voice_ms is None or len(measured) != 1 or measured[0].get("wait_ms") is None:
                    continue
                waits.received.append(exchange.voice_to_voice_ms)
                waits.accounted.append(measured[0]["wait_ms"])
                parts = measured[0]["wait"]
                waits.other.append(sum(part["duration_ms"] for part in parts if part["part"] == WaitCause.OTHER))
    except MediaError as error:
        waits.problems.append(str(error))


def _rows(name: str, waits: Waits, packet_ms: float, network_ms: float) -> Iterable[Figure]:
    pairs = list(zip(waits.received, waits.accounted, strict=True))
    left = [received - accounted - packet_ms - network_ms for received, accounted in pairs]
    yield plain(f"{name}turns", len(left), "", 0)
    yield plain(f"{name}received p50", percentile(waits.received, 50), "ms")
    yield plain(f"{name}the server's account p50", percentile(waits.accounted, 50), "ms")
    yield plain(f"{name}the caller's packet", packet_ms, "ms", 0)
    yield plain(f"{name}the network", network_ms, "ms", 0)
    yield plain(f"{name}unexplained p5", percentile(left, 5), "ms")
    yield plain(f"{name}unexplained p50", percentile(left, 50), "ms")
    yield at_most(f"{name}unexplained p95", round(percentile(left, 95), 1), 20, "ms")
    yield at_most(f"{name}nothing measured went on p95", round(percentile(waits.other, 95), 1), 20, "ms")
    yield at_most(f"{name}calls that failed", len(waits.problems), 0, "")
