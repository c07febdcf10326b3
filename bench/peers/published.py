"""The comparison on published models: voiceagent and Pipecat on the same Whisper tiny.en and the same Piper voice, Pipecat's
Whisper with its stock encoder and with voiceagent's short one. `make bench-peers ARGS=--real`."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator

from bench.asked_calls import speeches_of
from bench.calls import INTERRUPTION
from bench.everyday_turns import EverydayTurn, everyday_turns
from bench.harness import Figure, at_most
from bench.held_out import rows
from bench.peers.comparison import LONG_ANSWERS, QUESTIONS, Tally, compared, of_one
from bench.peers.contestants import OURS, Entry
from bench.peers.environment import pipecat_version
from voiceagent.latency.budgets import distribution
from voiceagent.models.registry import require

PROFILE = "real-speech"
TURNS, INTERRUPTIONS = 30, 12
HESITANT = 30
"""Held-out everyday turns with a silence inside, for voiceagent and the entries with the stock encoder."""
DRAWN_PER_HESITANT = 3
DEFAULTS_STOCK = Entry("Pipecat, defaults, stock encoder", "default", "stock")
DEFAULTS_SHORT = Entry("Pipecat, defaults, short encoder", "default", "short")
FASTEST_STOCK = Entry("Pipecat, fastest, stock encoder", "fastest", "stock")
FASTEST_SHORT = Entry("Pipecat, fastest, short encoder", "fastest", "short")
ENTRIES = (DEFAULTS_STOCK, DEFAULTS_SHORT, FASTEST_STOCK, FASTEST_SHORT)
DEFAULTS_TARGET, FASTEST_TARGET, P95_TARGET, STOP_TARGET, CPU_TARGET = 0.3, 0.45, 0.5, 0.3, 0.4

NOTES = f"""
The caller speaks the published voice, as both agents do. Calls were made in turn, ten questions each, then four interrupted
answers each, in an order that rotates. Times are read off the audio that the caller sent and received, by the same code for
all.

**The same:** Whisper tiny.en in int8 and greedy decoding, the language model server (the bundled model in a process of its
own, not in the CPU-seconds), the Piper voice en_US-joe-medium, the tools, the instructions, the caller, the machine.

**Stock encoder:** faster-whisper's, which gives Whisper 30 s however short the turn, on as many threads as there are cores.
**Short encoder:** voiceagent's class in Pipecat's service, with voiceagent's own padding; Pipecat does not ship it. voiceagent
runs the short one in both rows.

**Defaults and fastest** are as in [peers.md](peers.md): Silero and Smart Turn v3; or turns that end at the VAD's 0.2 s with no
wait and no model after it. Where there was a choice, Pipecat got the better one, as there. By default its Whisper service
decodes with five beams; here with one.

**Everyday turns:** hesitant ones of the held-out draw in [held_out.md](held_out.md), in calls of their own. *Cut off*: the agent
was heard before the caller had finished. Pipecat's defaults judge each pause by Smart Turn v3, its fastest settings by nothing.
All this speech is synthetic, and Smart Turn was made for people's.

**voiceagent:** profile `{PROFILE}`, the demo agent, its language model replaced by that server.
"""


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: about 50 minutes for 30 turns each."""
    profile_name = options.profile or PROFILE
    require(profile_name)
    speeches = await speeches_of(profile_name, [*QUESTIONS, *LONG_ANSWERS, INTERRUPTION])
    everyday = await asyncio.to_thread(hesitant_turns, HESITANT)
    hearing = dict.fromkeys((OURS, DEFAULTS_STOCK.name, FASTEST_STOCK.name), everyday)
    tallies = await compared(speeches, ENTRIES, profile_name, options.turns or TURNS, together=options.together, everyday=hearing)
    return _rows(tallies)


def _rows(tallies: dict[str, Tally]) -> Iterator[Figure]:
    for name, tally in tallies.items():
        yield from of_one(name, tally, turns=TURNS, interruptions=INTERRUPTIONS)
    for name, tally in tallies.items():
        if tally.everyday.said:
            yield from rows(f"{name.replace('Pipecat', f'Pipecat {pipecat_version()}')}, everyday", tally.everyday)
    for entry in ENTRIES:
        target = DEFAULTS_TARGET if entry.settings == "default" else FASTEST_TARGET
        yield from _ratios(entry.name, tallies[OURS], tallies[entry.name], target)


def hesitant_turns(count: int) -> list[EverydayTurn]:
    """The first so many of the held-out draw that have a silence inside."""
    return [turn for turn in everyday_turns(count * DRAWN_PER_HESITANT) if turn.hesitant][:count]


def _ratios(name: str, ours: Tally, peer: Tally, p50_target: float) -> Iterator[Figure]:
    against = f"against {name.replace('Pipecat', f'Pipecat {pipecat_version()}')}"
    if ours.voice_to_voice_ms and peer.voice_to_voice_ms:
        one, other = distribution(ours.voice_to_voice_ms), distribution(peer.voice_to_voice_ms)
        yield at_most(f"{against}: voice to voice p50", round(one.p50_ms / other.p50_ms, 3), p50_target, "×")
        yield at_most(f"{against}: voice to voice p95", round(one.p95_ms / other.p95_ms, 3), P95_TARGET, "×")
    if ours.barge_in_stop_ms and peer.barge_in_stop_ms:
        one, other = distribution(ours.barge_in_stop_ms), distribution(peer.barge_in_stop_ms)
        yield at_most(f"{against}: barge-in stop p50", round(one.p50_ms / other.p50_ms, 3), STOP_TARGET, "×")
        yield at_most(f"{against}: barge-in stop p95", round(one.p95_ms / other.p95_ms, 3), STOP_TARGET, "×")
    yield at_most(f"{against}: CPU-seconds a call-second", round(ours.cpu_share / peer.cpu_share, 3), CPU_TARGET, "×")
