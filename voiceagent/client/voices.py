"""The voice of a caller who is no person: a published voice of the agent's language if one is on this machine, or the one that
was asked for. Recognisers of published models understand the bundled micro voice worst, and the bundled recogniser understands
published voices worst."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from voiceagent.errors import ConfigError, ModelError
from voiceagent.json_types import JsonObject
from voiceagent.models.choice import DEFAULT_ENGINES, require_model
from voiceagent.models.model import Model
from voiceagent.models.registry import EngineSpec, Registry
from voiceagent.settings.agent import models_cache_dir

ASSUMED_LANGUAGE = "en"
"""The language of an agent that tells none, or that listens to any."""


class VoiceError(ConfigError):
    """No such voice."""


@dataclass(frozen=True, slots=True)
class ChosenVoice:
    """The voice that speaks."""

    name: str
    spec: EngineSpec
    remark: str = ""
    """A note for the user about the choice; empty if it is a voice that fits."""


def named_voice(known: Registry, wanted: str) -> ChosenVoice:
    """The voice of this name or path. Raises VoiceError."""
    voices = _voices(known)
    if (model := voices.get(wanted)) is not None:
        if not model.is_present(models_cache_dir()):
            raise VoiceError(f"the voice {wanted} is not on this machine; fetch it with `voiceagent models pull {wanted}`")
        return _chosen(model)
    path = Path(wanted).expanduser()
    if path.exists():
        try:
            require_model("--voice", DEFAULT_ENGINES["tts"], path)
        except ModelError as error:
            raise VoiceError(str(error)) from error
        return ChosenVoice(path.name, EngineSpec(DEFAULT_ENGINES["tts"], path=str(path)))
    near = get_close_matches(wanted, voices, n=3, cutoff=0.4) or list(voices)
    raise VoiceError(f"there is no voice {wanted!r}, and no such file; expected a Piper voice's .onnx, or {' or '.join(near)}")


def best_voice(known: Registry, about: JsonObject) -> ChosenVoice:
    """The voice that this server understands best, by what it tells of itself."""
    here = [model for model in _voices(known).values() if model.is_present(models_cache_dir())]
    bundled = [model for model in here if model.bundled]
    if _hears_bundled(known, about) and bundled:
        return _chosen(bundled[0])
    here.sort(key=lambda model: bool(model.bundled))
    language = str(about.get("language", ASSUMED_LANGUAGE))
    language = ASSUMED_LANGUAGE if language == "auto" else language
    fits = [model for model in here if language in model.languages]
    best = (fits or here)[0]
    if not fits:
        remark = f"it speaks {' and '.join(best.languages)}, the agent {language}; name another with --voice"
    elif best.bundled:
        fetch = next((model.name for model in _voices(known).values() if language in model.languages and not model.bundled), "")
        remark = f"no published voice is on this machine; `voiceagent models pull {fetch}` fetches one"
    else:
        remark = ""
    return _chosen(best, remark)


def _hears_bundled(known: Registry, about: JsonObject) -> bool:
    """True when the server's recogniser is a bundled one, which knows only the bundled voice."""
    parts = about.get("models")
    names = [part.get("name") for part in parts if part.get("part") == "stt"] if isinstance(parts, list) else []
    return any(name in known.models and known.models[name].bundled for name in names)


def _voices(known: Registry) -> dict[str, Model]:
    return {name: model for name, model in known.models.items() if model.kind == "tts"}


def _chosen(model: Model, remark: str = "") -> ChosenVoice:
    return ChosenVoice(model.name, EngineSpec(model.engine, model.name), remark)
