"""Whether the models that answer know the languages that the agent speaks. The registry says what a model knows, and a Piper
voice's JSON says what a voice of the agent's own speaks. Nothing is known of other models of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from voiceagent.models.choice import voices_of
from voiceagent.models.model import MULTILINGUAL
from voiceagent.models.profile import EngineSpec, Profile
from voiceagent.models.registry import Registry
from voiceagent.settings.agent import AgentConfig

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
