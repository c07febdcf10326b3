"""The weights of a Llama-shaped model in a GGUF file, by the names and in the order of Hugging Face's format. For its rotary
embedding GGUF interleaves the halves of each attention head (llama.cpp's convert_hf_to_gguf.py, `permute`); this module puts them
one after the other again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize

from voiceagent.models.makers import Array

LAYER = {
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_WHOLE = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


class GgufFile:
    """One open file."""

    def __init__(self, path: Path) -> None:
        """Raises ValueError for a file that is not GGUF."""
        self._reader = GGUFReader(path)
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}

    @property
    def names(self) -> Iterator[str]:
        """The names of all weights, in Hugging Face's format."""
        return (_hub_name(name) for name in self._tensors)

    def shape(self, name: str) -> list[int]:
        """The shape of a weight, by its name in Hugging Face's format. Raises KeyError."""
        return [int(length) for length in reversed(self._tensors[_gguf_name(name)].shape)]

    def weight(self, name: str) -> Array:
        """A weight by its name in Hugging Face's format: float32 [rows, columns], or [values]. Raises KeyError."""
        tensor = self._tensors[_gguf_name(name)]
        found: Array = np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float32)
        heads = {"q_proj": "llama.attention.head_count", "k_proj": "llama.attention.head_count_kv"}
        for part, key in heads.items():
            if f".{part}." in name:
                found = _halves_apart(found, int(self.value(key)))
        return found

    def value(self, key: str) -> Any:
        """A metadata value, of whatever type it has in the file: the gguf package tells none. Raises KeyError."""
        return self._reader.fields[key].contents()

    def strings(self, key: str) -> list[str]:
        """A metadata value that is a list of texts. Raises KeyError."""
        field = self._reader.fields[key]
        return [bytes(field.parts[index]).decode("utf-8") for index in field.data]


def _halves_apart(weight: Array, heads: int) -> Array:
    half = weight.shape[0] // heads // 2
    return weight.reshape(heads, half, 2, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def _hub_name(name: str) -> str:
    if name in _WHOLE:
        return _WHOLE[name]
    _, layer, part, ending = name.split(".")
    return f"model.layers.{layer}.{LAYER[part]}.{ending}"


def _gguf_name(name: str) -> str:
    for short, long in _WHOLE.items():
        if name == long:
            return short
    _, _, layer, *part, ending = name.split(".")
    short = next(short for short, long in LAYER.items() if long == ".".join(part))
    return f"blk.{layer}.{short}.{ending}"
