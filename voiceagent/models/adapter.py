"""A LoRA adapter (Hu et al. 2021) in the file format of Hugging Face's PEFT, `adapter_config.json` and
`adapter_model.safetensors`, and the weights that it changes. vLLM loads the same files."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

import numpy as np

from voiceagent.models.made_files import Array

_PREFIX = "base_model.model."
_TYPES: dict[str, np.dtype[np.generic]] = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


class Adapter:
    """Two narrow matrices for each weight that it changes: weight + alpha / rank * B A."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError, ValueError, KeyError for files that are no adapter."""
        config = json.loads((folder / "adapter_config.json").read_text(encoding="utf-8"))
        self._factor = np.float32(config["lora_alpha"] / config["r"])
        self._tensors = read_safetensors(folder / "adapter_model.safetensors")

    def merged(self, name: str, weight: Array) -> Array:
        """The weight of that name (`model.layers.0.mlp.up_proj.weight`), float32 [rows, columns], with its change. The change is
        added rank by rank, because a matrix product would differ in its last bits from machine to machine."""
        stem = _PREFIX + name.removesuffix(".weight")
        down, up = self._tensors.get(f"{stem}.lora_A.weight"), self._tensors.get(f"{stem}.lora_B.weight")
        if down is None or up is None:
            return weight
        change = np.zeros(weight.shape, np.float32)
        for rank in range(down.shape[0]):
            change += up[:, rank, None].astype(np.float32) * down[rank].astype(np.float32)
        found: Array = weight + change * self._factor
        return found


def read_safetensors(path: Path) -> dict[str, Array]:
    """All tensors of a file: eight bytes of length, a JSON header, the data (huggingface/safetensors, README). Raises OSError,
    ValueError, KeyError."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    found: dict[str, Array] = {}
    for name, entry in header.items():
        start, end = entry["data_offsets"]
        if end - start != math.prod(entry["shape"]) * _TYPES[entry["dtype"]].itemsize or 8 + length + end > len(data):
            raise ValueError(f"{path.name}: {name} does not have the size of its shape")
        values = np.frombuffer(data, _TYPES[entry["dtype"]], math.prod(entry["shape"]), 8 + length + start)
        found[name] = values.reshape(entry["shape"])
    return found
