"""The model registry, `models/registry.yaml`, as typed objects: which models there are, where their files come from, and
which engines and models each profile is made of."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

import msgspec
import yaml

from voiceagent.config import models_cache_dir
from voiceagent.errors import ConfigError, ModelError
from voiceagent.grounding.limits import NO_LIMITS, ModelLimits
from voiceagent.resources import bundled_models_dir, registry_file

Kind = Literal["stt", "llm", "tts"]
_SHA256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_REVISION = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{40})?$")]
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
REMOTE_ENGINES = {"openai": "vllm"}
"""Engines that talk to a server, and the engine there that needs the model's files."""


class ModelFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a model on a hub."""

    path: str
    """Its path in the repository."""
    size: Annotated[int, msgspec.Meta(ge=0)]
    """In bytes."""
    sha256: _SHA256
    local: str = ""
    """Its path below the model's folder; empty: the same as `path`."""

    @property
    def name(self) -> str:
        """Its path below the model's folder."""
        return self.local or self.path


class Model(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model: bundled, or on a hub."""

    kind: Kind
    engine: str
    licence: str
    source: str
    languages: tuple[str, ...]
    bundled: str = ""
    """Its folder below models/bundled; empty: it is on a hub."""
    repository: str = ""
    revision: _REVISION = ""
    files: tuple[ModelFile, ...] = ()
    name: str = ""
    """Its key in the registry."""
    limits: ModelLimits = NO_LIMITS
    """What it is not fit for."""

    @property
    def size_bytes(self) -> int:
        """Of all files. A bundled model's are counted on disk."""
        if self.bundled:
            return sum(p.stat().st_size for p in (bundled_models_dir() / self.bundled).rglob("*") if p.is_file())
        return sum(file.size for file in self.files)

    def folder(self, cache: Path) -> Path:
        """Where its files lie, or will: a new revision gets a new folder."""
        return bundled_models_dir() / self.bundled if self.bundled else cache / f"{self.name}-{self.revision[:12]}"

    def is_present(self, cache: Path) -> bool:
        """Whether every file is there in its right size. Quick: it does not read the files."""
        folder = self.folder(cache)
        if self.bundled:
            return folder.is_dir() and any(folder.iterdir())
        return all((folder / f.name).is_file() and (folder / f.name).stat().st_size == f.size for f in self.files)


class EngineSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An engine, the model it runs and its options."""

    engine: str
    model: str
    options: dict[str, Any] = {}

    @property
    def is_local(self) -> bool:
        """Whether this process loads the model; else a server does that `options` names."""
        return self.engine not in REMOTE_ENGINES

    def with_options(self, options: Mapping[str, Any]) -> EngineSpec:
        """The same with other options; a mapping among them, such as `stream`, is merged with the one it goes over."""
        merged = dict(self.options)
        for name, value in options.items():
            below = merged.get(name)
            merged[name] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
        return EngineSpec(self.engine, self.model, merged)


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named set of engines and models."""

    description: str
    stt: EngineSpec
    llm: EngineSpec
    tts: EngineSpec
    name: str = ""
    """Its key in the registry."""

    @property
    def specs(self) -> dict[Kind, EngineSpec]:
        """The engines by kind."""
        return {"stt": self.stt, "llm": self.llm, "tts": self.tts}


class Registry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All models and profiles."""

    profiles: dict[str, Profile]
    models: dict[str, Model]

    def model(self, name: str) -> Model:
        """Raises ConfigError naming the models there are."""
        found = self.models.get(name)
        if found is None:
            raise ConfigError(f"there is no model {name!r}; the registry has {', '.join(self.models)}")
        return found

    def profile(self, name: str) -> Profile:
        """Raises ConfigError naming the profiles there are."""
        found = self.profiles.get(name)
        if found is None:
            raise ConfigError(f"there is no profile {name!r}; expected one of {', '.join(self.profiles)}")
        return found

    def models_of(self, profile: str) -> tuple[Model, ...]:
        """The profile's models, those that a server loads among them."""
        return tuple(self.model(spec.model) for spec in self.profile(profile).specs.values())


def load_registry(path: Path) -> Registry:
    """Read a registry. Raises ConfigError naming the file, and the key that is wrong."""
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        loaded = msgspec.convert(data, Registry)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, msgspec.ValidationError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{path}: is not a model registry ({reason}); install voiceagent again") from error
    replace = msgspec.structs.replace
    named = Registry(
        {name: replace(profile, name=name) for name, profile in loaded.profiles.items()},
        {name: replace(model, name=name) for name, model in loaded.models.items()},
    )
    problem = next(_problems(named), None)
    if problem:
        raise ConfigError(f"{path}: {problem}")
    return named


def _problems(registry: Registry) -> Iterator[str]:
    for name, model in registry.models.items():
        if not _NAME.fullmatch(name):
            yield f"models.{name}: is not a name; expected small letters, digits, '.', '_' and '-'"
        from_hub = (model.repository, model.revision, model.files)
        if any(from_hub) if model.bundled else not all(from_hub):
            yield f"models.{name}: expected either `bundled`, or `repository`, `revision` and `files`"
        for path in (model.bundled, *(file.path for file in model.files), *(file.name for file in model.files)):
            if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
                yield f"models.{name}: {path!r} leaves the model's folder"
    for profile in registry.profiles.values():
        for kind, spec in profile.specs.items():
            where = f"profiles.{profile.name}.{kind}"
            found = registry.models.get(spec.model)
            if found is None:
                yield f"{where}: there is no model {spec.model!r}"
            elif found.kind != kind:
                yield f"{where}: {spec.model} is a model for {found.kind}"
            elif found.engine != REMOTE_ENGINES.get(spec.engine, spec.engine):
                yield f"{where}: {spec.model} is run by {found.engine}, not {spec.engine}"


@functools.cache
def registry() -> Registry:
    """The registry that ships with voiceagent."""
    return load_registry(registry_file())


def profile(name: str) -> Profile:
    """A profile of the shipped registry. Raises ConfigError naming the profiles there are."""
    return registry().profile(name)


def resolve(model_name: str) -> Path:
    """The folder of a model's files, in the models cache or among the bundled ones. Raises ModelError saying which command
    fetches a missing model and how large it is."""
    model = registry().model(model_name)
    cache = models_cache_dir()
    if model.is_present(cache):
        return model.folder(cache)
    if model.bundled:
        raise ModelError(f"the bundled model {model_name} is missing from {model.folder(cache)}; install voiceagent again")
    size = size_text(model.size_bytes)
    raise ModelError(f"model {model_name} ({size}) is not in {cache}; fetch it with `voiceagent models pull {model_name}`")


def require(profile_name: str) -> None:
    """Make sure that every model this process loads for the profile is there. Raises ModelError naming the missing ones, their
    size and the command that fetches them."""
    found = registry()
    cache = models_cache_dir()
    local = [found.model(spec.model) for spec in found.profile(profile_name).specs.values() if spec.is_local]
    missing = [model for model in local if not model.is_present(cache)]
    if any(model.bundled for model in missing):
        resolve(next(model.name for model in missing if model.bundled))
    if missing:
        names = ", ".join(f"{model.name} ({size_text(model.size_bytes)})" for model in missing)
        total = size_text(sum(model.size_bytes for model in missing))
        raise ModelError(
            f"profile {profile_name} needs {names}, in all {total}, that are not in {cache}; "
            f"fetch them with `voiceagent models pull --profile {profile_name}`"
        )


def size_text(size_bytes: int) -> str:
    """A size for people, in decimal units as hubs give them."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.{1 if size_bytes < 100 * factor else 0}f} {unit}"
    return f"{size_bytes} bytes"
