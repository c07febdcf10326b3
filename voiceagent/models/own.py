"""Models named by path: which engine runs a path's files, and what is missing if they are no such model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from voiceagent.errors import ModelError
from voiceagent.models.model import Kind


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
