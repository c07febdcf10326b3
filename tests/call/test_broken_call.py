"""A call that breaks by a mistake of ours ends as `failed`, which the alert `CallsFail` asks for, and the client is told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from tests.fakes import IdleEngine, SilentLeg
from voiceagent.call import Call
from voiceagent.call.observer import CallObserver
from voiceagent.call.scope import AgentParts
from voiceagent.conversation import events as ev
from voiceagent.conversation.state import Phase
from voiceagent.engines import Engines
from voiceagent.guard.checks import load_guards
from voiceagent.guard.settings import GuardSettings
from voiceagent.latency.budgets import load_budgets
from voiceagent.resources import default_budgets_file
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.server.monitoring.observers import Measured
from voiceagent.settings.agent import AgentConfig
from voiceagent.store.database import local_store
from voiceagent.store.turns import TurnStore
from voiceagent.store.writer import StoreWriter
from voiceagent.text_normalization.settings import SpeechSettings
from voiceagent.tools.call_tools import CallTools
from voiceagent.tools.toolset import ToolSet
from voiceagent.tts.spoken_voice import AgentSpeech


class BreakingLeg(SilentLeg):
    """A connection whose audio raises what nobody foresaw."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[dict[str, Any]] = []

    def send_event(self, event: dict[str, Any]) -> None:
        self.told.append(event)

    async def frames(self) -> AsyncIterator[Any]:
        raise RuntimeError("on purpose")
        yield


class StuckLeg(BreakingLeg):
    """One that cannot even be closed."""

    async def close(self) -> None:
        raise OSError("on purpose")


def call_on(leg: SilentLeg, engine: Any, *observers: CallObserver) -> Call:
    guards, speech = load_guards(GuardSettings()), AgentSpeech(SpeechSettings(), {}, ".", engine)
    budgets = load_budgets(default_budgets_file())
    parts = AgentParts(AgentConfig(profile="embedded"), Engines(engine, engine, engine), guards, speech, budgets)
    return Call("rtc_1", leg, parts, CallTools(ToolSet()), observers)


async def test_a_call_that_breaks_ends_as_failed_and_frees_what_it_had() -> None:
    leg, engine = BreakingLeg(), cast(Any, IdleEngine())
    call = call_on(leg, engine)
    assert await call.run() == "failed"
    assert (leg.told[-1]["type"], leg.told[-1]["reason"]) == ("voiceagent.call_ended", "failed")
    assert leg.closed.is_set()
    assert (engine.opened, engine.closed) == (["rtc_1"], 1)
    call._post(ev.Played(1000.0, 1, 0, 20.0))  # a frame that was on its way
    assert call.state.phase is Phase.ENDED
    assert call._timers == {}


async def test_a_connection_that_cannot_be_closed_does_not_keep_the_models_session_open(caplog: pytest.LogCaptureFixture) -> None:
    engine = cast(Any, IdleEngine())
    assert await call_on(StuckLeg(), engine).run() == "failed"
    assert (engine.opened, engine.closed) == (["rtc_1"], 1)
    assert "call rtc_1: its connection broke as it was closed" in caplog.text


async def test_an_event_that_comes_out_of_phase_is_counted_by_its_kind(tmp_path: Path) -> None:
    metrics = Metrics()
    measured = Measured(metrics, TurnStore(StoreWriter(local_store(tmp_path))))
    call = call_on(BreakingLeg(), cast(Any, IdleEngine()), measured)
    call.feed(ev.Played(0.0, 1, 0, 20.0))  # nobody has said anything
    assert 'voiceagent_events_out_of_phase_total{event="Played"} 1.0' in metrics.render()
    await call.run()
    call.hang_up()
    assert metrics.events_out_of_phase == {"Played": 1, "HangUp": 1}
