"""A call to try a telephone's features with: it takes the events that they feed."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from voiceagent.call.scope import CallTasks
from voiceagent.conversation import events as ev
from voiceagent.conversation import machine
from voiceagent.conversation.rules import Rules
from voiceagent.media.leg import Leg
from voiceagent.settings.agent import AgentConfig
from voiceagent.telephone.features.call_results import CallResults
from voiceagent.telephone.features.phone_call import PhoneCall, PhoneServices
from voiceagent.telephone.features.recording import Recordings


class FedCall:
    """A call that is fed."""

    call_id = "rtc_1"

    def __init__(self, group: asyncio.TaskGroup | None = None) -> None:
        self.state = machine.start(Rules())
        self.tasks = CallTasks(cast(asyncio.TaskGroup, group))
        self.keys = ""
        self.recorded: list[bool] = []
        self.fed: asyncio.Queue[ev.Event] = asyncio.Queue()

    def feed(self, event: ev.Event) -> None:
        self.fed.put_nowait(event)

    def tell_key(self, key: str) -> None:
        self.keys += key

    def tell_recording(self, *, is_recorded: bool) -> None:
        self.recorded.append(is_recorded)

    def hide_card(self, keys: str) -> str:
        return keys

    async def admit(self, event: ev.Event) -> ev.Event:
        return event

    def now_ms(self) -> float:
        return 0.0


def phone_call(agent: AgentConfig, leg: Leg, recordings: Recordings | None = None) -> PhoneCall:
    """What the features of a leg's call make of an agent."""
    services = PhoneServices(CallResults(agent.telephony.results, {}), recordings or Recordings(agent.telephony.recording, "."))
    return services.call(agent, leg, cast(Any, None))
