"""A call on a telephone, put together: the features that it has, and what they make of the agent, the leg and the tools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from voiceagent.call.scope import AgentParts
from voiceagent.media.leg import Leg
from voiceagent.settings.agent import AgentConfig
from voiceagent.settings.telephone import HumanSettings
from voiceagent.telephone.features.answering_machine import Screening
from voiceagent.telephone.features.call_results import CallResults, ResultOf
from voiceagent.telephone.features.key_tools import DigitsFeature, PressingFeature
from voiceagent.telephone.features.phone_feature import CallerFacts, PhoneFeature
from voiceagent.telephone.features.recording import Recording, Recordings
from voiceagent.telephone.phone_leg import PhoneLeg
from voiceagent.telephone.transfer.feature import TransferFeature, with_person
from voiceagent.tools.call_context import CallOrigin
from voiceagent.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class PhoneCall:
    """A call as its features have changed it."""

    agent: AgentConfig
    leg: Leg
    features: Sequence[PhoneFeature] = ()
    tools: tuple[Tool, ...] = ()
    recording: Callable[[], str] = str
    """Returns the file of the recording; empty where there is none."""
    origin: CallOrigin | None = None
    """The facts of a telephone call. None: it is no telephone's."""


@dataclass(frozen=True, slots=True)
class PhoneServices:
    """Services that the telephone calls of a server share."""

    results: CallResults
    recordings: Recordings

    def call(self, agent: AgentConfig, leg: Leg, parts: AgentParts) -> PhoneCall:
        """A leg's call. A leg that is no telephone's may be recorded, and has no other feature and no person to be transferred
        to."""
        recording = self.recordings.of(agent, leg)
        if isinstance(leg, PhoneLeg):
            features = self._features(agent, leg, parts, recording)
        else:
            agent = with_person(agent, HumanSettings())
            features = [] if recording is None else [recording]
        inner: Leg = leg
        for feature in features:
            agent, inner = feature.change(agent), feature.wrap(inner)
        tools = tuple(tool for feature in features for tool in feature.tools())
        facts = leg.facts if isinstance(leg, PhoneLeg) else None
        origin = None if facts is None else CallOrigin(facts.caller, facts.called, facts.parameters)
        return PhoneCall(agent, inner, features, tools, str if recording is None else recording.file, origin)

    def _features(self, agent: AgentConfig, leg: PhoneLeg, parts: AgentParts, recording: Recording | None) -> list[PhoneFeature]:
        """The features, in the order in which they change the agent, wrap the leg and bring tools."""
        voicemail, has_results = agent.telephony.voicemail, bool(self.results.settings.url)
        is_screened = leg.facts.outbound and (voicemail.action != "none" or voicemail.introduction)
        screening = Screening(agent) if is_screened else None
        features: list[PhoneFeature | None] = [
            ResultOf(self.results, leg, recording, parts.personal.of_call(), screening) if has_results else None,
            CallerFacts(leg.facts),
            DigitsFeature(leg, agent),
            TransferFeature(leg, agent, parts),
            PressingFeature(leg, agent),
            recording,
            screening,
        ]
        return [feature for feature in features if feature is not None]
