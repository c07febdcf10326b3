"""The maker `gguf-with-adapter-safetensors`: makes the same model as `gguf-with-adapter`, in Hugging Face's format, for vLLM and
other servers. It needs no torch. The weights are bfloat16, which has half of float32's size, is what GPUs compute in, and is 0.4
% off at most. On a CPU vLLM's `dtype: float32` widens them."""

from __future__ import annotations

import json
import math
import shutil
import struct
from pathlib import Path

import numpy as np

from voiceagent.models.gguf_with_adapter import BUNDLED, Adapter, GgufFile, tokenizer
from voiceagent.models.makers import Array, Progress

CONFIG, WEIGHTS = "config.json", "model.safetensors"
AS_THEY_ARE = ("chat_template.jinja", "tokenizer_config.json")
BYTES_A_VALUE = 2
ALIGNED_BYTES = 8
"""The header's length is a multiple of this, so that no value crosses a border (huggingface/safetensors, README)."""


def make(sources: Path, bundled: Path, out: Path, progress: Progress) -> None:
    """See `makers`. Raises ValueError, KeyError for a GGUF file of another shape."""
    folder = bundled / BUNDLED
    gguf = GgufFile(next(sources.glob("*.gguf")))
    for name in AS_THEY_ARE:
        shutil.copyfile(folder / name, out / name)
    (out / "tokenizer.json").write_text(tokenizer(folder / "tokenizer_frame.json", gguf), encoding="utf-8")
    (out / CONFIG).write_text(json.dumps(config(gguf), indent=2) + "\n", encoding="utf-8")
    _write_weights(gguf, Adapter(folder), out / WEIGHTS, progress)


def config(gguf: GgufFile) -> dict[str, object]:
    """A config.json. Raises KeyError if the GGUF file lacks a value."""
    heads, size = int(gguf.value("llama.attention.head_count")), int(gguf.value("llama.embedding_length"))
    rope = float(gguf.value("llama.rope.freq_base"))
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": size,
        "intermediate_size": int(gguf.value("llama.feed_forward_length")),
        "num_hidden_layers": int(gguf.value("llama.block_count")),
        "num_attention_heads": heads,
        "num_key_value_heads": int(gguf.value("llama.attention.head_count_kv")),
        "head_dim": size // heads,
        "max_position_embeddings": int(gguf.value("llama.context_length")),
        "rms_norm_eps": float(f"{gguf.value('llama.attention.layer_norm_rms_epsilon'):.6g}"),  # a float32 in the file
        "rope_theta": rope,
        "rope_parameters": {"rope_type": "default", "rope_theta": rope},  # this is its name since transformers 5
        "vocab_size": len(gguf.strings("tokenizer.ggml.tokens")),
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": int(gguf.value("tokenizer.ggml.bos_token_id")),
        "eos_token_id": int(gguf.value("tokenizer.ggml.eos_token_id")),
        "torch_dtype": "bfloat16",
    }


def _write_weights(gguf: GgufFile, adapter: Adapter, path: Path, progress: Progress) -> None:
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    size = 0
    for name in sorted(gguf.names):
        shape = gguf.shape(name)
        length = math.prod(shape) * BYTES_A_VALUE
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [size, size + length]}
        size += length
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNED_BYTES)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        before = file.tell()
        for name in sorted(gguf.names):
            file.write(in_bfloat16(adapter.merged(name, gguf.weight(name))).tobytes())
            progress(path.name, file.tell(), before + size)


def in_bfloat16(weight: Array) -> Array:
    """The upper halves of float32 values, rounded to nearest, ties to even, as little-endian uint16."""
    bits = np.ascontiguousarray(weight, "<f4").view("<u4")
    rounded: Array = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
    return rounded
