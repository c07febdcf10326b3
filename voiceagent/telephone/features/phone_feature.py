"""A feature of a telephone call, as one object: what it changes of the agent, what it puts between the leg and the call, the
tools that it brings, and, as a `CallFeature`, the events it feeds and the actions it carries out. The smallest one puts the
caller's numbers, and the parameters that the operator had the vendor pass on, behind the agent's instructions, as data that
gives no orders."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import msgspec

from voiceagent.call.observer import CallFeature
from voiceagent.media.leg import Leg
from voiceagent.settings.agent import AgentConfig
from voiceagent.telephone.messages import CallFacts
from voiceagent.telephone.streams.dialects import MAX_TEXT
from voiceagent.tools.tool import Tool
from voiceagent.turn_taking.languages import language


class PhoneFeature(CallFeature):
    """Each of its methods does nothing unless it is overridden."""

    def change(self, agent: AgentConfig) -> AgentConfig:
        """The agent as it takes this call."""
        return agent

    def wrap(self, leg: Leg) -> Leg:
        """The leg that the call gets in place of this one. Called once."""
        return leg

    def tools(self) -> Sequence[Tool]:
        """The tools that the agent has in this call because of the feature."""
        return ()


UNSEEN = ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp")
"""Unicode's categories of signs that control, or that are none."""


class CallerFacts(PhoneFeature):
    """Tells the language model the facts of a call."""

    def __init__(self, facts: CallFacts) -> None:
        self._facts = facts

    def change(self, agent: AgentConfig) -> AgentConfig:
        """The agent, with the facts behind its instructions."""
        who = {"caller": self._facts.caller, "called": self._facts.called}
        told = {**who, **self._facts.parameters, **who}  # a parameter may come from the caller's own SIP headers
        known = {_harmless(name): _harmless(value) for name, value in told.items() if value}
        if not known:
            return agent
        data = msgspec.json.encode(known).decode().replace("<", "\\u003c").replace(">", "\\u003e")
        words = language(agent.spoken_languages[0]).phone
        return msgspec.structs.replace(agent, instructions=f"{agent.instructions}\n\n{words.call_facts}\n{data}")


def _harmless(value: str) -> str:
    """The value in one line, short and without signs that are not seen: a caller chooses the name that their telephone shows."""
    shown = "".join(sign for sign in " ".join(value.split()) if unicodedata.category(sign) not in UNSEEN)
    return shown[:MAX_TEXT]
