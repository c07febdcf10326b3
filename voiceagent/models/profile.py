"""A profile: a named set of engines, the models that they run and their options."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from voiceagent.models.model import Kind

REMOTE_ENGINES = {"openai": "vllm"}
"""Engines that use a server, each with the engine there that needs the model's files."""


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
