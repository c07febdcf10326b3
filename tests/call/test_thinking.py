"""The language model's text on its way through a guard that is waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

import numpy as np
import pytest

from tests.call.test_speaking import LateVoice
from tests.fakes import SilentLeg
from tests.guard.screening_service import ScreeningService
from tests.guard.test_screening import screened
from tests.loopback import on_loopback
from voiceagent.call import Call
from voiceagent.call.observer import CallObserver
from voiceagent.call.scope import AgentParts, CallClock, CallScope, CallTasks
from voiceagent.call.speaking import Speaking
from voiceagent.call.thinking import _Pieces, owner
from voiceagent.conversation import actions as act
from voiceagent.conversation import events as ev
from voiceagent.conversation.rules import Degradation
from voiceagent.engines import Engines
from voiceagent.errors import EngineError
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings, OutputRules, PluginSettings
from voiceagent.guard.window import OutputWindow, WindowCheck
from voiceagent.latency.budgets import load_budgets
from voiceagent.llm.engine import Generated, GeneratedText, HistoryLimits
from voiceagent.media.playout import Playout
from voiceagent.resources import default_budgets_file
from voiceagent.settings.agent import AgentConfig, PhraseSettings
from voiceagent.task_owner import running
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.engine import SpeechChunk
from voiceagent.tts.spoken_voice import AgentSpeech

CLAUSES = ["One is here,", " two is here,", " three is here,", " four is here,", " five."]


async def _clauses(all_given: asyncio.Event, clauses: list[str]) -> AsyncGenerator[Generated, None]:
    for clause in clauses:
        for word in clause.split(" "):
            yield GeneratedText(f"{word} ")
        await asyncio.sleep(0)
    all_given.set()


async def _checked(service: ScreeningService, clauses: list[str], all_given: asyncio.Event) -> list[WindowCheck]:
    found: list[WindowCheck | None] = []
    async with screened(service) as (guards, _), aclosing(_clauses(all_given, clauses)) as stream:
        window, pieces = OutputWindow(guards.output, guards.window_tokens), _Pieces(stream)
        async with pieces.read_ahead():
            async for piece in pieces:
                assert isinstance(piece, GeneratedText)
                found.append(await window.add(piece.text, more=pieces.more))
                if found[-1] is not None and found[-1].verdict.blocked:
                    break
            else:
                found.append(await window.finish())
    return [each for each in found if each is not None]


class _Patient(ScreeningService):
    """Answers its first request when the whole reply was written."""

    def __init__(self, all_given: asyncio.Event) -> None:
        super().__init__()
        self._all_given = all_given

    async def _answer(self, request: Any) -> Any:
        await self._all_given.wait()
        return await super()._answer(request)


async def test_windows_that_come_while_the_service_is_asked_join_in_one_request() -> None:
    given = asyncio.Event()
    service = _Patient(given)
    checked = await _checked(service, CLAUSES, given)
    assert len(service.asked) < len(CLAUSES) - 1
    assert "".join(check.text for check in checked).split() == " ".join(CLAUSES).split()
    assert service.asked[-1]["messages"][0]["content"].split() == " ".join(CLAUSES).split()


async def test_a_hit_in_a_joined_window_stops_all_of_it() -> None:
    given = asyncio.Event()
    checked = await _checked(_Patient(given), [*CLAUSES[:3], " go to the casino,", " five."], given)
    assert checked[-1].verdict.rule == "http: custom/gambling"
    assert "casino" not in "".join(check.text for check in checked)


@pytest.mark.parametrize("error", [EngineError("it stopped"), RuntimeError("it broke")])
async def test_an_error_of_the_model_comes_behind_the_pieces_before_it(error: Exception) -> None:
    async def failing() -> AsyncGenerator[Generated, None]:
        yield GeneratedText("One ")
        raise error

    async with aclosing(failing()) as stream:
        pieces = _Pieces(stream)
        async with pieces.read_ahead():
            taken = aiter(pieces)
            assert await anext(taken) == GeneratedText("One ")
            with pytest.raises(type(error)):
                await anext(taken)


class CountedVoice(LateVoice):
    """Counts the clauses that it was asked for, and those that it finished."""

    def __init__(self) -> None:
        super().__init__(0)
        self.asked: list[str] = []
        self.finished = asyncio.Event()

    async def synthesise(self, text: str) -> AsyncGenerator[SpeechChunk, None]:
        self.asked.append(text)
        if text == "fails":
            raise EngineError("no voice")
        async for chunk in super().synthesise(text):
            yield chunk
        self.finished.set()


async def _speaking(prepared: str, spoken: str) -> tuple[CountedVoice, Playout, list[ev.Event]]:
    """Prepares a clause of a reply, and speaks another or the same. Empty: the reply is cancelled."""
    events: list[ev.Event] = []
    voice, playout = CountedVoice(), Playout()
    async with asyncio.TaskGroup() as group:
        tasks = CallTasks(group)
        speaking = Speaking(CallScope("call", CallClock(), tasks, events.append), voice, playout)
        speaking.prepare(1, prepared)
        if prepared != "fails":
            await voice.finished.wait()
        assert playout.next_frame() is None
        if spoken:
            speaking.speak(act.Speak(1, 0, spoken))
        else:
            tasks.cancel(owner(1))
    return voice, playout, events


async def test_a_prepared_clause_is_sent_only_when_it_is_spoken_and_synthesised_once() -> None:
    voice, playout, _ = await _speaking("hello", "hello")
    frame = playout.next_frame()
    assert frame is not None
    assert np.any(frame)
    assert voice.asked == ["hello"]


async def test_another_clause_than_the_prepared_one_is_synthesised_anew() -> None:
    voice, _, events = await _speaking("the casino", "I may not say that.")
    assert voice.asked == ["the casino", "I may not say that."]
    assert {word.text for event in events if isinstance(event, ev.ClauseAudio) for word in event.words} == {voice.asked[1]}


async def test_a_voice_that_fails_in_a_prepared_clause_fails_where_it_is_spoken() -> None:
    voice, _, events = await _speaking("fails", "fails")
    assert voice.asked == ["fails"]
    assert any(isinstance(event, ev.ClauseFailed) for event in events)


async def test_a_prepared_clause_of_a_cancelled_reply_is_dropped() -> None:
    _, playout, _ = await _speaking("hello", "")
    assert playout.next_frame() is None


class _Speaker(CountedVoice):
    """A language model that writes one clause, and the voice that says it."""

    load, limits, reads_ipa = 0.0, HistoryLimits(), False

    def open(self, call_id: str) -> _Speaker:
        return self

    async def generate(self, *_: Any) -> AsyncGenerator[Generated, None]:
        for word in ("It ", "is ", "noon."):
            yield GeneratedText(word)

    async def prefill(self, *_: Any) -> None: ...


class _WaitsForTheVoice(ScreeningService):
    """Answers once the voice has synthesised what it is asked about."""

    def __init__(self, voice: CountedVoice, does: str) -> None:
        super().__init__(does)
        self._voice = voice

    async def _answer(self, request: Any) -> Any:
        await self._voice.finished.wait()
        return await super()._answer(request)


class _Spoken(CallObserver):
    """Notes the words that may be sent."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.started, self.complete = asyncio.Event(), asyncio.Event()

    def stepped(self, event: ev.Event, actions: tuple[act.Action, ...]) -> None:
        if isinstance(event, ev.CallStarted):
            self.started.set()
        if isinstance(event, ev.ClauseAudio) and event.complete:
            self.words += [word.text for word in event.words]
            self.complete.set()


@pytest.mark.parametrize(("does", "asked"), [("answers", ["It is noon."]), ("fails", ["It is noon.", "I can't say that."])])
async def test_the_first_clause_is_synthesised_while_the_service_is_asked(does: str, asked: list[str]) -> None:
    voice, spoken = _Speaker(), _Spoken()
    engine = cast(Any, voice)
    async with on_loopback(_WaitsForTheVoice(voice, does).app) as url:
        plugin = PluginSettings("http", {"url": f"{url}/v2/guard"}, 10_000, "block")
        guards = load_guards(GuardSettings(output=OutputRules(plugins=(plugin,), line=asked[-1])))
        speech, budgets = AgentSpeech(SpeechSettings(), {}, ".", engine), load_budgets(default_budgets_file())
        agent = AgentConfig(profile="embedded", phrases=PhraseSettings(greeting=""))
        parts = AgentParts(agent, Engines(engine, engine, engine), guards, speech, budgets)
        call = Call("rtc_1", cast(Any, SilentLeg()), parts, CallTools(ToolSet()), [spoken])
        async with running(call.run(), "call") as ended:
            await spoken.started.wait()
            call.feed(ev.TextReceived(1.0, "What time is it?"))
            call.feed(ev.ReplyRequested(2.0))
            async with asyncio.timeout(10):
                await spoken.complete.wait()
            call.hang_up()
            await ended
        await guards.close()
    assert voice.asked == asked
    assert spoken.words == asked[-1].split()[:1]  # the voice says each clause as one word


class _Talker(_Speaker):
    """A language model that goes on and on, and the voice that says it."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = asyncio.Event()

    async def generate(self, *_: Any) -> AsyncGenerator[Generated, None]:
        try:
            while True:
                for word in ("This ", "is ", "one ", "more ", "sentence. "):
                    yield GeneratedText(word)
                    await asyncio.sleep(0)
        finally:
            self.closed.set()


class _Ended(_Spoken):
    """Notes the replies that ended, and what the call went without."""

    def __init__(self) -> None:
        super().__init__()
        self.degraded: list[tuple[str, ...]] = []
        self.written: list[str] = []

    def stepped(self, event: ev.Event, actions: tuple[act.Action, ...]) -> None:
        super().stepped(event, actions)
        self.degraded += [action.degradations for action in actions if isinstance(action, act.Degraded)]
        self.written += [action.text for action in actions if isinstance(action, act.ReplyText)]


async def test_a_call_follows_the_degradations_and_stops_the_model_at_the_end_of_a_sentence() -> None:
    voice, noted = _Talker(), _Ended()
    engine = cast(Any, voice)
    speech, budgets = AgentSpeech(SpeechSettings(), {}, ".", engine), load_budgets(default_budgets_file())
    agent = AgentConfig(profile="embedded", phrases=PhraseSettings(greeting=""))
    guards = load_guards(GuardSettings())
    parts = AgentParts(
        agent, Engines(engine, engine, engine), guards, speech, budgets, degradations=lambda: (Degradation.SHORT_REPLIES,)
    )
    call = Call("rtc_1", cast(Any, SilentLeg()), parts, CallTools(ToolSet()), [noted])
    async with running(call.run(), "call") as ended:
        await noted.started.wait()
        call.feed(ev.SpeechStarted(1.0, 1, 0.0))
        call.feed(ev.UtteranceCleared(2.0))
        call.feed(ev.TextReceived(3.0, "Tell me all."))
        call.feed(ev.ReplyRequested(4.0))
        async with asyncio.timeout(10):
            await voice.closed.wait()
        call.hang_up()
        await ended
    assert noted.degraded == [(Degradation.SHORT_REPLIES,)]
    assert " ".join(noted.written) == " ".join(["This is one more sentence."] * 4)
