"""Calls that share a machine in virtual time: the real turn engine, turns and budget actions, with engines whose work takes
longer the more of it there is. So it shows what an action gains and costs without a second of load."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from typing_extensions import override

from voiceagent.call.hearing import FEWER, PARTIAL_SHARE
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Degradation, EndpointingRules, Phrases, Rules, SpeculationRules
from voiceagent.latency.budgets import Budgets, check_turn
from voiceagent.latency.burn import BudgetBurn
from voiceagent.latency.spans import TurnReport
from voiceagent.latency.turns import TurnMeter
from voiceagent.server.calls.admission import BUSY_RETRY_AFTER_S, CARRIED_ANYWAY
from voiceagent.server.calls.shedding import Shedding
from voiceagent.simulation.virtual_call import WORD_MS, TimedCall
from voiceagent.turn_taking.endpointing import Prosody

CORES = 2.0
FIRST_WORDS = 4
"""Words of a clause that are synthesised before it is heard."""
PARTIAL_INTERVAL_MS, SAID_WORD_MS, PAUSE_MS, INSIDE_MS, ENDPOINT_MS = 300.0, 290.0, 100.0, 400.0, 500.0
WORDS = ["Could", "you", "please", "tell", "me", "what", "the", "weather", "will", "be", "like", "in", "Paris", "tomorrow?"]
REPLY = (
    "It will be sunny in Paris tomorrow, with about twenty degrees in the afternoon. "
    "In the evening there may be a little rain, and the wind comes from the west. "
    "On the day after it will be cooler. Would you like to know anything else?"
)
TURNS_A_CALL = 5
BUSY_JOBS = 4
"""Generations at a time from which on the language model is taken for full."""


@dataclass(frozen=True, slots=True)
class Costs:
    """The work of one core, in ms."""

    partial_ms: float
    final_ms: float
    prefill_ms: float
    word_written_ms: float
    word_spoken_ms: float


HEARING = Costs(150.0, 150.0, 60.0, 5.0, 8.0)
"""A machine on which the recogniser has most of the work."""
MODEL = Costs(40.0, 50.0, 250.0, 30.0, 8.0)
"""One on which the language model has it."""


@dataclass(eq=False, slots=True)
class Job:
    """Work that is being done."""

    left_ms: float
    done: Callable[[], None]
    reply_id: int = -1
    """The reply that it is for. It ends with that."""
    writes: bool = False
    """True for a generation."""


class Machine:
    """The clock and the cores that all calls share: each job gets a core, or its part of them."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self.order = 0
        self.work_ms = 0.0
        """Work done so far, of all cores."""
        self.jobs: dict[int, Job] = {}
        self._due: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._since_ms = 0.0
        self._planned = 0

    def after(self, ms: float, do: Callable[..., None], *args: object) -> None:
        """Schedule a function `ms` from now."""
        self.order += 1
        heapq.heappush(self._due, (self.now_ms + max(0.0, ms), self.order, do, args))

    def run_until(self, end_ms: float) -> None:
        """Do what is due until then."""
        while self._due and self._due[0][0] < end_ms:
            self.now_ms, _, do, args = heapq.heappop(self._due)
            do(*args)

    def work(self, job: Job) -> int:
        """Begin a job. Returns its number."""
        self._reckon()
        self.order += 1
        self.jobs[self.order] = job
        number = self.order
        self._plan()
        return number

    def stop(self, numbers: Iterator[int]) -> None:
        """Leave jobs undone."""
        self._reckon()
        for number in tuple(numbers):
            self.jobs.pop(number, None)
        self._plan()

    def _speed(self) -> float:
        return min(1.0, CORES / max(1, len(self.jobs)))

    def _reckon(self) -> None:
        done_ms = (self.now_ms - self._since_ms) * self._speed()
        self._since_ms = self.now_ms
        for job in self.jobs.values():
            job.left_ms -= done_ms
        self.work_ms += done_ms * len(self.jobs)

    def _plan(self) -> None:
        self._planned += 1
        if self.jobs:
            least_ms = min(job.left_ms for job in self.jobs.values())
            self.after(least_ms / self._speed(), self._finish, self._planned)

    def _finish(self, planned: int) -> None:
        if planned != self._planned:
            return
        self._reckon()
        over = [number for number, job in self.jobs.items() if job.left_ms <= 1e-6]
        done = [self.jobs.pop(number).done for number in over]
        self._plan()
        for tell in done:
            tell()


@dataclass(slots=True)
class Load:
    """The turns of all calls on a machine."""

    burn: BudgetBurn
    budgets: Budgets
    costs: Costs = HEARING
    allowed: frozenset[Degradation] = frozenset(Degradation)
    """The degradations that are carried out."""
    speculates: bool = True
    tools: bool = False
    """True if the language model may call tools, which it never does."""
    calls: int = 0
    """Calls that are up."""
    refused: int = 0
    machine: Machine = field(default_factory=Machine)
    turns: list[tuple[float, TurnReport]] = field(default_factory=list)
    """With the times of their ends, in ms."""
    partials: int = 0
    shedding: Shedding = field(default_factory=Shedding)
    words: int = 0
    """Words of replies that callers heard."""

    def admit(self) -> bool:
        """Take a call, by the rule of `server.calls.admission`."""
        now_s = self.machine.now_ms / 1000
        self.burn.at(now_s)
        limit = self.shedding.limit(now_s, self.burn.sheds(), self.calls)
        if limit is not None and self.calls >= max(CARRIED_ANYWAY, limit):
            self.refused += 1
            return False
        self.calls += 1
        return True

    def measured(self, report: TurnReport) -> None:
        """A turn is over."""
        misses = check_turn(report, self.budgets)
        self.burn.turn(self.machine.now_ms / 1000, report.durations_ms(), {miss.stage for miss in misses})
        self.turns.append((self.machine.now_ms, report))

    def waits_ms(self, from_ms: float) -> list[float]:
        """From voice to voice, of the turns that ended later."""
        return [turn.voice_to_voice_ms for at_ms, turn in self.turns if at_ms >= from_ms and turn.voice_to_voice_ms is not None]


class LoadedCall(TimedCall):
    """One call, in which the caller asks, waits for the answer and asks again. In four of ten questions it pauses in the middle.
    Another caller calls a second after the end, so as many call as before."""

    def __init__(self, load: Load, seed: int, profile: str, within_ms: float = 10_000.0) -> None:
        speculation = SpeculationRules() if load.speculates else SpeculationRules(max_replies=0)
        rules = Rules(
            language="en",
            speculation=speculation,
            phrases=Phrases(fillers=None),
            endpointing=EndpointingRules(max_delay_ms=ENDPOINT_MS),
        )
        self._meter = TurnMeter(f"call {seed}", profile)
        super().__init__(rules, self._measure)
        self._load, self._machine, self._rng = load, load.machine, random.Random(seed)
        self._utterance = self._pause_id = self._endpointings = 0
        self._said, self._speech_end_ms, self._began_ms = 0, 0.0, 0.0
        self._speaking = self._is_open = self._decoding = False
        self._partial_cost_ms, self._partial_ms = load.costs.partial_ms, 0.0
        self._dead: set[int] = set()
        """Replies of which nothing more is written."""
        self._gone: set[int] = set()
        """Replies that were cancelled."""
        self._ours: set[int] = set()
        self._seed, self._profile = seed, profile
        self.after(self._rng.uniform(0, within_ms), self._begin)

    def _measure(self, event: ev.Event, actions: tuple[act.AnyAction, ...]) -> None:
        report = self._meter.observe(event, actions, self.now_ms / 1000)
        if report is not None:
            self._load.measured(report)

    @override
    def after(self, ms: float, do: Callable[..., None], *args: object) -> None:
        self._machine.after(ms, self._at_its_time, do, args)

    def _at_its_time(self, do: Callable[..., None], args: tuple[object, ...]) -> None:
        self.now_ms = self.leg_ms = self._machine.now_ms
        do(*args)

    def _work(self, work_ms: float, done: Callable[[], None], reply_id: int = -1, *, writes: bool = False) -> None:
        self._ours = {number for number in self._ours if number in self._machine.jobs}
        self._ours.add(self._machine.work(Job(work_ms, lambda: self._at_its_time(done, ()), reply_id, writes)))

    def _begin(self) -> None:
        if not self._load.admit():
            self.after(BUSY_RETRY_AFTER_S * 1000, self._begin)
            return
        self.feed(ev.CallStarted(self.now_ms))
        self._ask()

    # --- the caller ---

    def _ask(self) -> None:
        self._utterance += 1
        self._said, self._is_open = 0, True
        self.feed(ev.SpeechStarted(self.now_ms, self._utterance, self.now_ms))
        self._follow_degradations()
        self._say(len(WORDS) // 2 if self._rng.random() < 0.4 else len(WORDS))

    def _ask_or_hang_up(self) -> None:
        if self._utterance < TURNS_A_CALL:
            self._ask()
            return
        self._load.calls -= 1
        self.feed(ev.HangUp(self.now_ms, "hangup"))
        LoadedCall(self._load, self._seed + 1000, self._profile, 1000.0)

    def _follow_degradations(self) -> None:
        self._load.burn.at(self.now_ms / 1000)
        wanted = tuple(one for one in self._load.burn.degradations() if one in self._load.allowed)
        if wanted != self.state.degraded:
            self.feed(ev.DegradationChanged(self.now_ms, wanted))

    def _say(self, until: int) -> None:
        self._speaking, self._began_ms, self._partial_ms = True, self.now_ms, self.now_ms
        self.after((until - self._said) * SAID_WORD_MS, self._fall_silent, until)
        self._listen(self._utterance, self._pause_id)

    def _fall_silent(self, until: int) -> None:
        self._said, self._speaking, self._speech_end_ms = until, False, self.now_ms
        self.after(PAUSE_MS, self._pause)
        if until < len(WORDS):
            self.after(INSIDE_MS, self._go_on)

    def _go_on(self) -> None:
        if not self._is_open:  # it was taken for the end
            return
        self._endpointings += 1
        self.feed(ev.SpeechResumed(self.now_ms, self._utterance))
        self._say(len(WORDS))

    # --- the ears ---

    def _listen(self, utterance: int, pause_id: int) -> None:
        if (utterance, pause_id) != (self._utterance, self._pause_id) or not self._speaking:
            return
        interval_ms = max(PARTIAL_INTERVAL_MS, self._partial_cost_ms / PARTIAL_SHARE)
        if Degradation.FEWER_PARTIALS in self.state.degraded:
            interval_ms *= FEWER
        if not self._decoding and self.now_ms - self._partial_ms >= interval_ms:
            self._decoding, self._partial_ms = True, self.now_ms
            self._work(self._load.costs.partial_ms, lambda: self._decoded(utterance))
        self.after(20.0, self._listen, utterance, pause_id)

    def _decoded(self, utterance: int) -> None:
        self._decoding = False
        self._load.partials += 1
        self._partial_cost_ms = self.now_ms - self._partial_ms
        if utterance == self._utterance and self._is_open:
            words = WORDS[: max(1, int((self.now_ms - self._began_ms) / SAID_WORD_MS))]
            text = " ".join(words[:-1])
            self.feed(ev.Transcript(self.now_ms, utterance, text, words[-1], self._partial_cost_ms))

    def _pause(self) -> None:
        self._pause_id += 1
        load = sum(job.writes for job in self._machine.jobs.values()) / BUSY_JOBS
        voiced_ms = self._said * SAID_WORD_MS
        paused = (self._utterance, self._pause_id, self._speech_end_ms, voiced_ms)
        self.feed(ev.SpeechPaused(self.now_ms, *paused, Prosody(), load))

    def _final(self, utterance: int, pause_id: int, count: int) -> None:
        if pause_id == self._pause_id:
            self.feed(ev.FinalTranscript(self.now_ms, utterance, " ".join(WORDS[:count]), pause_id))

    def _endpoint(self, number: int, *, over: bool) -> None:
        if number != self._endpointings or not self._is_open:
            return
        if over:
            self._is_open = False
            self.feed(ev.Endpoint(self.now_ms, self._utterance, self._speech_end_ms))
        else:
            self.feed(ev.SilenceReached(self.now_ms, self._utterance, self._pause_id))

    # --- the engines ---

    @override
    def asked(self, action: act.AnyAction) -> None:
        match action:
            case act.Transcribe(utterance):
                pause_id, count = self._pause_id, self._said
                self._work(self._load.costs.final_ms, lambda: self._final(utterance, pause_id, count))
            case act.SetEndpointing():
                self._endpointings += 1
                number, silence_ms = self._endpointings, self.now_ms - self._speech_end_ms
                if action.eager_ms < action.endpoint_ms:
                    self.after(action.eager_ms - silence_ms, lambda: self._endpoint(number, over=False))
                self.after(action.endpoint_ms - silence_ms, lambda: self._endpoint(number, over=True))
            case act.Generate(reply_id):
                self._work(self._load.costs.prefill_ms, lambda: self._write(reply_id, REPLY.split()), reply_id, writes=True)
            case act.EndGeneration(reply_id):
                self._dead.add(reply_id)
            case act.Speak(reply_id, clause, text):
                words = text.split()
                first_ms = self._load.costs.word_spoken_ms * min(FIRST_WORDS, len(words))
                self._work(first_ms, lambda: self._spoken(reply_id, clause, words), reply_id)
            case act.ReplyEnded(_, _, heard):
                self._load.words += len(heard.split())
                self.after(self._rng.uniform(600, 1500), self._ask_or_hang_up)

    def _write(self, reply_id: int, words: list[str]) -> None:
        if reply_id in self._dead:
            return
        if not words:
            self.feed(ev.GenerationDone(self.now_ms, reply_id))
            return
        self.feed(ev.TextDelta(self.now_ms, reply_id, f"{words[0]} ", may_call=self._load.tools))
        self._work(self._load.costs.word_written_ms, lambda: self._write(reply_id, words[1:]), reply_id, writes=True)

    def _spoken(self, reply_id: int, clause: int, words: list[str]) -> None:
        """The first words of a clause are there. The rest is made while they are heard."""
        if reply_id in self._gone:
            return
        spoken = tuple(ev.SpokenWord(word, i * WORD_MS, (i + 1) * WORD_MS) for i, word in enumerate(words))
        if rest := words[FIRST_WORDS:]:
            self._work(self._load.costs.word_spoken_ms * len(rest), lambda: None, reply_id)
        self.synthesised(reply_id, clause, spoken, len(words) * WORD_MS)

    @override
    def cancelled(self, reply_id: int) -> None:
        self._gone.add(reply_id)
        self._dead.add(reply_id)
        numbers = (number for number in self._ours if number in self._machine.jobs)
        self._machine.stop(number for number in numbers if self._machine.jobs[number].reply_id == reply_id)
