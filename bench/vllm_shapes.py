"""Folders that vLLM loads with random weights (`--load-format dummy`): the shape of a published model, the bundled tokenizer and
chat template. Speed and memory are those of the real model; what it says is nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from voiceagent.resources import bundled_models_dir

VOCABULARY = 151_936
_QWEN3: dict[str, Any] = {
    "attention_bias": False,
    "head_dim": 128,
    "hidden_act": "silu",
    "max_position_embeddings": 40_960,
    "rms_norm_eps": 1e-6,
    "rope_parameters": {"rope_theta": 1_000_000.0, "rope_type": "default"},
    "vocab_size": VOCABULARY,
    "dtype": "bfloat16",
    "use_cache": True,
}
SHAPES: dict[str, dict[str, Any]] = {
    # config.json of Qwen/Qwen3-8B
    "8b": {
        **_QWEN3,
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 4096,
        "intermediate_size": 12_288,
        "num_attention_heads": 32,
        "num_hidden_layers": 36,
        "num_key_value_heads": 8,
        "tie_word_embeddings": False,
    },
    # config.json of Qwen/Qwen3-30B-A3B
    "30b-a3b": {
        **_QWEN3,
        "architectures": ["Qwen3MoeForCausalLM"],
        "model_type": "qwen3_moe",
        "hidden_size": 2048,
        "intermediate_size": 6144,
        "moe_intermediate_size": 768,
        "num_attention_heads": 32,
        "num_hidden_layers": 48,
        "num_key_value_heads": 4,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "norm_topk_prob": True,
        "decoder_sparse_step": 1,
        "tie_word_embeddings": False,
    },
    # as small as it gets: whether this works, where there is no GPU
    "tiny": {
        **_QWEN3,
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 256,
        "intermediate_size": 512,
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "num_key_value_heads": 1,
        "tie_word_embeddings": True,
    },
}


def make_shape(name: str, folder: Path) -> Path:
    """Fill a folder with what vLLM needs beside weights."""
    source = bundled_models_dir() / "lm" / "safetensors"
    folder.mkdir(parents=True, exist_ok=True)
    for file in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(source / file, folder / file)
    (folder / "config.json").write_text(json.dumps(SHAPES[name], indent=2) + "\n", encoding="utf-8")
    return folder
