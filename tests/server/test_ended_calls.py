"""A client that comes back to a call whose end was told takes nothing over: nothing may follow the end."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from tests.fakes import SilentLeg
from tests.server.told_call import ToldCall
from voiceagent.errors import MediaError
from voiceagent.media.leg import Leg
from voiceagent.media.playout import Playout
from voiceagent.server.calls.admission import Admission
from voiceagent.server.calls.calls import Calls
from voiceagent.server.calls.quotas import Quotas
from voiceagent.server.http.problems import Problem
from voiceagent.server.monitoring.metrics import Metrics
from voiceagent.settings.agent import AdmissionSettings, QuotaSettings


class Connection(SilentLeg):
    """A connection that comes up when the test says so."""

    alive_ms = math.inf
    takes_our_events = True

    def __init__(self) -> None:
        super().__init__()
        self.is_up = asyncio.Event()
        self.waits = asyncio.Event()
        """Set once somebody waits for it to come up."""
        self.told: list[dict[str, Any]] = []

    def send_event(self, event: dict[str, Any]) -> None:
        self.told.append(event)

    async def wait_connected(self) -> bool:
        self.waits.set()
        await self.is_up.wait()
        return True

    def play(self, playout: Playout) -> None:
        self.playout = playout

    def goes_elsewhere(self) -> None: ...

    def replaced(self) -> None: ...


async def no_answer(offer: str) -> tuple[Leg, str]:
    raise MediaError(f"unexpected offer: {offer}")


@pytest.mark.parametrize("waits", [False, True], ids=["after the end", "before the end"])
async def test_a_client_that_comes_back_to_an_ended_call_takes_nothing_over(waits: bool) -> None:
    metrics = Metrics()
    calls = Calls(no_answer, Admission(AdmissionSettings(), metrics), Quotas(QuotaSettings(), 16), metrics)
    begun: list[ToldCall] = []

    def start_call(leg: Leg, call_id: str, session: dict[str, Any]) -> ToldCall:
        begun.append(ToldCall(leg, call_id, session))
        return begun[0]

    first, second = Connection(), Connection()
    await calls.begin(lambda: _made(first), {}, start_call)
    token = next(event["token"] for event in first.told if event["type"] == "voiceagent.resume")
    first.is_up.set()
    if waits:
        await calls.resume(token, lambda: _made(second), "")
        await second.waits.wait()
    (call,) = begun
    call.tell_end()
    if waits:
        second.is_up.set()
        await second.closed.wait()
    else:
        with pytest.raises(Problem, match="its call is over"):
            await calls.resume(token, lambda: _made(second), "")
    assert (first.told[-1]["type"], second.told) == ("voiceagent.call_ended", [])
    await calls.close(1.0)


async def _made(leg: Connection) -> Leg:
    return leg
