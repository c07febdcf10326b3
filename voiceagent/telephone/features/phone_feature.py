"""A feature of a telephone call, as one object: what it changes of the agent, what it puts between the leg and the call, the
tools that it brings, and, as a `CallFeature`, the events it feeds and the actions it carries out."""

from __future__ import annotations

from collections.abc import Sequence

from voiceagent.call.feature import CallFeature
from voiceagent.media.leg import Leg
from voiceagent.settings.agent import AgentConfig
from voiceagent.tools.tool import Tool


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
