"""The profile that answers an agent's calls, including models that the agent names by path: which engine runs a path's files,
and what is missing if they are no such model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from voiceagent.errors import ConfigError, ModelError
from voiceagent.models.model import Kind
from voiceagent.models.registry import EngineSpec, Profile, Registry, missing_text, registry, with_own
from voiceagent.settings.agent import REMOTE, AgentConfig, LlmSettings, OwnJudge, OwnModel, models_cache_dir


@dataclass(frozen=True, slots=True)
class Format:
    """The files that an engine loads."""

    what: str
    files: tuple[tuple[str, ...], ...]
    """The required files; of several names one is enough. `*` stands for any name."""


FORMATS = {
    "faster-whisper": Format(
        "a Whisper in CTranslate2 format",
        (("model.bin",), ("config.json",), ("tokenizer.json",), ("vocabulary.json", "vocabulary.txt")),
    ),
    "embedded": Format(
        "a language model as onnxruntime-genai's builder makes it",
        (("genai_config.json",), ("tokenizer.json",), ("chat_template.jinja", "tokenizer_config.json")),
    ),
    "vllm": Format(
        "a language model as transformers keeps it",
        (("config.json",), ("tokenizer.json",), ("chat_template.jinja", "tokenizer_config.json"), ("*.safetensors",)),
    ),
    "piper": Format("a Piper voice", (("*.onnx",), ("*.onnx.json",))),
    "smart-turn": Format("Smart Turn v3", (("*.onnx",),)),
}
"""The known formats. The engine of a plugin checks by itself."""
DEFAULT_ENGINES: dict[Kind, str] = {"stt": "faster-whisper", "llm": "embedded", "tts": "piper", "turn": "smart-turn"}


def engine_of(kind: Kind, path: Path) -> str:
    """The engine that runs the files at this path."""
    if kind == "llm" and not (path / "genai_config.json").is_file() and next(path.glob("*.safetensors"), None):
        return "vllm"
    return DEFAULT_ENGINES[kind]


def require_model(setting: str, engine: str, path: Path) -> None:
    """Make sure that the path holds a model for the engine. Raises ModelError, which says what is missing."""
    known = FORMATS.get(engine)
    if known is None:
        return
    names = ", ".join(" or ".join(names) for names in known.files)
    if not path.exists():
        raise ModelError(f"{setting}: there is no {path}; expected {known.what} ({names})")
    missing = list(_missing(known, path))
    if missing:
        lacks = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        raise ModelError(f"{setting}: {path} is not {known.what}: {lacks}; expected {names}")


def _missing(known: Format, path: Path) -> Iterator[str]:
    if path.is_file():
        if path.suffix != ".onnx" or known.files[0] != ("*.onnx",):
            yield "a folder"
        elif known is FORMATS["piper"] and not path.with_name(path.name + ".json").is_file():
            yield f"{path.name}.json beside it"
        return
    for names in known.files:
        if not any(found.is_file() for name in names for found in path.glob(name)):
            yield " or ".join(names)
    graph = path / "genai_config.json"
    if known is FORMATS["embedded"] and graph.is_file() and (name := _graph_of(graph)) and not (path / name).is_file():
        yield name


def _graph_of(config: Path) -> str:
    """The file that a genai_config.json names as the model; empty: it names none, and the engine reports that."""
    try:
        return str(json.loads(config.read_text(encoding="utf-8"))["model"]["decoder"]["filename"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


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
        if isinstance(model, OwnModel) and model.url:
            specs[kind] = EngineSpec(REMOTE, options={"url": model.url})
        elif model.engine or model.path:
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
