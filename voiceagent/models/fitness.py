"""The fitness of language models for an agent. A model that was made for certain tools alone understands nothing else. Serving
it with another agent gives a warning and advice.

The languages of the models that answer, compared with those that the agent speaks. The registry gives a model's languages, and a
Piper voice's JSON gives those of a voice of the agent's own. Nothing is known of other models of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from voiceagent.grounding.limits import unfit_for
from voiceagent.llm.engine import ToolSchema
from voiceagent.models.choice import choose_profile, profile_of, registry_of, voices_of
from voiceagent.models.model import MULTILINGUAL, Model
from voiceagent.models.registry import EngineSpec, Profile, Registry
from voiceagent.settings.agent import AgentConfig


@dataclass(frozen=True, slots=True)
class Unfit:
    """A language model and an agent that do not fit each other."""

    model: str
    why: str
    """The reason, as a statement about the agent, such as "has the tool free_rooms"."""
    says: str
    """The limit of the model, as a statement about it, such as "knows nothing else"."""
    instead: str
    """A profile that would fit; empty: none is known."""

    @property
    def problem(self) -> str:
        """The problem in one line."""
        return f"{self.model} was not made for this agent, which {self.why}: it {self.says}"

    @property
    def advice(self) -> str:
        """Advice against the problem, in one line."""
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


LANGUAGE_NAMES = {
    "en": "English",
    "de": "German",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pt": "Portuguese",
    "pl": "Polish",
    "sv": "Swedish",
    "uk": "Ukrainian",
    "ru": "Russian",
    "tr": "Turkish",
    "ja": "Japanese",
    "zh": "Chinese",
}


def foreign_models(agent: AgentConfig, profile: Profile, known: Registry) -> tuple[str, ...]:
    """A line for each voice and language model that was not made for the languages that the agent speaks. `profile` is the one
    that answers, with the agent's own models in it. Raises ConfigError, ModelError."""
    return tuple(_foreign(agent, profile, known))


def _foreign(agent: AgentConfig, profile: Profile, known: Registry) -> Iterator[str]:
    own_voices = voices_of(agent)
    spoken = agent.spoken_languages
    others = [code for code in spoken if code not in own_voices]
    for spec, codes in ((profile.tts, others), *((voice, [code]) for code, voice in own_voices.items())):
        speaks = _languages(spec, known)
        if lacks := _lacking(speaks, codes):
            where = "tts.path" if spec is profile.tts and len(spoken) == 1 else "voices"
            yield (
                f"the voice {_name(spec)} speaks {_names(speaks)}, and the agent {_names(lacks)}: callers will hear "
                f"{_names(lacks)} in a foreign accent; name a voice of that language with {where} in agent.yaml"
            )
    llms = () if agent.llm.base_url else (profile.llm,)
    fallback = (known.profile(agent.llm.fallback).llm,) if agent.llm.fallback else ()
    for spec in (*llms, *fallback):
        knows = _languages(spec, known)
        if lacks := _lacking(knows, spoken):
            yield (
                f"the language model {_name(spec)} was made for {_names(knows)}, and the agent speaks {_names(lacks)}; name "
                "another with --profile, or with llm.base_url in agent.yaml"
            )


def _lacking(known: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The wanted codes that are not known; none if nothing is known of the model."""
    return [] if not known or MULTILINGUAL in known else [code for code in wanted if code not in known]


def _languages(spec: EngineSpec, known: Registry) -> tuple[str, ...]:
    """The codes of a model's languages, empty if they are not known."""
    if spec.model:
        return known.model(spec.model).languages
    return _piper_languages(Path(spec.path)) if spec.path and spec.engine == "piper" else ()


def _piper_languages(voice: Path) -> tuple[str, ...]:
    """The code of the language whose sounds espeak-ng finds for this voice. Empty if its JSON does not say; whether the voice can
    be used is the engine's business."""
    onnx = next(iter(sorted(voice.glob("*.onnx"))), voice) if voice.is_dir() else voice
    try:
        told = json.loads(onnx.with_name(f"{onnx.name}.json").read_text("utf-8"))
        return (str(told["espeak"]["voice"]).lower().partition("-")[0],)
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def _name(spec: EngineSpec) -> str:
    return spec.model or Path(spec.path).name


def _names(codes: Sequence[str]) -> str:
    return " and ".join(LANGUAGE_NAMES.get(code, code) for code in codes)
