"""The profile that answers an agent's calls, including models of its own that the agent names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from voiceagent.errors import ConfigError
from voiceagent.models.model import Kind
from voiceagent.models.own import DEFAULT_ENGINES, FORMATS, engine_of, require_model
from voiceagent.models.profile import EngineSpec, Profile
from voiceagent.models.registry import Registry, missing_text, registry, with_own
from voiceagent.settings.agent import AgentConfig, LlmSettings, OwnJudge, OwnModel, models_cache_dir

AUTO = "auto"
"""The profile of an agent that names none: `STARTER` if its models are on this machine, else `BUNDLED`."""
STARTER = "starter"
"""The profile that set-up fetches, and that `make serve` runs."""
BUNDLED = "embedded"
"""The profile that needs no download."""
PROFILE_VARIABLE = "VOICEAGENT_PROFILE"
"""The environment variable that sets what `auto` is, whatever models are on this machine."""


def registry_of(agent: AgentConfig) -> Registry:
    """The shipped registry, with what the agent's own models file adds. Raises ConfigError."""
    return with_own(registry(), Path(agent.base_dir) / agent.models) if agent.models else registry()


def choose_profile(agent: AgentConfig, known: Registry) -> tuple[str, str]:
    """The name of the profile that answers, and why it is not the first choice (empty if it is). Raises ConfigError,
    ModelError."""
    if agent.profile != AUTO:
        return known.profile(agent.profile).name, ""
    if named := os.environ.get(PROFILE_VARIABLE):
        return known.profile(named).name, ""
    missing = known.missing(profile_of(agent, known, STARTER), models_cache_dir())
    if not missing:
        return STARTER, ""
    return BUNDLED, f"{missing_text(STARTER, missing, models_cache_dir())}; until then {BUNDLED} answers"


def wanted_profile(agent: AgentConfig, known: Registry) -> str:
    """The profile that would answer if all models were on this machine. Raises ConfigError."""
    name = agent.profile if agent.profile != AUTO else os.environ.get(PROFILE_VARIABLE) or STARTER
    return known.profile(name).name


def with_own_models(agent: AgentConfig, stt: str, llm: str, tts: str) -> AgentConfig:
    """The agent with the models of these paths, relative to the working directory, in place of its own."""
    replace = msgspec.structs.replace
    if stt:
        agent = replace(agent, stt=OwnModel(path=str(Path(stt).absolute())))
    if llm:
        agent = replace(agent, llm=replace(agent.llm, engine="", path=str(Path(llm).absolute()), base_url="", model=""))
    if tts:
        agent = replace(agent, tts=OwnModel(path=str(Path(tts).absolute())))
    return agent


def voices_of(agent: AgentConfig) -> dict[str, EngineSpec]:
    """The agent's voices by the code of their language. Raises ConfigError, ModelError."""
    return {code: _own_spec("tts", "", path, agent.base_dir) for code, path in agent.voices.items()}


def profile_of(agent: AgentConfig, known: Registry, name: str = "") -> Profile:
    """The agent's profile, or the named one, with the agent's own models in it. Raises ConfigError, ModelError."""
    found = known.profile(name or agent.profile)
    specs: dict[Kind, EngineSpec] = dict(found.specs)
    own: dict[Kind, OwnModel | LlmSettings] = {"stt": agent.stt, "llm": agent.llm, "tts": agent.tts}
    for kind, model in own.items():
        if model.engine or model.path:
            specs[kind] = _own_spec(kind, model.engine, model.path, agent.base_dir)
    if agent.llm.base_url and (agent.llm.engine or agent.llm.path):
        raise ConfigError("llm.path: the language model is already llm.base_url's; leave one of the two out")
    _require_own(found.specs, specs)
    judges = found.turn if agent.turn.judges is None else tuple(_judge(own, agent, known) for own in agent.turn.judges)
    return msgspec.structs.replace(found.with_specs(specs), turn=judges)


def _judge(own: OwnJudge, agent: AgentConfig, known: Registry) -> EngineSpec:
    """A turn judge that the agent names."""
    if own.model and own.path:
        raise ConfigError("turn.judges: one has both a `model` and a `path`; leave one of the two out")
    if own.model:
        model = known.model(own.model)
        if model.kind != "turn" or own.engine not in ("", model.engine):
            raise ConfigError(f"turn.judges: {own.model} is a model for {model.kind}, run by {model.engine}")
        return EngineSpec(model.engine, own.model, own.options)
    spec = _own_spec("turn", own.engine or DEFAULT_ENGINES["turn"], own.path, agent.base_dir)
    if spec.path:
        require_model("turn.judges", spec.engine, Path(spec.path))
    return msgspec.structs.replace(spec, options=own.options)


def _own_spec(kind: Kind, engine: str, path: str, base_dir: str) -> EngineSpec:
    if not path and engine in FORMATS:
        setting = "turn.judges" if kind == "turn" else kind
        raise ConfigError(f"{setting}.engine: {engine} needs a model; name its file or folder with {setting}.path")
    there = Path(base_dir) / Path(path).expanduser() if path else None
    return EngineSpec(engine or engine_of(kind, there or Path()), path=str(there or ""))


def _require_own(named: Mapping[Kind, EngineSpec], specs: Mapping[Kind, EngineSpec]) -> None:
    for kind, spec in specs.items():
        if spec.path:
            require_model(f"{kind}.path" if spec != named[kind] else f"{kind} of the profile", spec.engine, Path(spec.path))
