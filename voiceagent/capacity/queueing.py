"""Simulates the calls of one machine as a network of queues, with the turns, stages and processor time of a load test.

- A turn is drawn from the measured ones. Its stages are jobs of the parts that do them: recognition of the open utterance,
  recognition of the whole, language model, voice. A part that runs in a thread of the server does one job at a time; a remote one
  has no queue here, and takes as long as it took.
- Jobs share the cores evenly, beside the event loop and all else that a call costs, which is Poisson around its mean.
- A reply that took longer than it did when it was measured is heard later by what the caller's own silence did not hide. The
  event loop delays each step of a turn as an M/M/1 queue.
- Calls come by Poisson's process and last exponentially long, or there are always as many."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from voiceagent.capacity.load_result import MIN_TURNS, LoadResult, LoadStep, LoadTurn
from voiceagent.errors import ConfigError
from voiceagent.latency.spans import Stage, WaitCause

STEPS_OF_LOOP = 8
"""Times that a turn waits for the event loop: packet, voice detector, endpoint, words, token, audio, frame, packet."""
PIECE_OF_LOOP_S = 0.001
"""The mean time of what the event loop does at once."""
FULL = 0.98
PARTS = {"stt": "stt", "language-model": "llm", "piper": "tts"}
"""The parts by the beginning of their threads' names."""
PART_OF = {Stage.STT_FINAL: "stt", Stage.LLM_TTFT: "llm", Stage.TTS_FIRST_AUDIO: "tts"}
WARM_S = 60.0


@dataclass(frozen=True, slots=True)
class _Template:
    """A measured turn as work."""

    wait_s: float
    spoke_s: float
    answered_s: float
    partials: tuple[tuple[float, float], ...]
    """Decodes of the open utterance: start from its end, duration."""
    begins_s: float
    """The start of the reply's first job, from the end of the speech."""
    chain: tuple[tuple[str, float], ...]
    """The jobs of the reply up to its first sound: part and duration."""
    slack_s: float
    """The time that the reply was ready before the silence was long enough."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The turns and costs of calls, as they were measured with few of them."""

    turns: tuple[_Template, ...]
    pause_s: float
    computing: tuple[tuple[str, float], ...]
    """The parts that run in threads of the server, and the share of their jobs' time in which they computed."""
    rest_s: tuple[tuple[str, float], ...]
    """Processor seconds a turn of each local part, besides the measured jobs."""
    loop: float
    """Processor seconds a call-second of the event loop."""
    other: float
    """The same of all else but the local parts' jobs; the callers' own, if they ran on the same machine and are to count."""
    cores: int

    @property
    def cycle_s(self) -> float:
        """The mean time from one turn of a call to its next."""
        return float(np.mean([turn.spoke_s + turn.wait_s + turn.answered_s for turn in self.turns])) + self.pause_s

    @property
    def cores_a_call(self) -> float:
        """Processor seconds a call-second of all that a call costs."""
        computing = dict(self.computing)
        jobs_s = [
            sum(took_s for _, took_s in turn.partials) * computing.get("stt", 0.0)
            + sum(took_s * computing.get(part, 0.0) for part, took_s in turn.chain)
            for turn in self.turns
        ]
        rest_s = sum(seconds for _, seconds in self.rest_s)
        return self.loop + self.other + (float(np.mean(jobs_s)) + rest_s) / self.cycle_s


def workload(result: LoadResult, *, with_callers: bool = False) -> Workload:
    """Made of the step with the fewest calls. Raises ConfigError when it has too few turns."""
    step = min(result.steps, key=lambda step: step.calls, default=None)
    if step is None or len(step.turns) < MIN_TURNS:
        turns = 0 if step is None else len(step.turns)
        raise ConfigError(f"the load test has {turns} turns in its smallest step, expected {MIN_TURNS}; hold it for longer")
    templates = tuple(_template(turn) for turn in step.turns)
    threads = dict.fromkeys(PARTS.values(), 0.0)
    local = set()
    for thread, share in step.server.threads.items():
        part = next((part for name, part in PARTS.items() if thread.startswith(name)), "")
        if part:
            threads[part] += share
            local.add(part)
    jobs_s = dict.fromkeys(threads, 0.0)
    for template in templates:
        jobs_s["stt"] += sum(duration for _, duration in template.partials)
        for part, duration in template.chain:
            if part in jobs_s:
                jobs_s[part] += duration
    turns = len(templates)
    spent_s = {part: threads[part] * step.duration_s for part in local}
    rest = {part: max(0.0, spent_s[part] - jobs_s[part]) / turns for part in local if part != "stt"}
    computing = {part: min(1.0, spent_s[part] / jobs_s[part]) if jobs_s[part] else 1.0 for part in local}
    loop = step.server.threads.get("loop", step.server.cores_used / 2) * step.duration_s / step.call_s
    other = (step.server.cores_used * step.duration_s - sum(spent_s.values())) / step.call_s - loop
    if with_callers:
        other += step.callers_cores * step.duration_s / step.call_s
    return Workload(
        *(templates, result.pause_s, tuple(computing.items()), tuple(rest.items())),
        *(loop, max(0.0, other), step.server.cores),
    )


def _template(turn: LoadTurn) -> _Template:
    spans = [(Stage(name), start / 1000, took / 1000) for name, start, took in turn.spans]
    wait_s = turn.voice_to_voice_ms / 1000
    partials = tuple((start, took) for stage, start, took in spans if stage is Stage.STT_PARTIAL)
    last = {stage: (start, took) for stage, start, took in spans if stage in PART_OF and start < wait_s}
    chain: list[tuple[str, float]] = []
    ready_s = 0.0
    for stage, part in PART_OF.items():
        if stage in last:
            start, took = last[stage]
            if stage is Stage.TTS_FIRST_AUDIO and chain and start > ready_s:
                chain.append(("llm" if chain[-1][0] == "llm" else "", start - ready_s))  # it wrote the first clause
            chain.append((part, took))
            ready_s = max(ready_s, start + took)
    silence_s = sum(turn.wait.get(cause, 0.0) for cause in (WaitCause.UPLINK, WaitCause.VAD, WaitCause.ENDPOINT)) / 1000
    begins_s = min((start for start, _ in last.values()), default=0.0)
    slack_s = max(0.0, silence_s - ready_s)
    return _Template(wait_s, turn.spoke_s, turn.answered_s, partials, begins_s, tuple(chain), slack_s)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """The calls of a machine."""

    calls: float
    """As many at a time on average; with `steady` always."""
    steady: bool = False
    call_s: float = 180.0
    """The mean length of a call."""
    places: int = 1_000_000
    """Calls beyond are refused."""


@dataclass(slots=True)
class Simulated:
    """The outcome of a simulation."""

    waits_ms: list[float] = field(default_factory=list)
    refused: int = 0
    offered: int = 0
    busy_s: float = 0.0
    """Processor time of all jobs."""
    duration_s: float = 0.0

    def percentile_ms(self, percent: float) -> float:
        """A percentile of the waits."""
        return float(np.percentile(self.waits_ms, percent)) if self.waits_ms else math.inf

    @property
    def mean_ms(self) -> float:
        """Their mean."""
        return float(np.mean(self.waits_ms)) if self.waits_ms else math.inf


@dataclass(slots=True)
class _JobInQueue:
    part: str
    demand_s: float
    done: Callable[[float], None]


class _Machine:
    """Simulated time, cores, queues."""

    def __init__(self, cores: int, local: Collection[str]) -> None:
        self.now_s = 0.0
        self.calls = 0
        self.busy_s = 0.0
        self._cores = cores
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._running: list[tuple[float, int, _JobInQueue]] = []
        self._order = itertools.count()
        self._done, self._rate, self._load = 0.0, 1.0, 0.0
        self._rates: dict[int, float] = {}
        self._waiting: dict[str, deque[_JobInQueue]] = {part: deque() for part in (*local, "partial")}
        self._taken = dict.fromkeys(self._waiting, False)

    def at(self, delay_s: float, act: Callable[[], None]) -> None:
        """Do something later."""
        heapq.heappush(self._events, (self.now_s + max(0.0, delay_s), next(self._order), act))

    def submit(self, part: str, demand_s: float, done: Callable[[float], None]) -> None:
        """A job; `done` gets the time that it took beyond `demand_s`."""
        came_s = self.now_s

        def ended(at_s: float) -> None:
            done(max(0.0, at_s - came_s - demand_s))

        job = _JobInQueue(part, demand_s, ended)
        if part not in self._waiting:
            self.at(demand_s, lambda: ended(self.now_s))
        elif self._taken[part]:
            if part == "partial" and len(self._waiting[part]) >= max(1, self.calls):
                self._waiting[part].popleft()
            self._waiting[part].append(job)
        else:
            self._start(job)

    def _start(self, job: _JobInQueue) -> None:
        self._taken[job.part] = True
        heapq.heappush(self._running, (self._done + job.demand_s, next(self._order), job))
        self.busy_s += job.demand_s
        self._changed()

    def set_load(self, cores: float) -> None:
        """The cores that all but jobs need."""
        self._load = cores
        self._rates.clear()
        self._changed()

    def _changed(self) -> None:
        self._rate = self.rate_of(len(self._running))

    def rate_of(self, jobs: int) -> float:
        """The speed of each of so many jobs: the mean over a number of other busy threads that is Poisson around the load."""
        if jobs in self._rates:
            return self._rates[jobs]
        rate, chance, load = 0.0, math.exp(-self._load), self._load
        for others in range(int(load + 6 * math.sqrt(load) + 8)):
            rate += chance * min(1.0, self._cores / max(1, jobs + others))
            chance *= load / (others + 1)
        self._rates[jobs] = max(rate, 1e-3)
        return self._rates[jobs]

    def run(self, until_s: float) -> None:
        """Let time pass."""
        while True:
            job_s = self.now_s + (self._running[0][0] - self._done) / self._rate if self._running else math.inf
            event_s = self._events[0][0] if self._events else math.inf
            next_s = min(job_s, event_s)
            if next_s > until_s:
                return
            self._done += (next_s - self.now_s) * self._rate
            self.now_s = next_s
            if event_s <= job_s:
                heapq.heappop(self._events)[2]()
                continue
            _, _, job = heapq.heappop(self._running)
            self._taken[job.part] = False
            if self._waiting[job.part]:
                self._start(self._waiting[job.part].popleft())
            else:
                self._changed()
            job.done(self.now_s)


def simulate(
    load: Workload, arrivals: Arrivals, *, cores: int = 0, turns: int = 2000, seed: int = 0, beside: float = 0.0
) -> Simulated:
    """About so many turns of a machine, after `WARM_S`. `beside` is the cores that other workers of the machine use on average;
    their busy threads are Poisson around it."""
    dice, computing = random.Random(seed), dict(load.computing)
    machine, found = _Machine(cores or load.cores, computing), Simulated()
    cycle_s = load.cycle_s
    end_s = WARM_S + max(60.0, turns * cycle_s / max(arrivals.calls, 0.01))

    def changed(by: int) -> None:
        machine.calls += by
        machine.set_load(machine.calls * (load.loop + load.other) + beside)

    def loop_delay_s() -> float:
        use = min(FULL, machine.calls * load.loop / machine.rate_of(1))
        was = min(use, load.loop)
        more_s = PIECE_OF_LOOP_S * (use / (1 - use) - was / (1 - was))
        return dice.gammavariate(STEPS_OF_LOOP, more_s) if more_s > 0 else 0.0

    def rest(part: str, left_s: float, piece_s: float) -> None:
        """The work of a part behind the first sound, piece by piece."""
        if left_s > 1e-4:
            machine.submit(part, min(piece_s, left_s), lambda _: rest(part, left_s - piece_s, piece_s))

    def turn(ends_s: float) -> None:
        if machine.now_s >= ends_s:
            return
        drawn = load.turns[dice.randrange(len(load.turns))]
        for start_s, took_s in drawn.partials:
            cpu_s = took_s * computing.get("stt", 0.0)
            machine.at(drawn.spoke_s + start_s, partial(machine.submit, "partial", cpu_s, lambda _: None))
        machine.at(drawn.spoke_s + drawn.begins_s, lambda: job(0, 0.0))

        def job(number: int, late_s: float) -> None:
            if number < len(drawn.chain):
                part, took_s = drawn.chain[number]
                cpu_s = took_s * computing.get(part, 1.0)
                follows = partial(job, number + 1)
                machine.submit(part, cpu_s, lambda more_s: machine.at(took_s - cpu_s, partial(follows, late_s + more_s)))
                return
            for part, seconds in load.rest_s:
                rest(part, seconds, max(0.02, seconds / 5))
            wait_s = drawn.wait_s + max(0.0, late_s - drawn.slack_s) + loop_delay_s()
            if machine.now_s > WARM_S:
                found.waits_ms.append(wait_s * 1000)
            heard_s = max(0.0, drawn.wait_s - (machine.now_s - began_s - drawn.spoke_s))
            pause_s = load.pause_s * (0.5 + dice.random())
            machine.at(heard_s + drawn.answered_s + pause_s, lambda: turn(ends_s))

        began_s = machine.now_s

    def take(begins_s: float, lasts_s: float) -> None:
        changed(1)
        machine.at(begins_s, lambda: turn(machine.now_s + lasts_s))
        if lasts_s < math.inf:
            machine.at(begins_s + lasts_s, lambda: changed(-1))

    def arrive() -> None:
        found.offered += 1
        if machine.calls >= arrivals.places:
            found.refused += 1
        else:
            take(0.0, dice.expovariate(1 / arrivals.call_s))
        machine.at(dice.expovariate(arrivals.calls / arrivals.call_s), arrive)

    for _ in range(min(round(arrivals.calls), arrivals.places)):
        take(dice.random() * cycle_s, math.inf if arrivals.steady else dice.expovariate(1 / arrivals.call_s))
    if not arrivals.steady:
        machine.at(dice.expovariate(arrivals.calls / arrivals.call_s), arrive)
    machine.run(end_s)
    found.busy_s, found.duration_s = machine.busy_s, end_s
    return found


def measured(step: LoadStep) -> tuple[float, float, float]:
    """Mean, p50 and p95 of a step in ms, computed as those of a simulation."""
    waits = [turn.voice_to_voice_ms for turn in step.turns]
    return float(np.mean(waits)), float(np.percentile(waits, 50)), float(np.percentile(waits, 95))
