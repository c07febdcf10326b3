"""Whether an agent's language models were made for it: one that was made for certain tools alone understands nothing else, and
whoever serves it with another agent is told so, with the way out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voiceagent.config import AgentConfig
from voiceagent.grounding.limits import unfit_for
from voiceagent.models.registry import Model, Registry, registry


@dataclass(frozen=True, slots=True)
class Unfit:
    """A language model and an agent that do not go together."""

    model: str
    why: str
    """Of the agent: such as "has the tool free_rooms"."""
    says: str
    """What the model cannot do."""
    instead: str
    """A profile that would do; empty: none is known."""

    @property
    def problem(self) -> str:
        """In one line."""
        return f"{self.model} was not made for this agent, which {self.why}: it {self.says}"

    @property
    def advice(self) -> str:
        """The way out, in one line."""
        if not self.instead:
            return "name another language model with llm.base_url in agent.yaml"
        return f"fetch a larger model (voiceagent models pull --profile {self.instead}) and serve --profile {self.instead}"


def unfit(agent: AgentConfig, tools: Sequence[Mapping[str, Any]], known: Registry | None = None) -> Unfit | None:
    """The first of the agent's language models, its standby included, that was not made for it; `tools` are the agent's as
    OpenAI function objects."""
    known = known or registry()
    for model in language_models(agent, known):
        why = unfit_for(model.limits, tools, reads_documents=bool(agent.context))
        if why:
            return Unfit(model.name, why, model.limits.says or "knows nothing else", _instead(known))
    return None


def language_models(agent: AgentConfig, known: Registry) -> list[Model]:
    """Those of the registry that answer for the agent: its profile's, unless `llm.base_url` names a server, and its standby."""
    first = [] if agent.llm.base_url else [agent.profile]
    standby = [agent.llm.fallback] if agent.llm.fallback else []
    return [known.model(known.profile(name).llm.model) for name in (*first, *standby)]


def _instead(known: Registry) -> str:
    """The smallest profile that needs no server and whose language model was made for any agent."""
    fit = [
        profile for profile in known.profiles.values() if profile.llm.is_local and not known.model(profile.llm.model).limits.tools
    ]
    sizes = {profile.name: sum(model.size_bytes for model in known.models_of(profile.name)) for profile in fit}
    return min(sizes, key=sizes.__getitem__, default="")
