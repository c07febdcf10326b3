"""Whether an agent's language models were made for it. A model that was made for certain tools alone understands nothing else.
Whoever serves it with another agent is told so, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from voiceagent.grounding.limits import unfit_for
from voiceagent.llm.engine import ToolSchema
from voiceagent.models.choice import choose_profile, profile_of, registry_of
from voiceagent.models.model import Model
from voiceagent.models.profile import Profile
from voiceagent.models.registry import Registry
from voiceagent.settings.agent import AgentConfig


@dataclass(frozen=True, slots=True)
class Unfit:
    """A language model and an agent that do not fit each other."""

    model: str
    why: str
    """Why, as a statement about the agent, such as "has the tool free_rooms"."""
    says: str
    """What the model cannot do."""
    instead: str
    """A profile that would fit; empty: none is known."""

    @property
    def problem(self) -> str:
        """The problem in one line."""
        return f"{self.model} was not made for this agent, which {self.why}: it {self.says}"

    @property
    def advice(self) -> str:
        """What to do about it, in one line."""
        if not self.instead:
            return "name another language model with llm.base_url in agent.yaml"
        return f"fetch a larger model (voiceagent models pull --profile {self.instead}) and serve --profile {self.instead}"


def unfit(agent: AgentConfig, tools: Sequence[ToolSchema]) -> Unfit | None:
    """The first of the agent's language models, its fallback included, that was not made for it. `tools` are the agent's as
    OpenAI function objects. Raises ConfigError, ModelError."""
    known = registry_of(agent)
    for model in _language_models(agent, answering(agent, known), known):
        why = unfit_for(model.limits, tools, reads_documents=bool(agent.context))
        if why:
            return Unfit(model.name, why, model.limits.says or "knows nothing else", _instead(known))
    return None


def answering(agent: AgentConfig, known: Registry) -> Profile:
    """The profile that answers, with the agent's own models in it. Raises ConfigError, ModelError."""
    return profile_of(agent, known, choose_profile(agent, known)[0])


def _language_models(agent: AgentConfig, profile: Profile, known: Registry) -> list[Model]:
    """The models of the registry that answer for the agent: its profile's, unless `llm.base_url` names a server, and its
    fallback."""
    first = "" if agent.llm.base_url else profile.llm.model
    fallback = known.profile(agent.llm.fallback).llm.model if agent.llm.fallback else ""
    return [known.model(name) for name in (first, fallback) if name]


def _instead(known: Registry) -> str:
    """The smallest profile that needs no server and whose language model was made for any agent."""
    fit = [
        profile for profile in known.profiles.values() if profile.llm.is_local and not known.model(profile.llm.model).limits.tools
    ]
    sizes = {profile.name: sum(model.size_bytes for model in known.models_of(profile.name)) for profile in fit}
    return min(sizes, key=sizes.__getitem__, default="")
