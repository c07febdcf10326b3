"""One trial of a scenario: the call, and what of its expectations does not hold."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from voiceagent.client.dialogue import Exchange
from voiceagent.errors import ConfigError, MediaError
from voiceagent.json_types import JsonObject
from voiceagent.scenarios.checks import Passage, failures
from voiceagent.scenarios.floor_events import FloorEvent
from voiceagent.scenarios.followed_call import FollowedCall
from voiceagent.scenarios.models import Conversation, ScenarioModel
from voiceagent.scenarios.scenario import CallerStep, Expected, Persona, Scenario, Way
from voiceagent.scenarios.speech_caller import Speak, SpeechCaller
from voiceagent.scenarios.text_caller import TextCaller

SETTLED_S = 5.0
"""The longest wait for an event that must come, such as the words of a reply that has ended."""


@dataclass(frozen=True, slots=True)
class Callee:
    """The agent that is called."""

    url: str
    token: str = ""
    monitor_token: str = ""
    timeout_s: float = 30.0
    model: ScenarioModel | None = None
    speak: Speak | None = None


@dataclass(slots=True)
class Trial:
    """The outcome of a trial."""

    scenario: str
    way: Way
    number: int
    call_id: str = ""
    failures: list[str] = field(default_factory=list)
    """Expectations that do not hold, and what broke the call off."""
    known_failure: str = ""
    """The reason why it may fail."""
    skipped: list[str] = field(default_factory=list)
    """Expectations that could not be asked."""
    conversation: list[tuple[str, str]] = field(default_factory=list)
    floor_events: list[FloorEvent] = field(default_factory=list)
    """The agent's behaviour after each thing that the caller said or did, by speech."""
    took_s: float = 0.0

    @property
    def passed(self) -> bool:
        """True if all held."""
        return not self.failures

    @property
    def fails_run(self) -> bool:
        """True if it failed, and nobody knew that it would."""
        return not self.passed and not self.known_failure


async def run_trial(scenario: Scenario, folder: Path, way: Way, number: int, callee: Callee) -> Trial:
    """Call the agent once. Raises ConfigError for what no call can be made with."""
    trial, began = Trial(scenario.name, way, number), time.monotonic()
    trial.known_failure = scenario.known_failure if way == "speech" else ""
    most = scenario.caller.turns if isinstance(scenario.caller, Persona) else len(scenario.caller)
    waits_s = 0.0 if isinstance(scenario.caller, Persona) else sum(step.wait_s for step in scenario.caller)
    limit = asyncio.timeout(callee.timeout_s * (most + 2) + waits_s)
    try:
        async with limit, _caller(scenario, folder, way, callee) as caller:
            trial.call_id = caller.call_id
            async with FollowedCall(callee.url, callee.monitor_token or callee.token, caller.call_id) as followed:
                call = _Call(trial, callee, caller, followed)
                if isinstance(scenario.caller, Persona):
                    await call.play(scenario.caller)
                else:
                    await call.carry_out(scenario.caller)
                await caller.hang_up()
                await followed.until(
                    lambda events: any(event["type"] == "call.ended" for event in events), SETTLED_S, "the end of the call"
                )
                await call.finish(scenario.expect)
    except MediaError as error:
        trial.failures.append(f"the call broke off: {error}")
    except TimeoutError:
        if not limit.expired():
            raise
        trial.failures.append(f"the call took longer than {time.monotonic() - began:.0f} s")
    trial.took_s = time.monotonic() - began
    return trial


def _caller(scenario: Scenario, folder: Path, way: Way, callee: Callee) -> TextCaller | SpeechCaller:
    if way == "text":
        return TextCaller(callee.url, callee.token, callee.timeout_s)
    assert callee.speak is not None
    return SpeechCaller(callee.url, callee.token, scenario.line, folder, callee.speak, callee.timeout_s)


class _Call:
    def __init__(self, trial: Trial, callee: Callee, caller: TextCaller | SpeechCaller, followed: FollowedCall) -> None:
        self._trial, self._callee, self._caller, self._followed = trial, callee, caller, followed
        self._checked = 0
        """The events that belong to steps that are over."""
        self._turns = 0
        self._whole = Passage()

    async def carry_out(self, steps: Sequence[CallerStep]) -> None:
        """Do each step, with what is said over its answer, and check it."""
        left = list(steps)
        while left and not self._caller.is_over:
            step = left.pop(0)
            over = left.pop(0) if left and left[0].over_reply_after_s is not None else None
            await asyncio.sleep(step.wait_s)
            exchanges = await self._do(step, over)
            stop_ms = exchanges[0].barge_in_stop_ms if exchanges else None
            events = [_floor_event(one, each, stop_ms) for one, each in zip((step, over), exchanges, strict=False) if one]
            passage = await self._passage(exchanges, events)
            await self._check(step.expect, passage, f"{step}: ")
            if over is not None and not exchanges:  # by text nothing is said over an answer: it is said after it
                left.insert(0, msgspec.structs.replace(over, over_reply_after_s=None))
            elif over is not None:
                if not events[1].over_reply:
                    self._trial.failures.append(f"{over}: the agent was silent by then; see over_reply_after_s")
                await self._check(over.expect, passage, f"{over}: ")
        for step in left:
            self._trial.failures.append(f"{step}: the call was over")

    async def _do(self, step: CallerStep, over: CallerStep | None = None) -> list[Exchange]:
        if isinstance(self._caller, SpeechCaller):
            return await self._caller.do(step, over) if step.does_something else []
        if step.text:
            await self._caller.say(step.text)
        return []

    async def play(self, persona: Persona) -> None:
        """Have the model say what the person says."""
        if self._callee.model is None:
            raise ConfigError(
                f"{self._trial.scenario}: its caller is played by a language model; name it with --model-url and --model"
            )
        for _ in range(persona.turns):
            words = await self._callee.model.next_words(persona, self._spoken())
            if not words or self._caller.is_over:
                return
            step = CallerStep(words)
            exchanges = await self._do(step)
            await self._passage(exchanges, [_floor_event(step, one) for one in exchanges])

    async def finish(self, expected: Expected) -> None:
        """Check the whole call."""
        self._whole.events = list(self._followed.events)
        await self._check(expected, self._whole, "")
        self._trial.conversation = list(self._spoken())

    async def _passage(self, exchanges: Sequence[Exchange], floor_events: Sequence[FloorEvent]) -> Passage:
        """Returns what has happened since the step before; waits for the events of what was answered."""
        turns = self._caller.turns[self._turns :]
        self._turns += len(turns)
        told = self._turns
        await self._followed.until(
            lambda events: sum(event["type"] == "turn.measured" for event in events) >= told,
            SETTLED_S,
            "the events of the answer",
        )
        events = self._followed.events[self._checked :]
        self._checked += len(events)
        over = [str(stage) for turn in turns for stage in _listed(turn.get("missed"))]
        waits = [event.response_ms for event in floor_events if event.response_ms is not None]
        if isinstance(self._caller, TextCaller):
            waits, self._caller.waits_ms = self._caller.waits_ms, []
        stops = [one.barge_in_stop_ms for one in exchanges if one.barge_in_stop_ms is not None]
        passage = Passage(events, waits, stops, over, list(floor_events))
        self._trial.floor_events += floor_events
        self._whole.floor_events += floor_events
        self._whole.waits_ms += passage.waits_ms
        self._whole.stops_ms += passage.stops_ms
        self._whole.over_budget += over
        return passage

    async def _check(self, expected: Expected, passage: Passage, name: str) -> None:
        before = self._followed.events[: self._checked - len(passage.events)] if passage is not self._whole else []
        self._trial.failures += [f"{name}{failure}" for failure in failures(expected, passage, before)]
        if not expected.judge:
            return
        if self._callee.model is None:
            self._trial.skipped.append(f"{name}judge {expected.judge!r}: no model was named; give --model-url and --model")
            return
        answer = " ".join((await self._callee.model.judgement(expected.judge, self._spoken())).split())
        if not answer.lower().startswith("yes"):
            self._trial.failures.append(f"{name}judge {expected.judge!r}: it answered {answer[:80]!r}")

    def _spoken(self) -> Conversation:
        return [line for event in self._followed.events if (line := _line(event))[1]]


def _line(event: JsonObject) -> tuple[str, str]:
    if event["type"] in ("caller.said", "caller.typed"):
        return "caller", str(event.get("text", ""))
    return "agent", str(event.get("heard", "")) if event["type"] == "agent.said" else ""


def _listed(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _floor_event(step: CallerStep, exchange: Exchange, stop_ms: float | None = None) -> FloorEvent:
    over, is_answered = exchange.spoken_over, any(turn.heard for turn in exchange.turns)
    yielded = over is not None and over.is_interrupted
    return FloorEvent(
        step.behaviour,
        over_reply=over is not None,
        yielded=yielded,
        stop_ms=stop_ms if yielded else None,
        response_ms=exchange.voice_to_voice_ms if is_answered else None,
    )
