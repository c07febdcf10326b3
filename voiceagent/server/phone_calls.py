"""What a call on a telephone has besides: the agent knows who calls, and has the tools of a keypad."""

from __future__ import annotations

import msgspec

from voiceagent.call.observer import CallObserver
from voiceagent.call.screening import Screening
from voiceagent.config import AgentConfig
from voiceagent.media.gateway_leg import GatewayLeg
from voiceagent.media.leg import Leg
from voiceagent.media.stream_leg import StreamLeg
from voiceagent.server.call_results import CallResults, ResultOf
from voiceagent.tools.collect_digits import CollectDigits
from voiceagent.tools.tool import Tool
from voiceagent.turn_taking.languages import language
from voiceagent.turn_taking.spoken_language import AUTO, FIRST_LANGUAGE

PhoneLeg = StreamLeg | GatewayLeg
"""By vendors' streams and Asterisk, or by SIP."""


def screening_of(agent: AgentConfig, leg: Leg) -> Screening | None:
    """What finds out whether a machine has answered, where we called and the agent's settings want to know."""
    if not isinstance(leg, StreamLeg) or not leg.facts.outbound or agent.telephony.voicemail.action == "none":
        return None
    return Screening(leg, agent)


def result_of(results: CallResults, call_id: str, leg: Leg) -> list[CallObserver]:
    """Who tells how a telephone call went, where somebody is to be told."""
    return [ResultOf(results, call_id, leg.facts)] if isinstance(leg, PhoneLeg) and results.settings.url else []


def phone_tools(agent: AgentConfig, leg: Leg) -> tuple[Tool, ...]:
    """The tools that a leg brings, as far as the agent is to have them."""
    if not isinstance(leg, PhoneLeg) or not agent.telephony.collect_digits:
        return ()
    words = language(FIRST_LANGUAGE if agent.language == AUTO else agent.language).phone
    return (CollectDigits(leg.client.keys.collect, words),)


def with_caller(agent: AgentConfig, leg: Leg) -> AgentConfig:
    """The agent with who calls and what the operator had the vendor pass on behind its instructions, where a telephone tells."""
    if not isinstance(leg, PhoneLeg):
        return agent
    facts = leg.facts
    who = {"caller": facts.caller, "called": facts.called}
    told = {**who, **facts.parameters, **who}  # a parameter may come from the caller's own SIP headers
    known = {name: value for name, value in told.items() if value}
    if not known:
        return agent
    return msgspec.structs.replace(agent, instructions=f"{agent.instructions}\n\n{msgspec.json.encode(known).decode()}")
