"""The comparison: voiceagent, Pipecat with its documented defaults and Pipecat with its fastest documented settings, in turn
call by call, or at the same time, so that whatever else the machine does meets all three alike. `NOTES` says what was done to
be fair."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import signal
import time
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from bench.calls import INTERRUPTION, spoken
from bench.everyday_turns import EverydayTurn
from bench.harness import Figure, at_least, at_most, plain
from bench.held_out import Held, say_all
from bench.peers.contestants import (
    DEFAULT,
    FASTEST,
    ON_BUNDLED,
    OURS,
    Contestant,
    Entry,
    asked_since,
    contestants,
    cpu_s,
    memory_mb,
)
from bench.peers.environment import pipecat_python, pipecat_version
from bench.quiet import quiet_machine
from bench.stt.spelling import compared as same_spelling
from bench.trial import Speech, ask, greeted, interrupt
from voiceagent.errors import MediaError
from voiceagent.latency.budgets import distribution

NOTES = """
Calls were made to the three in turn, ten questions each, then four interrupted answers each, in an order that rotates; or, with
`--together`, to all three at the same time, each on its own line and with its own server. Times are read off the audio that the
caller sent and received, by the same code for all.

**The same:** the Whisper model and its decoding options, the language model server (a process of its own, not in
the CPU-seconds), the Piper voice, the tools, the instructions, the caller, the machine.

**Where there was a choice, Pipecat got the better one.** Its Whisper encodes only the audio there is (voiceagent's class: stock
faster-whisper pads to 30 s); its voice and its BLAS run on one thread; it logs warnings only; its models are loaded before a
call is measured; the tools run in its process. An answer that ended by itself while it was interrupted counts as stopped then,
which helps whoever stops later.

**Pipecat, defaults:** as its documentation builds a bot: SmallWebRTC, Silero (0.2 s to start, 0.2 s to stop), Smart Turn v3,
segmented Whisper, Piper sentence by sentence. Smart Turn takes some of the synthetic questions for unfinished and waits its 3 s:
that is its p95.

**Pipecat, fastest:** what its documentation offers beside that: turns end at the VAD's 0.2 s with no wait and no model after it,
speech counts after 0.1 s, 20 ms output pieces, the voice's own sample rate, no silence appended before Whisper. Its speculative
turns need a recogniser that predicts ends of turn, which its Whisper service does not.

**voiceagent:** the demo agent as it ships, its language model replaced by that server.
"""
MIN_TURNS = 100
MIN_INTERRUPTIONS = 30
QUESTIONS = (
    "What time is it in Paris?",
    "What's the weather in London tomorrow?",
    "What day is it today?",
    "What is 12 plus 30?",
    "Set a timer for 10 minutes.",
    "Book a table for four people on Friday at 7 PM.",
    "How are you?",
    "What's the weather in Rome?",
    "What time is it?",
    "Cancel my table.",
)
"""Nine of ten need a tool."""
LONG_ANSWERS = (
    "What's the weather in London tomorrow?",
    "How are you?",
    "What's the weather in Rome?",
    "Cancel my table.",
)
"""Questions whose answers last long enough to be interrupted: more than two seconds."""


@dataclass(slots=True)
class Tally:
    """The measurements of one contestant's calls."""

    voice_to_voice_ms: list[float] = field(default_factory=list)
    barge_in_stop_ms: list[float] = field(default_factory=list)
    asked: int = 0
    unanswered: int = 0
    cut: int = 0
    understood: int = 0
    requests: int = 0
    call_s: float = 0.0
    cpu_s: float = 0.0
    llm_cpu_s: float = 0.0
    memory_mb: float = 0.0
    problems: list[str] = field(default_factory=list)
    everyday: Held = field(default_factory=Held)
    """Held-out everyday turns, where some are said."""

    @property
    def cpu_share(self) -> float:
        """CPU-seconds a call-second."""
        return _per(self.cpu_s, self.call_s)


async def measure(options: argparse.Namespace) -> Iterator[Figure]:
    """All figures: three quarters of an hour for 100 turns each. Each gets `options.turns` undisturbed turns."""
    speeches = {text: spoken(text) for text in (*QUESTIONS, *LONG_ANSWERS, INTERRUPTION)}
    tallies = await compared(speeches, ON_BUNDLED, "embedded", options.turns or MIN_TURNS, together=options.together)
    at_once = len(tallies) if options.together else 1
    return itertools.chain([plain("servers called at the same time", at_once, "")], _rows(tallies))


async def compared(
    speeches: dict[str, Speech],
    entries: Sequence[Entry],
    profile_name: str,
    turns: int,
    *,
    together: bool,
    everyday: Mapping[str, Sequence[EverydayTurn]] = MappingProxyType({}),
) -> dict[str, Tally]:
    """Call voiceagent and the entries until each had so many undisturbed turns; what each measured, by name. Who is named
    in `everyday` hears these turns, too, a part in each round. Ctrl-C ends after a round; what was measured counts."""
    python = await asyncio.to_thread(pipecat_python)
    tallies = {name: Tally() for name in (OURS, *(entry.name for entry in entries))}
    async with contestants(python, entries, profile_name) as playing:
        order = list(playing)
        for contestant in order:
            await _converse(contestant, Tally(), speeches, QUESTIONS[:1])
        enough = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, enough.set)
        rounds = -(-turns // len(QUESTIONS))
        for round_ in range(rounds):
            if enough.is_set():
                break
            for part in (_converse, _interrupt):
                calls = [part(contestant, tallies[contestant.name], speeches) for contestant in order]
                await _in_turn(calls, together)
            more = [(one, everyday.get(one.name, ())[round_::rounds]) for one in order]
            said = [say_all(one.caller(one.url), tallies[one.name].everyday, turns) for one, turns in more if turns]
            await _in_turn(said, together)
            print(f"round {round_ + 1}: {'; '.join(_so_far(name, tally) for name, tally in tallies.items())}", flush=True)
            order.append(order.pop(0))
        for contestant in order:
            tallies[contestant.name].memory_mb = memory_mb(contestant.process)
    return tallies


async def _in_turn(calls: Sequence[Coroutine[Any, Any, None]], together: bool) -> None:
    if together:
        async with quiet_machine():
            await asyncio.gather(*calls)
        return
    for call in calls:
        async with quiet_machine():
            await call


async def _converse(
    contestant: Contestant, tally: Tally, speeches: dict[str, Speech], questions: Sequence[str] = QUESTIONS
) -> None:
    """One call: the questions one after the other. Processor time counts from the end of the greeting to the last answer's."""
    log_bytes = contestant.llm.log.stat().st_size
    try:
        async with contestant.caller(contestant.url) as caller:
            await greeted(caller)
            began_s, cpu_before_s, llm_before_s = time.monotonic(), cpu_s(contestant.process), cpu_s(contestant.llm.process)
            for question in questions:
                turn = await ask(caller, speeches[question])
                tally.asked += 1
                tally.cut += turn.cut
                if turn.voice_to_voice_ms is not None:
                    tally.voice_to_voice_ms.append(turn.voice_to_voice_ms)
                elif not turn.cut:
                    tally.unanswered += 1
            tally.cpu_s += cpu_s(contestant.process) - cpu_before_s
            tally.llm_cpu_s += cpu_s(contestant.llm.process) - llm_before_s
            tally.call_s += time.monotonic() - began_s
    except (MediaError, TimeoutError) as error:
        tally.problems.append(f"{contestant.name}: {error or 'no greeting'}")
    requests = asked_since(contestant.llm.log, log_bytes)
    heard = [same_spelling(request.words) for request in requests if request.outcome == "finished"]
    tally.requests += len(requests)
    tally.understood += sum(same_spelling(question) in heard for question in questions)


async def _interrupt(contestant: Contestant, tally: Tally, speeches: dict[str, Speech]) -> None:
    """One call whose every answer is interrupted."""
    try:
        async with contestant.caller(contestant.url) as caller:
            await greeted(caller)
            for question in LONG_ANSWERS:
                stop = await interrupt(caller, speeches[question], speeches[INTERRUPTION])
                if stop is not None:
                    tally.barge_in_stop_ms.append(stop.last_ms)
    except (MediaError, TimeoutError) as error:
        tally.problems.append(f"{contestant.name}: {error or 'no greeting'}")


def _so_far(name: str, tally: Tally) -> str:
    if not tally.voice_to_voice_ms or not tally.barge_in_stop_ms:
        return f"{name}: nothing"
    voice, stop = distribution(tally.voice_to_voice_ms), distribution(tally.barge_in_stop_ms)
    return f"{name}: {voice.p50_ms:.0f}/{voice.p95_ms:.0f} ms, stop {stop.p95_ms:.0f} ms, {tally.cpu_share:.3f} CPU"


def _rows(tallies: dict[str, Tally]) -> Iterator[Figure]:
    for name, tally in tallies.items():
        yield from of_one(name, tally)
    ours = tallies[OURS]
    for name in (DEFAULT, FASTEST):
        yield from _ratios(name, ours, tallies[name])


def of_one(name: str, tally: Tally, turns: int = MIN_TURNS, interruptions: int = MIN_INTERRUPTIONS) -> Iterator[Figure]:
    """Yields the measurements of one contestant's calls, of at least this many turns and interruptions."""
    label = f"Pipecat {pipecat_version()}{name.removeprefix('Pipecat')}" if name != OURS else name
    for problem in tally.problems:
        print(f"problem: {problem}")
    yield at_least(f"{label}: turns timed", len(tally.voice_to_voice_ms), turns, "")
    if tally.voice_to_voice_ms:
        voice = distribution(tally.voice_to_voice_ms)
        yield plain(f"{label}: voice to voice p50", voice.p50_ms, "ms")
        yield plain(f"{label}: voice to voice p95", voice.p95_ms, "ms")
    yield at_least(f"{label}: interruptions timed", len(tally.barge_in_stop_ms), interruptions, "")
    if tally.barge_in_stop_ms:
        stop = distribution(tally.barge_in_stop_ms)
        yield plain(f"{label}: barge-in stop p50", stop.p50_ms, "ms")
        yield plain(f"{label}: barge-in stop p95", stop.p95_ms, "ms")
    yield plain(f"{label}: CPU-seconds a call-second", tally.cpu_share, "", 4)
    yield plain(f"{label}: CPU-seconds a call-second of the language model server", _per(tally.llm_cpu_s, tally.call_s), "", 4)
    yield plain(f"{label}: requests to the language model a turn", _per(tally.requests, tally.asked), "")
    yield plain(f"{label}: questions understood to the word", 100 * _per(tally.understood, tally.asked), "%")
    yield plain(f"{label}: questions cut off", 100 * _per(tally.cut, tally.asked), "%")
    yield plain(f"{label}: questions unanswered", tally.unanswered, "")
    yield plain(f"{label}: calls that failed", len(tally.problems), "")
    yield plain(f"{label}: memory at the end", tally.memory_mb, "MB")


def _ratios(name: str, ours: Tally, peer: Tally) -> Iterator[Figure]:
    """Ours over the peer's, against the targets."""
    against = f"against {name}"
    if ours.voice_to_voice_ms and peer.voice_to_voice_ms:
        one, other = distribution(ours.voice_to_voice_ms), distribution(peer.voice_to_voice_ms)
        yield at_most(f"{against}: voice to voice p50", round(one.p50_ms / other.p50_ms, 3), 0.5, "×")
        yield at_most(f"{against}: voice to voice p95", round(one.p95_ms / other.p95_ms, 3), 0.5, "×")
    if ours.barge_in_stop_ms and peer.barge_in_stop_ms:
        one, other = distribution(ours.barge_in_stop_ms), distribution(peer.barge_in_stop_ms)
        yield at_most(f"{against}: barge-in stop p95", round(one.p95_ms / other.p95_ms, 3), 0.5, "×")
    ratio = _per(ours.cpu_share, peer.cpu_share)
    yield at_most(f"{against}: CPU-seconds a call-second", round(ratio, 3), 0.4, "×")


def _per(amount: float, of: float) -> float:
    return amount / of if of else 0.0
