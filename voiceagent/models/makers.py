"""Models that are made on this machine from fetched files, when they are pulled. A maker is a function

    make(sources, bundled, out, progress) -> None

`sources` holds the fetched files, `bundled` is models/bundled, and the model's files are written below `out`; `progress` is told
(file, bytes written, its size). It makes the same files on every machine, byte by byte: the registry has its SHA-256."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
"""Weights: float32 unless said otherwise. The type of the elements is open, because packed weights are whole numbers."""


Progress = Callable[[str, int, int], None]
"""Called with (file or package, bytes that are there, its size) as a pull goes on."""
Maker = Callable[[Path, Path, Path, Progress], None]

MAKERS: dict[str, str] = {
    "gguf-with-adapter": "voiceagent.models.gguf_with_adapter",
    "gguf-with-adapter-safetensors": "voiceagent.models.gguf_with_adapter_safetensors",
}
"""The makers by their names in the registry, with the modules that hold their `make`."""


def find_maker(name: str) -> Maker:
    """The maker of this name, one of `MAKERS`."""
    make: Maker = importlib.import_module(MAKERS[name]).make
    return make
