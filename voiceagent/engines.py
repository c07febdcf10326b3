"""The engines of a running server, made from a profile. An engine is a plugin: a function `create(path, options)` under the
entry point `voiceagent.stt`, `voiceagent.llm` or `voiceagent.tts`; ours are named here, so that a checkout needs no install."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from voiceagent.config import EngineOptions, LlmSettings
from voiceagent.errors import ConfigError
from voiceagent.grounding.engine import GroundedEngine
from voiceagent.grounding.english import LANGUAGES
from voiceagent.llm.engine import LlmEngine
from voiceagent.llm.fallback import FallbackEngine
from voiceagent.models.registry import EngineSpec, Profile, profile, registry, require, resolve
from voiceagent.stt.engine import SttEngine
from voiceagent.tts.engine import TtsEngine

Create = Callable[[Path | None, Mapping[str, Any]], Any]

SERVER_VARIABLE = "VOICEAGENT_LLM_URL"
"""The environment variable that names the language model's servers in place of a profile's."""
OURS = {
    "stt": {"faster-whisper": "voiceagent.stt.whisper"},
    "llm": {"embedded": "voiceagent.llm.embedded", "openai": "voiceagent.llm.openai", "vllm": "voiceagent.llm.vllm"},
    "tts": {"piper": "voiceagent.tts.piper"},
}


@dataclass(frozen=True, slots=True)
class Engines:
    """Engines are shared by all calls."""

    stt: SttEngine
    llm: LlmEngine
    tts: TtsEngine

    async def close(self) -> None:
        """Free the models."""
        await self.llm.close()
        await self.stt.close()
        await self.tts.close()


async def load_engines(profile: Profile, llm: LlmSettings, options: EngineOptions) -> Engines:
    """Load a profile's engines off the event loop. `llm.base_url` replaces the profile's language model by the server there.
    Raises ModelError, ConfigError."""
    require(profile.name)
    return await asyncio.to_thread(_load, profile, llm, options)


def _load(profile: Profile, llm: LlmSettings, options: EngineOptions) -> Engines:
    return Engines(
        stt=load_stt(profile.stt.with_options(options.stt)),
        llm=load_llm(profile.llm, llm, options.llm),
        tts=load_tts(profile.tts.with_options(options.tts)),
    )


def load_stt(spec: EngineSpec) -> SttEngine:
    """A recogniser alone, for whoever only listens. Raises ModelError, ConfigError."""
    recogniser: SttEngine = _create("stt", spec)
    return recogniser


def load_tts(spec: EngineSpec) -> TtsEngine:
    """A voice alone, for whoever only speaks. Raises ModelError, ConfigError."""
    voice: TtsEngine = _create("tts", spec)
    return voice


def load_llm(spec: EngineSpec, llm: LlmSettings, options: Mapping[str, Any]) -> LlmEngine:
    """The profile's language model, or the server that the agent names, with the standby that the agent names. Raises
    ModelError, ConfigError."""
    if llm.model and not llm.base_url and spec.is_local:
        raise ConfigError(f"llm.model: {llm.model!r:.80} is asked of no server; name one with llm.base_url, or leave it out")
    chosen = {"temperature": llm.temperature, "max_tokens": llm.max_tokens}
    if llm.base_url or not spec.is_local:
        first: LlmEngine = _plugin("llm", "openai")(None, {**_server(spec, llm), **chosen, **options})
        first = first if llm.base_url else _grounded(first, spec.model)
    else:
        first = _grounded(_create("llm", spec.with_options({**chosen, **options})), spec.model)
    if not llm.fallback:
        return first
    standby = profile(llm.fallback).llm
    if not standby.is_local:
        raise ConfigError(
            f"llm.fallback: the profile {llm.fallback} needs a server too; name one that does not, such as embedded"
        )
    return FallbackEngine(first, _grounded(_create("llm", standby.with_options(chosen)), standby.model))


def _grounded(engine: LlmEngine, model: str) -> LlmEngine:
    """The language model; one that invents, by its entry in the registry, held against what was said."""
    known = registry().model(model)
    language = next((LANGUAGES[code] for code in known.languages if code in LANGUAGES), None)
    return GroundedEngine(engine, known.limits, language) if known.limits.are_checked and language is not None else engine


def _server(spec: EngineSpec, llm: LlmSettings) -> dict[str, Any]:
    """Options for `openai`: `llm.base_url` goes before $VOICEAGENT_LLM_URL, and that before the profile's server."""
    address: dict[str, Any] = {"base_url": llm.base_url, "served_model": llm.model}
    if not llm.base_url:
        named = os.environ.get(SERVER_VARIABLE)
        address = {**spec.options, **{key: value for key, value in (("base_url", named), ("served_model", llm.model)) if value}}
    names = ("api_key_env", "first_token_timeout_s", "inactivity_timeout_s", "total_timeout_s")
    return {**address, **{name: getattr(llm, name) for name in names}}


def _create(kind: str, spec: EngineSpec) -> Any:
    return _plugin(kind, spec.engine)(resolve(spec.model), spec.options)


def _plugin(kind: str, name: str) -> Create:
    """The engine's `create`. Raises ConfigError naming the engines there are."""
    ours = OURS[kind]
    if name in ours:
        create: Create = importlib.import_module(ours[name]).create
        return create
    others = {entry.name: entry for entry in entry_points(group=f"voiceagent.{kind}")}
    if name not in others:
        raise ConfigError(f"there is no {kind} engine {name!r}; expected one of {', '.join([*ours, *others])}")
    plugin: Create = others[name].load()
    return plugin
