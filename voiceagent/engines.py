"""The engines of a running server, made from a profile. An engine is a plugin: a function `create(path, options)` under the
entry point `voiceagent.stt`, `voiceagent.llm`, `voiceagent.tts` or `voiceagent.turn`; ours
are named here, so that a checkout needs no install."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from voiceagent.errors import ConfigError
from voiceagent.grounding.engine import GroundedEngine
from voiceagent.grounding.language import LANGUAGES
from voiceagent.llm.engine import LlmEngine
from voiceagent.llm.servers.fallback import FallbackEngine
from voiceagent.models.choice import profile_of, voices_of
from voiceagent.models.registry import EngineSpec, Profile, Registry, registry
from voiceagent.plugins import Create, load_plugin
from voiceagent.settings.agent import AgentConfig, LlmSettings, OwnModel
from voiceagent.stt.engine import SttEngine
from voiceagent.stt.vocabulary import VocabularyWord, words_of
from voiceagent.tts.engine import TtsEngine
from voiceagent.turn_judges.judge import TurnJudge
from voiceagent.turn_taking.spoken_language import AUTO

DEFAULT_LANGUAGE = "en"
"""The language that every recogniser assumes by itself."""
SERVER_VARIABLE = "VOICEAGENT_LLM_URL"
"""The environment variable that names the language model's servers in place of the profile's."""
OURS = {
    "stt": {"faster-whisper": "voiceagent.stt.whisper", "remote": "voiceagent.stt.remote"},
    "llm": {
        "embedded": "voiceagent.llm.embedded.embedded",
        "openai": "voiceagent.llm.servers.openai",
        "vllm": "voiceagent.llm.servers.vllm",
    },
    "tts": {"piper": "voiceagent.tts.piper", "remote": "voiceagent.tts.remote"},
    "turn": {"smart-turn": "voiceagent.turn_judges.smart_turn", "meaning": "voiceagent.turn_judges.meaning"},
}


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines are shared by all calls."""

    stt: SttEngine
    llm: LlmEngine
    tts: TtsEngine
    voices: Mapping[str, TtsEngine] = field(default_factory=dict)
    """Voices by the code of their language, in place of `tts`."""
    turn: tuple[TurnJudge, ...] = ()

    async def close(self) -> None:
        """Free the models."""
        for judge in self.turn:
            await judge.close()
        await self.llm.close()
        await self.stt.close()
        for voice in (self.tts, *self.voices.values()):
            await voice.close()


async def load_engines(profile: Profile, agent: AgentConfig, known: Registry | None = None) -> Engines:
    """Load a profile's engines for an agent, off the event loop. `llm.base_url` replaces the profile's language model by the
    server there. `known` is the registry, if it is not the shipped one. Raises ModelError, ConfigError."""
    known = known or registry()
    known.require(profile)
    return await asyncio.to_thread(_load, profile, agent, known)


async def load_voices(engines: Engines, agent: AgentConfig, known: Registry) -> Engines:
    """The engines of a call that this agent takes over: the same ones, with its voices. Raises ModelError, ConfigError."""
    profile = profile_of(structs.replace(agent, stt=OwnModel(), llm=LlmSettings()), known)
    specs = voices_of(agent)
    voices = await asyncio.to_thread(lambda: {code: load_tts(spec, known) for code, spec in specs.items()})
    tts = await asyncio.to_thread(load_tts, profile.tts.with_options(agent.options.tts), known)
    return replace(engines, tts=tts, voices=voices)


def _load(profile: Profile, agent: AgentConfig, known: Registry) -> Engines:
    options = agent.options
    voice = profile.tts.with_options(options.tts)
    llm = load_llm(profile.llm, agent.llm, options.llm, known, words_of(agent.vocabulary))
    return Engines(
        stt=load_recogniser(profile, agent, known),
        llm=llm,
        tts=load_tts(voice, known),
        voices={code: load_tts(spec, known) for code, spec in voices_of(agent).items()},
        turn=load_judges(profile.turn, known),
    )


def load_recogniser(profile: Profile, agent: AgentConfig, known: Registry) -> SttEngine:
    """Load only the recogniser, as the agent wants it. Raises ModelError, ConfigError."""
    options = agent.options.stt
    for name in {"language", "languages"} & options.keys():
        raise ConfigError(f"options.stt.{name}: write `{name}: {options[name]}` beside `name`, for the whole agent")
    hears: dict[str, object] = {} if agent.language == DEFAULT_LANGUAGE else {"language": agent.language}
    if agent.language == AUTO:
        hears["languages"] = agent.spoken_languages
    return load_stt(profile.stt.with_options({**options, **hears}), known)


def load_stt(spec: EngineSpec, known: Registry | None = None) -> SttEngine:
    """Load only the recogniser. Raises ModelError, ConfigError."""
    recogniser: SttEngine = _create("stt", spec, known)
    return recogniser


def load_tts(spec: EngineSpec, known: Registry | None = None) -> TtsEngine:
    """Load only the voice. Raises ModelError, ConfigError."""
    voice: TtsEngine = _create("tts", spec, known)
    return voice


def load_llm(
    spec: EngineSpec,
    llm: LlmSettings,
    options: Mapping[str, object],
    known: Registry | None = None,
    vocabulary: Sequence[VocabularyWord] = (),
) -> LlmEngine:
    """The profile's language model, or the server that the agent names, with the fallback that the agent names. `vocabulary` is
    the agent's. Raises ModelError, ConfigError."""
    if llm.model and not llm.base_url and spec.is_local:
        raise ConfigError(f"llm.model: {llm.model!r:.80} is asked of no server; name one with llm.base_url, or leave it out")
    chosen = {"temperature": llm.temperature, "max_tokens": llm.max_tokens}
    if llm.base_url or not spec.is_local:
        first: LlmEngine = _plugin("llm", "openai")(None, {**_server(spec, llm), **chosen, **options})
        first = first if llm.base_url else grounded(first, spec.model, known, vocabulary)
    else:
        first = grounded(_create("llm", spec.with_options({**chosen, **options}), known), spec.model, known, vocabulary)
    if not llm.fallback:
        return first
    fallback = (known or registry()).profile(llm.fallback).llm
    if not fallback.is_local:
        raise ConfigError(
            f"llm.fallback: the profile {llm.fallback} needs a server too; name one that does not, such as embedded"
        )
    second: LlmEngine = _create("llm", fallback.with_options(chosen), known)
    return FallbackEngine(first, grounded(second, fallback.model, known, vocabulary))


def load_judges(specs: Sequence[EngineSpec], known: Registry | None = None) -> tuple[TurnJudge, ...]:
    """The turn judges. Raises ModelError, ConfigError for two of one name."""
    judges: list[TurnJudge] = [_create("turn", spec, known) for spec in specs]
    names = [judge.name for judge in judges]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise ConfigError(f"turn: two judges are called {twice!r}, so that their evidence cannot be told apart; leave one out")
    return tuple(judges)


def grounded(
    engine: LlmEngine, model_name: str, known: Registry | None = None, vocabulary: Sequence[VocabularyWord] = ()
) -> LlmEngine:
    """The language model. If its entry in the registry says that it invents, its words are checked against what was said. Words
    of the `vocabulary` it may say."""
    if not model_name:
        return engine
    model = (known or registry()).model(model_name)
    language = next((LANGUAGES[code] for code in model.languages if code in LANGUAGES), None)
    if language is None or not model.limits.are_checked:
        return engine
    return GroundedEngine(engine, model.limits.knowing({each.word: each.heard for each in vocabulary}), language)


def _server(spec: EngineSpec, llm: LlmSettings) -> dict[str, object]:
    """Options for `openai`: `llm.base_url` overrides $VOICEAGENT_LLM_URL, which overrides the profile's server."""
    address: dict[str, object] = {"base_url": llm.base_url, "served_model": llm.model}
    if not llm.base_url:
        named = os.environ.get(SERVER_VARIABLE)
        address = {**spec.options, **{key: value for key, value in (("base_url", named), ("served_model", llm.model)) if value}}
    names = ("api_key_env", "first_token_timeout_s", "inactivity_timeout_s", "total_timeout_s")
    return {**address, **{name: getattr(llm, name) for name in names}}


# What a plugin makes is of its kind's protocol, which whoever asks for it names.
def _create(kind: str, spec: EngineSpec, known: Registry | None) -> Any:
    path = Path(spec.path) if spec.path else (known or registry()).resolve(spec.model) if spec.model else None
    return _plugin(kind, spec.engine)(path, spec.options)


def _plugin(kind: str, name: str) -> Create:
    """The engine's `create`. Raises ConfigError, which names the known engines."""
    return load_plugin(kind, name, f"{kind} engine", OURS[kind])
