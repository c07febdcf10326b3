"""Simulates the calls of a fleet, event by event: calls come, the gateway places each on the worker that looks best, workers
start, drain and die. What comes out are the calls, and the moments at which the numbers of calls changed; what callers waited is
found from those (`fleet_waits.py`).

- A gateway knows a worker by its last status, and by the calls that it placed there since. With several gateways none knows of
  the others' calls until the next status. A worker that is full or dead sends a call back, and the gateway asks the next best.
- A dead machine's calls come again after `resume_s`. Those that find no place try each second, and are lost after `RESUMES`.
- Who scales the fleet decides on workers. A machine runs while one of its workers does, and starts before its first."""

from __future__ import annotations

import heapq
import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from voiceagent.capacity.traffic import Traffic

FULL = 1.0
"""From this rank on a worker looks full. A gateway asks one such worker, and no other one after a refusal."""
RESUMES = 30
RESUME_AGAIN_S = 1.0
SCALE_S = 5.0
"""The interval at which the scaling looks."""


@dataclass(frozen=True, slots=True)
class SeenWorker:
    """A worker as a gateway or the scaling sees it."""

    number: int
    calls: int
    places: int
    level: float
    """The load of its event loop: 1 is full."""
    is_ready: bool = True
    is_draining: bool = False
    unready_s: float = 0.0


Rank = Callable[[SeenWorker], float]
"""The lowest gets the next call; see `FULL`."""
Scale = Callable[[Sequence[SeenWorker], float], tuple[int, Sequence[int]]]
"""From the workers that are not off and the time in seconds: the number of workers to start, and the workers to drain."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """The machines, and what happens to them."""

    machines: int
    """All that may run."""
    workers: int
    """Workers of a machine."""
    places: int
    """Calls that a worker takes at once."""
    loop: float
    """The event loop's share of a core for a call."""
    loop_most: float
    """The share at which a loop is full."""
    started: int
    """Machines that run at the beginning."""
    gateways: int = 1
    status_s: float = 1.0
    """The time from one status of a worker to the next."""
    machine_start_s: float = 120.0
    worker_start_s: float = 15.0
    deaths: int = 0
    """Machines that die, at random moments."""
    resume_s: float = 3.0


class _Is(IntEnum):
    OFF, STARTING, UP, DRAINING, DEAD = range(5)


class _What(IntEnum):
    END, STATUS, READY, DEATH, RESUME, SCALE = range(6)


class _Parts:
    """Calls, or what a worker had of them: worker, begin and end in seconds."""

    def __init__(self) -> None:
        self.worker, self.begin_s, self.end_s = array("q"), array("d"), array("d")


class _Changes:
    """The numbers of calls of workers or of machines, each time that they changed."""

    def __init__(self) -> None:
        self.at_s, self.place, self.calls = array("d"), array("q"), array("q")

    def note(self, at_s: float, place: int, calls: int) -> None:
        self.at_s.append(at_s)
        self.place.append(place)
        self.calls.append(calls)

    def lookup(self, end_s: float) -> Lookup:
        """All changes, to look numbers up in."""
        return Lookup(np.asarray(self.place), np.asarray(self.at_s), np.asarray(self.calls), end_s + 1.0)


class Lookup:
    """The numbers of calls of each place at any time."""

    def __init__(self, place: NDArray[np.int64], at_s: NDArray[np.float64], calls: NDArray[np.int64], span_s: float) -> None:
        keys = place * span_s + at_s
        order = np.argsort(keys, kind="stable")
        self._keys, self._calls, self._span_s = keys[order], calls[order], span_s

    def calls(self, place: NDArray[np.int64], at_s: NDArray[np.float64]) -> NDArray[np.int64]:
        """The number at each place and time, which must not be before its first."""
        found = np.searchsorted(self._keys, place * self._span_s + at_s, side="right") - 1
        calls: NDArray[np.int64] = self._calls[np.maximum(found, 0)]
        return calls


@dataclass(slots=True)
class FleetRun:
    """The outcome."""

    fleet: Fleet
    end_s: float
    offered: int = 0
    """Calls that came, without those that were up before."""
    refused: int = 0
    sent_back: int = 0
    """Times that a worker that did not look full was full or gone."""
    interrupted: int = 0
    """Calls whose machine died."""
    lost: int = 0
    """Interrupted calls that found no place again."""
    resumed_s: list[float] = field(default_factory=list)
    """The time for which each of the other interrupted calls was away."""
    machine_s: float = 0.0
    """Seconds of running machines."""
    most_machines: int = 0
    """At a time."""
    most_calls: int = 0
    """At a time, of all workers."""
    parts: _Parts = field(default_factory=_Parts)
    of_worker: _Changes = field(default_factory=_Changes)
    of_machine: _Changes = field(default_factory=_Changes)

    @property
    def refused_share(self) -> float:
        """The share of the calls that came."""
        return self.refused / max(1, self.offered)


def run_fleet(fleet: Fleet, traffic: Traffic, rank: Rank, seed: int, scale: Scale | None = None) -> FleetRun:
    """Simulate until the last call has come."""
    return _Running(fleet, traffic, rank, seed, scale).run()


class _Running:
    """A fleet at work."""

    def __init__(self, fleet: Fleet, traffic: Traffic, rank: Rank, seed: int, scale: Scale | None) -> None:
        self._fleet, self._traffic, self._rank, self._scale = fleet, traffic, rank, scale
        self._dice = np.random.default_rng(seed + 1)
        count = fleet.machines * fleet.workers
        self._now_s = 0.0
        self._is = [_Is.UP if number < fleet.started * fleet.workers else _Is.OFF for number in range(count)]
        self._calls = [0] * count
        self._on: list[set[int]] = [set() for _ in range(count)]
        self._machine_calls = [0] * fleet.machines
        self._since_s = [0.0] * count
        """The time at which a worker that starts began to."""
        self._ready: list[int] = [0] * count
        """Counts a worker's starts, so that the end of one that did not last is not taken for another's."""
        self._machine_up_s = [0.0] * fleet.machines
        """The time at which a machine has or will have started."""
        self._on_since_s = [0.0 if machine < fleet.started else math.nan for machine in range(fleet.machines)]
        self._up = 0
        self._events: list[tuple[float, int, int, int]] = []
        self._seen = np.zeros((fleet.gateways, count), dtype=np.int64)
        self._ranks = np.full((fleet.gateways, count), np.inf)
        # Workers that look alike are taken in no order, and each gateway has its own.
        self._ties = self._dice.random((fleet.gateways, count)) * 1e-6
        self._told = [False] * count
        """True while a status is on its way."""
        self._phase_s = self._dice.random(count) * fleet.status_s
        self._known: dict[int, float] = {}
        lengths = np.concatenate([traffic.left_s, traffic.lengths_s])
        self._left_s = lengths.tolist()
        self._begin_s = [0.0] * len(lengths)
        self._moves = [0] * len(lengths)
        """The number of times that a call was interrupted: what was to happen to it before that does not."""
        self._tries: dict[int, int] = {}
        self._away_s: dict[int, float] = {}
        self._worker_of = [-1] * len(lengths)
        self._found = FleetRun(fleet, traffic.end_s)

    def run(self) -> FleetRun:
        fleet, found, traffic = self._fleet, self._found, self._traffic
        for number, state in enumerate(self._is):
            if state is _Is.UP:
                self._see(number)
        for call in range(len(traffic.left_s)):
            self._place(call)
        for at_s in self._dice.uniform(0.1, 0.9, fleet.deaths) * traffic.end_s:
            self._later(float(at_s), _What.DEATH)
        if self._scale is not None:
            self._later(0.0, _What.SCALE)
        self._count_machines()
        first = len(traffic.left_s)
        for number, at_s in enumerate(traffic.starts_s.tolist()):
            self._until(at_s)
            found.offered += 1
            if not self._place(first + number):
                found.refused += 1
        self._until(traffic.end_s)
        for call, worker in enumerate(self._worker_of):
            if worker >= 0:
                self._note_part(call, worker)
        for since_s in self._on_since_s:
            if not math.isnan(since_s):
                found.machine_s += traffic.end_s - since_s
        return found

    def _until(self, at_s: float) -> None:
        events = self._events
        while events and events[0][0] <= at_s:
            self._now_s, what, number, stamp = heapq.heappop(events)
            match what:
                case _What.END:
                    if self._moves[number] == stamp and self._worker_of[number] >= 0:
                        self._end(number)
                case _What.STATUS:
                    self._told[number] = False
                    self._see(number)
                case _What.READY:
                    if self._is[number] is _Is.STARTING and self._ready[number] == stamp:
                        self._is[number] = _Is.UP
                        self._see(number)
                case _What.DEATH:
                    self._die()
                case _What.RESUME:
                    self._resume(number)
                case _:
                    self._rescale()
        self._now_s = at_s

    def _later(self, at_s: float, what: _What, number: int = 0, stamp: int = 0) -> None:
        heapq.heappush(self._events, (at_s, what, number, stamp))

    # --- the gateway ---

    def _place(self, call: int) -> bool:
        fleet = self._fleet
        gateway = int(self._dice.integers(fleet.gateways)) if fleet.gateways > 1 else 0
        ranks = self._ranks[gateway]
        asked: list[int] = []
        taken = False
        while not taken:
            worker = int(ranks.argmin())
            rank = float(ranks[worker])
            if rank == math.inf or (asked and rank >= FULL):
                break
            asked.append(worker)
            self._seen[gateway, worker] += 1
            ranks[worker] = math.inf
            taken = self._is[worker] is _Is.UP and self._calls[worker] < fleet.places
            if taken:
                self._take(call, worker)
            elif rank < FULL:
                self._found.sent_back += 1
        for worker in asked:
            self._tell(worker)
            if self._is[worker] is _Is.UP:
                ranks[worker] = self._rank_of(gateway, worker)
        return taken

    def _see(self, worker: int) -> None:
        """All gateways get its status."""
        self._seen[:, worker] = self._calls[worker]
        for gateway in range(self._fleet.gateways):
            self._ranks[gateway, worker] = self._rank_of(gateway, worker) if self._is[worker] is _Is.UP else np.inf

    def _tell(self, worker: int) -> None:
        """A worker has news, which its next status tells."""
        if not self._told[worker]:
            self._told[worker] = True
            every_s, phase_s = self._fleet.status_s, float(self._phase_s[worker])
            self._later((math.floor((self._now_s - phase_s) / every_s) + 1) * every_s + phase_s, _What.STATUS, worker)

    def _rank_of(self, gateway: int, worker: int) -> float:
        calls = int(self._seen[gateway, worker])
        known = self._known.get(calls)
        if known is None:
            known = self._known[calls] = self._rank(self._as_seen(worker, calls))
        return known + float(self._ties[gateway, worker])

    def _as_seen(self, worker: int, calls: int) -> SeenWorker:
        return SeenWorker(worker, calls, self._fleet.places, calls * self._fleet.loop / self._fleet.loop_most)

    # --- calls ---

    def _take(self, call: int, worker: int) -> None:
        self._worker_of[call] = worker
        self._begin_s[call] = self._now_s
        self._on[worker].add(call)
        self._later(self._now_s + self._left_s[call], _What.END, call, self._moves[call])
        self._changed(worker, 1)
        self._up += 1
        self._found.most_calls = max(self._found.most_calls, self._up)

    def _changed(self, worker: int, by: int) -> None:
        machine = worker // self._fleet.workers
        self._calls[worker] += by
        self._machine_calls[machine] += by
        self._found.of_worker.note(self._now_s, worker, self._calls[worker])
        self._found.of_machine.note(self._now_s, machine, self._machine_calls[machine])
        self._tell(worker)

    def _end(self, call: int) -> None:
        worker = self._worker_of[call]
        self._leave(call)
        if self._is[worker] is _Is.DRAINING and not self._calls[worker]:
            self._stop(worker)

    def _leave(self, call: int) -> None:
        worker = self._worker_of[call]
        self._note_part(call, worker)
        self._worker_of[call] = -1
        self._on[worker].discard(call)
        self._up -= 1
        self._changed(worker, -1)

    def _note_part(self, call: int, worker: int) -> None:
        parts = self._found.parts
        parts.worker.append(worker)
        parts.begin_s.append(self._begin_s[call])
        parts.end_s.append(self._now_s)

    def _resume(self, call: int) -> None:
        if self._place(call):
            self._found.resumed_s.append(self._now_s - self._away_s[call])
            return
        self._tries[call] = self._tries.get(call, 0) + 1
        if self._tries[call] > RESUMES:
            self._found.lost += 1
        else:
            self._later(self._now_s + RESUME_AGAIN_S, _What.RESUME, call)

    # --- machines ---

    def _die(self) -> None:
        """One of those that run."""
        fleet = self._fleet
        running = [machine for machine, since_s in enumerate(self._on_since_s) if not math.isnan(since_s)]
        if not running:
            return
        machine = running[int(self._dice.integers(len(running)))]
        self._machine_up_s[machine] = self._now_s + fleet.machine_start_s
        for worker in range(machine * fleet.workers, (machine + 1) * fleet.workers):
            for call in list(self._on[worker]):
                self._left_s[call] -= self._now_s - self._begin_s[call]
                self._leave(call)
                self._moves[call] += 1
                self._tries[call] = 0
                self._away_s[call] = self._now_s
                self._found.interrupted += 1
                self._later(self._now_s + fleet.resume_s, _What.RESUME, call)
            state = self._is[worker]
            if state in (_Is.UP, _Is.STARTING):
                self._start(worker)
            elif state is _Is.DRAINING:
                self._is[worker] = _Is.OFF
            self._tell(worker)
        self._turn_off(machine)

    def _start(self, worker: int) -> None:
        begin_s = max(self._now_s, self._machine_up_s[worker // self._fleet.workers])
        self._is[worker] = _Is.STARTING
        self._since_s[worker] = self._now_s
        self._ready[worker] += 1
        self._later(begin_s + self._fleet.worker_start_s, _What.READY, worker, self._ready[worker])

    def _stop(self, worker: int) -> None:
        self._is[worker] = _Is.OFF
        self._turn_off(worker // self._fleet.workers)

    def _turn_off(self, machine: int) -> None:
        """If none of its workers is left."""
        first = machine * self._fleet.workers
        if all(state is _Is.OFF for state in self._is[first : first + self._fleet.workers]):
            self._found.machine_s += self._now_s - self._on_since_s[machine]
            self._on_since_s[machine] = math.nan

    def _count_machines(self) -> None:
        running = sum(not math.isnan(since_s) for since_s in self._on_since_s)
        self._found.most_machines = max(self._found.most_machines, running)

    def _rescale(self) -> None:
        assert self._scale is not None
        states = ((number, state) for number, state in enumerate(self._is) if state is not _Is.OFF)
        start, drain = self._scale([self._seen_by_scale(number, state) for number, state in states], self._now_s)
        for worker in drain:
            self._is[worker] = _Is.DRAINING
            self._ranks[:, worker] = np.inf
            if not self._calls[worker]:
                self._stop(worker)
        for _ in range(start):
            self._start_one()
        self._count_machines()
        self._later(self._now_s + SCALE_S, _What.SCALE)

    def _seen_by_scale(self, number: int, state: _Is) -> SeenWorker:
        calls, unready_s = self._calls[number], self._now_s - self._since_s[number] if state is _Is.STARTING else 0.0
        level = calls * self._fleet.loop / self._fleet.loop_most
        return SeenWorker(number, calls, self._fleet.places, level, state is not _Is.STARTING, state is _Is.DRAINING, unready_s)

    def _start_one(self) -> None:
        """On a machine that runs where there is room, else on another one, which is started."""
        off = [number for number, state in enumerate(self._is) if state is _Is.OFF]
        if not off:
            return
        workers = self._fleet.workers
        worker = next((number for number in off if not math.isnan(self._on_since_s[number // workers])), off[0])
        machine = worker // workers
        if math.isnan(self._on_since_s[machine]):
            self._on_since_s[machine] = self._now_s
            self._machine_up_s[machine] = self._now_s + self._fleet.machine_start_s
        self._start(worker)
