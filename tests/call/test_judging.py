"""Turn judges in a call, with judges that are late, fail or cannot tell on purpose."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.fakes import HeldRecogniser
from voiceagent.call.hearing import Hearing
from voiceagent.call.judging import Judging
from voiceagent.call.scope import CallClock, CallScope, CallTasks
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.history import Message
from voiceagent.errors import EngineError
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings
from voiceagent.media.leg import InboundFrame
from voiceagent.settings.agent import TurnSettings
from voiceagent.turn_judges.judge import JudgedPause
from voiceagent.turn_taking.endpointing import Prosody
from voiceagent.vad.detector import SpeechOnset

TOOLS = [{"type": "function", "function": {"name": "f"}}]
ASKED = act.JudgeTurn(1, 7, (Message("system", "Be brief."), Message("user", "Call me back.")))


@dataclass
class Judge:
    """Answers as it is told to."""

    name: str
    needs_words: bool
    answer: Callable[[JudgedPause], Awaitable[float | None]]
    asked: list[JudgedPause] = field(default_factory=list)
    problems: ClassVar[dict[str, int]] = {}

    async def judge(self, pause: JudgedPause) -> float | None:
        self.asked.append(pause)
        return await self.answer(pause)

    async def close(self) -> None: ...


async def likely(pause: JudgedPause) -> float | None:
    return 0.75


async def unknown(pause: JudgedPause) -> float | None:
    return None


SESSION: Any = object()
"""These judges ask no language model."""


async def never(pause: JudgedPause) -> float | None:
    await asyncio.Event().wait()
    return 1.0


async def fail(pause: JudgedPause) -> float | None:
    raise EngineError("on purpose")


async def break_(pause: JudgedPause) -> float | None:
    raise ZeroDivisionError


@dataclass
class Room:
    judging: Judging
    tasks: CallTasks
    posted: list[ev.Event]
    outcomes: list[str]

    async def settled(self) -> None:
        """Until no judge is at work."""
        while tasks := self.tasks._owned.get("judging"):
            await asyncio.wait(tasks)


@asynccontextmanager
async def room(*judges: Judge) -> AsyncIterator[Room]:
    posted: list[ev.Event] = []
    outcomes: list[str] = []
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        audio = np.ones(320, np.int16)
        judging = Judging(
            CallScope("call", CallClock(), tasks, posted.append), judges, lambda: audio, SESSION, lambda: TOOLS, outcomes.append
        )
        yield Room(judging, tasks, posted, outcomes)
        tasks.cancel_all()


def paused(pause_id: int = 7) -> ev.SpeechPaused:
    return ev.SpeechPaused(1000.0, 1, pause_id, 900.0, 600.0, Prosody())


async def test_judges_by_sound_begin_with_the_pause_and_those_by_words_when_these_are_known() -> None:
    ear, meaning = Judge("ear", False, likely), Judge("meaning", True, likely)
    async with room(ear, meaning) as call:
        call.judging.follow(paused())
        await call.settled()
        assert [(len(pause.audio), pause.words) for pause in ear.asked] == [(320, "")]
        assert not meaning.asked
        call.judging.ask(ASKED)
        await call.settled()
    (pause,) = meaning.asked
    assert (pause.language_model, pause.words, pause.messages, pause.tools) == (SESSION, "Call me back.", ASKED.messages, TOOLS)
    told = [event for event in call.posted if isinstance(event, ev.TurnJudged)]
    assert [(event.utterance_id, event.pause_id, event.judge, event.chance) for event in told] == [
        (1, 7, "ear", 0.75),
        (1, 7, "meaning", 0.75),
    ]
    assert all(0 <= event.took_ms < 1000 for event in told)
    assert call.outcomes == ["told", "told"]


@pytest.mark.parametrize(
    "event", [ev.SpeechResumed(1100.0, 1), ev.Endpoint(1100.0, 1, 900.0), ev.SpeechStarted(1100.0, 2, 1000.0)]
)
async def test_speech_that_goes_on_and_the_endpoint_end_what_is_left_of_a_judgement(event: ev.Event) -> None:
    async with room(Judge("ear", False, never), Judge("meaning", True, never)) as call:
        call.judging.follow(paused())
        call.judging.ask(ASKED)
        await asyncio.sleep(0)
        call.judging.follow(event)
        await call.settled()
    assert call.posted == []
    assert call.outcomes == ["too_late", "too_late"]


async def test_a_judge_that_cannot_tell_says_so() -> None:
    async with room(Judge("ear", False, unknown)) as call:
        call.judging.follow(paused())
        await call.settled()
    assert [(event.judge, event.chance) for event in call.posted if isinstance(event, ev.TurnJudged)] == [("ear", None)]
    assert call.outcomes == ["unknown"]


async def test_errors_are_counted_and_each_kind_is_logged_once_and_no_turn_waits(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with room(Judge("ear", False, fail), Judge("plugin", False, break_), Judge("mine", False, likely)) as call:
            for pause_id in (7, 8):
                call.judging.follow(paused(pause_id))
                await call.settled()
    told = [(event.judge, event.chance is None) for event in call.posted if isinstance(event, ev.TurnJudged)]
    assert sorted(told) == sorted([("ear", True), ("plugin", True), ("mine", False)] * 2)
    assert sorted(call.outcomes) == ["failed"] * 4 + ["told"] * 2
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        "call call: the turn judge ear failed, turns end without it: on purpose",
        "call call: the turn judge plugin failed, turns end without it: ZeroDivisionError",
    ]


async def heard(count: int) -> AsyncIterator[InboundFrame]:
    for number in range(count):
        yield InboundFrame(np.full(320, number, np.int16), 20.0 * number, False)


async def test_the_judges_hear_the_utterance_and_at_most_its_last_8_seconds() -> None:
    async with asyncio.TaskGroup() as group:
        checks = load_guards(GuardSettings()).input
        hearing = Hearing(
            CallScope("call", CallClock(), CallTasks(group), lambda event: None), HeldRecogniser(), TurnSettings(), checks
        )
        assert len(hearing.utterance_audio()) == 0
        await hearing.run(heard(30))
        hearing._begin(SpeechOnset(200.0, 0.0, 200.0, 0.0, np.ones(6400, np.int16)))
        await hearing.run(heard(5))
        assert len(hearing.utterance_audio()) == 6400 + 5 * 320
        assert set(hearing.utterance_audio()[-5 * 320 :]) == set(range(5))
        await hearing.run(heard(500))
        assert len(hearing.utterance_audio()) == 8 * 16_000
        assert hearing.utterance_audio()[-1] == 499
