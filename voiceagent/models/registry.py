"""The model registry, `models/registry.yaml`, as typed objects: which models there are, where their files come from, and which
engines and models make up each profile."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

import msgspec

from voiceagent.errors import ConfigError, ModelError, UnknownNameError
from voiceagent.models.makers import MAKERS
from voiceagent.models.model import Fetched, Kind, Model
from voiceagent.resources import registry_file
from voiceagent.settings.agent import models_cache_dir
from voiceagent.settings_file import SettingsFile, did_you_mean

REMOTE_ENGINES = {"openai": "vllm", "remote": ""}
"""Engines that use a server, each with the engine there that needs the model's files; empty: the server has models of its own."""


class EngineSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An engine, the model it runs and its options."""

    engine: str
    model: str = ""
    """A model of the registry; empty: `path` names the model, or the engine needs none."""
    options: dict[str, object] = {}
    path: str = ""
    """A model named by path: its file or folder."""

    @property
    def is_local(self) -> bool:
        """True if this process loads the model; otherwise a server that `options` names does."""
        return self.engine not in REMOTE_ENGINES

    def with_options(self, options: Mapping[str, object]) -> EngineSpec:
        """The same engine with options on top; a mapping among them, such as `stream`, is merged with the one that it
        overrides."""
        merged = dict(self.options)
        for name, value in options.items():
            below = merged.get(name)
            merged[name] = {**below, **value} if isinstance(below, dict) and isinstance(value, dict) else value
        return msgspec.structs.replace(self, options=merged)


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named set of engines and models."""

    description: str
    stt: EngineSpec
    llm: EngineSpec
    tts: EngineSpec
    turn: tuple[EngineSpec, ...] = ()
    """The judges of whether a pause is the end of the caller's turn. Without any, the words and the voice decide alone."""
    budgets: str = ""
    """The profile whose latency budgets it uses, if the budgets file names none for it."""
    name: str = ""
    """Its key in the registry."""

    @property
    def specs(self) -> dict[Kind, EngineSpec]:
        """The engines that a call cannot do without, by kind."""
        return {"stt": self.stt, "llm": self.llm, "tts": self.tts}

    @property
    def every_spec(self) -> tuple[tuple[Kind, EngineSpec], ...]:
        """All engines, each with its kind."""
        return (*self.specs.items(), *(("turn", spec) for spec in self.turn))

    def with_specs(self, specs: Mapping[Kind, EngineSpec]) -> Profile:
        """This profile with other engines."""
        return msgspec.structs.replace(self, stt=specs["stt"], llm=specs["llm"], tts=specs["tts"])


_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class Registry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All models and profiles."""

    profiles: dict[str, Profile] = {}
    models: dict[str, Model] = {}

    def model(self, name: str) -> Model:
        """Raises UnknownNameError, which names the known models."""
        found = self.models.get(name)
        if found is None:
            near = did_you_mean(name, self.models)
            raise UnknownNameError(f"there is no model {name!r}{near or '; the registry has ' + ', '.join(self.models)}")
        return found

    def profile(self, name: str) -> Profile:
        """Raises UnknownNameError, which names the known profiles."""
        found = self.profiles.get(name)
        if found is None:
            known = f"expected one of {', '.join(self.profiles)}"
            raise UnknownNameError(f"there is no profile {name!r}; {known}{did_you_mean(name, self.profiles)}")
        return found

    def models_of(self, profile: str) -> tuple[Model, ...]:
        """The profile's models, including those that a server loads, but not those that it names by path."""
        specs = [spec for _, spec in self.profile(profile).every_spec]
        return tuple(self.model(spec.model) for spec in specs if spec.model)

    def missing(self, profile: Profile, cache: Path) -> list[Model]:
        """The models that this process loads for a profile and that are missing on this machine."""
        specs = [spec for _, spec in profile.every_spec]
        local = [self.model(spec.model) for spec in specs if spec.is_local and spec.model]
        return [model for model in local if not model.is_present(cache)]

    def resolve(self, model_name: str) -> Path:
        """The folder of a model's files, in the models cache or among the bundled ones. Raises ModelError for a missing model,
        which says how large it is and which command fetches it."""
        model = self.model(model_name)
        cache = models_cache_dir()
        if model.is_present(cache):
            return model.folder(cache)
        if model.bundled:
            raise ModelError(f"the bundled model {model_name} is missing from {model.folder(cache)}; install voiceagent again")
        size = size_text(model.size_bytes)
        raise ModelError(f"model {model_name} ({size}) is not in {cache}; fetch it with `voiceagent models pull {model_name}`")

    def require(self, profile: Profile) -> None:
        """Make sure that every model that this process loads for the profile is there. Raises ModelError, which names the missing
        ones, their size and the command that fetches them."""
        cache = models_cache_dir()
        missing = self.missing(profile, cache)
        if any(model.bundled for model in missing):
            self.resolve(next(model.name for model in missing if model.bundled))
        if missing:
            raise ModelError(missing_text(profile.name, missing, cache))


def missing_text(profile_name: str, missing: Sequence[Model], cache: Path) -> str:
    """Names the models that a profile lacks, their size, and the command that fetches them."""
    names = ", ".join(f"{model.name} ({size_text(model.size_bytes)})" for model in missing)
    total = size_text(sum(model.size_bytes for model in missing))
    fetch = f"fetch them with `voiceagent models pull --profile {profile_name}`"
    return f"profile {profile_name} needs {names}, in all {total}, that are not in {cache}; {fetch}"


def load_registry(path: Path) -> Registry:
    """Read a registry. Raises ConfigError, which names the file and the wrong key."""
    return _checked(path, _read(path, "install voiceagent again"))


def with_own(shipped: Registry, path: Path) -> Registry:
    """The shipped registry with the profiles and models of a file of the operator's beside it. Paths in that file are relative to
    it. Raises ConfigError, which names the file and the wrong key."""
    own = _read(path, "docs/models.md shows one")
    for key, mine, theirs in (("profiles", own.profiles, shipped.profiles), ("models", own.models, shipped.models)):
        taken = sorted(set(mine) & set(theirs))
        if taken:
            raise ConfigError(f"{path}: {key}.{taken[0]}: voiceagent ships one of this name; give yours another")
    bundled = next((name for name, model in own.models.items() if model.bundled), None)
    if bundled:
        raise ConfigError(f"{path}: models.{bundled}: `bundled` models ship with voiceagent; name yours by its path in a profile")
    profiles = {name: _placed(profile, path.parent) for name, profile in own.profiles.items()}
    return _checked(path, Registry({**shipped.profiles, **profiles}, {**shipped.models, **own.models}))


def _placed(profile: Profile, folder: Path) -> Profile:
    """The profile, with paths that are relative to the folder of its file."""
    replace = msgspec.structs.replace

    def placed(spec: EngineSpec) -> EngineSpec:
        return replace(spec, path=str(folder / Path(spec.path).expanduser())) if spec.path else spec

    there = profile.with_specs({kind: placed(spec) for kind, spec in profile.specs.items()})
    return replace(there, turn=tuple(map(placed, profile.turn)))


def _read(path: Path, advice: str) -> Registry:
    return SettingsFile(path, advice, "`models:`").converted(Registry)


def _checked(path: Path, loaded: Registry) -> Registry:
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
        yield from (f"models.{name}: {problem}" for problem in _problems_of(model))
    for profile in registry.profiles.values():
        for kind, spec in profile.every_spec:
            where = f"profiles.{profile.name}.{kind}"
            found = registry.models.get(spec.model)
            if spec.model and spec.path:
                yield f"{where}: has both a `model` and a `path`; leave one of the two out"
            elif not spec.model:
                continue
            elif found is None:
                yield f"{where}: there is no model {spec.model!r}{did_you_mean(spec.model, registry.models)}"
            elif found.kind != kind:
                yield f"{where}: {spec.model} is a model for {found.kind}"
            elif found.engine != REMOTE_ENGINES.get(spec.engine, spec.engine):
                yield f"{where}: {spec.model} is run by {found.engine}, not {spec.engine}"


def _problems_of(model: Model) -> Iterator[str]:
    if model.bundled and (model.sources or model.files or model.made):
        yield "expected either `bundled`, or `files` and where they come from"
    elif not model.bundled and not model.files:
        yield "expected either `bundled`, or `files` with their sizes and SHA-256"
    if model.made and model.sources:
        yield "is made: where its parts come from belongs into `made`"
    if model.made and model.made.by not in MAKERS:
        yield f"there is no maker {model.made.by!r}; expected one of {', '.join(MAKERS) or 'none'}"
    if not model.bundled:
        yield from _problems_of_sources(model.origin)
    origin = model.origin
    paths = [model.bundled, *(package.folder for package in origin.packages)]
    paths += [path for file in (*model.files, *origin.files) for path in (file.path, file.name, *file.parts)]
    for path in paths:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            yield f"{path!r} leaves the model's folder"


def _problems_of_sources(origin: Fetched) -> Iterator[str]:
    if not origin.sources:
        yield "comes from nowhere; expected `repository` and `revision`, or `packages`, or both"
    if bool(origin.repository) != bool(origin.revision):
        yield "expected `repository` and `revision` together"
    if not origin.files:
        yield "expected `files` with their sizes and SHA-256"


@functools.cache
def registry() -> Registry:
    """The registry that ships with voiceagent."""
    return load_registry(registry_file())


def profile(name: str) -> Profile:
    """A profile of the shipped registry. Raises ConfigError, which names the known profiles."""
    return registry().profile(name)


def resolve(model_name: str) -> Path:
    """The folder of a model of the shipped registry: see `Registry.resolve`."""
    return registry().resolve(model_name)


def require(profile_name: str) -> None:
    """Make sure that a shipped profile's models are here: see `Registry.require`."""
    registry().require(registry().profile(profile_name))


def size_text(size_bytes: int) -> str:
    """A size for people, in decimal units as hubs give them."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.{1 if size_bytes < 100 * factor else 0}f} {unit}"
    return f"{size_bytes} bytes"
