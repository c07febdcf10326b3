"""The models that answer here and their limits, for the page: the profile's models, their limits from the registry, and whether
the language model was made for the agent at all. And the steps of the agent, without their instructions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from voiceagent.json_types import JsonObject
from voiceagent.llm.engine import ToolSchema
from voiceagent.models.choice import registry_of
from voiceagent.models.fitness import LANGUAGE_NAMES, answering, foreign_models, unfit
from voiceagent.models.llm_server import LlmServer
from voiceagent.models.model import MULTILINGUAL, Model
from voiceagent.models.registry import Profile, Registry
from voiceagent.settings.agent import AgentConfig


def about(agent: AgentConfig, tools: Sequence[ToolSchema], server: LlmServer | None = None) -> dict[str, object]:
    """The agent, its profile's models by part, and their limits; `tools` are the agent's as OpenAI function objects. `server` is
    the language model's, if it was tried out."""
    known = registry_of(agent)
    profile = answering(agent, known)
    models = _models(agent, profile, known)
    if server is not None:
        models["llm"] = (f"{server.server.model_name} ({server.server.kind_and_version})", None)
    found = unfit(agent, tools)
    limits = [line for part, (name, model) in models.items() if model for line in _limits(part, name, model)]
    return {
        "agent": agent.name,
        "language": agent.language,
        "languages": list(agent.spoken_languages),
        "examples": list(agent.examples),
        "profile": profile.name,
        "description": profile.description,
        "models": [{"part": part, "name": name} for part, (name, _) in models.items()],
        "limits": [*limits, *(server.lines if server is not None else ()), *foreign_models(agent, profile, known)],
        "steps": _graphs(agent) if agent.steps else [],
        "unfit": {"problem": found.problem, "advice": found.advice} if found else None,
    }


def _graphs(agent: AgentConfig) -> list[JsonObject]:
    """The steps of the agent and of those that it hands calls off to, the agent's first. `handoff` is the place of another one,
    and `passes` are the values that it gets; None: all."""
    agents = {agent.file: agent} | {name: other for name, other in agent.agents.items() if name != agent.file}
    places = list(agents)
    return [
        {
            "agent": one.name,
            "steps": [
                {
                    "name": name,
                    "values": list(step.values),
                    "next": list(dict.fromkeys(way.to for way in step.next)),
                    "everywhere": step.everywhere,
                    "handoff": places.index(step.handoff) if step.handoff else None,
                    "passes": None if step.pass_values is None else list(step.pass_values),
                }
                for name, step in one.steps.items()
            ],
        }
        for one in agents.values()
    ]


def _models(agent: AgentConfig, profile: Profile, known: Registry) -> dict[str, tuple[str, Model | None]]:
    """The models by part, with their names and what the registry knows. Nothing is known of a model of the agent's own, or at a
    server that it names."""
    parts: dict[str, tuple[str, Model | None]] = {}
    for part, spec in profile.specs.items():
        model = known.model(spec.model) if spec.model else None
        parts[part] = (model.name if model else Path(spec.path).name or spec.engine, model)
    if agent.voices:
        parts["tts"] = (", ".join(dict.fromkeys(Path(path).stem for path in agent.voices.values())), None)
    if agent.llm.base_url:
        parts["llm"] = (agent.llm.model or "a model of another server", None)
    return parts


def _limits(part: str, name: str, model: Model) -> list[str]:
    """The limits of a part."""
    found = []
    languages = [LANGUAGE_NAMES.get(code, code) for code in model.languages]
    if part == "stt" and languages and MULTILINGUAL not in languages:
        found.append(f"understands {' and '.join(languages)} only")
    if model.limits.says:
        found.append(f"{name} {model.limits.says}")
    return found
