"""The model that the adapter is for: SmolLM2-135M-Instruct out of a published GGUF file; for a trial a tiny Llama at random."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from transformers import LlamaConfig, LlamaForCausalLM

from models.train import adapter_tokenizer
from voiceagent.models.gguf_with_adapter import GgufFile

CONTROL = 3
"""A token's type in a GGUF file (ggml-org/ggml, gguf.md)."""
TINY_SIZE = 64


@dataclass(frozen=True)
class Base:
    """Weights and words."""

    model: LlamaForCausalLM
    tokenizer: Tokenizer
    control_tokens: list[str]

    @classmethod
    def open(cls, gguf: Path | None) -> Base:
        """Out of a file, or a tiny one."""
        return _of_file(GgufFile(gguf)) if gguf else _tiny()


def _of_file(file: GgufFile) -> Base:
    tokens = file.strings("tokenizer.ggml.tokens")
    kinds = file.value("tokenizer.ggml.token_type")
    control = [token for token, kind in zip(tokens, kinds, strict=True) if kind == CONTROL]
    whole = adapter_tokenizer.frame(control)
    whole["model"]["vocab"] = {token: number for number, token in enumerate(tokens)}
    whole["model"]["merges"] = file.strings("tokenizer.ggml.merges")
    with torch.device("meta"):
        model = LlamaForCausalLM(_config(file, len(tokens)))
    weights = {name: torch.from_numpy(file.weight(name).copy()) for name in file.names}
    model = model.to_empty(device="cpu")
    model.load_state_dict({**weights, "lm_head.weight": weights["model.embed_tokens.weight"]})
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(model.config)
    return Base(model.eval(), Tokenizer.from_str(json.dumps(whole)), control)


def _config(file: GgufFile, words: int) -> LlamaConfig:
    size, heads = file.value("llama.embedding_length"), file.value("llama.attention.head_count")
    return LlamaConfig(
        vocab_size=words,
        hidden_size=size,
        intermediate_size=file.value("llama.feed_forward_length"),
        num_hidden_layers=file.value("llama.block_count"),
        num_attention_heads=heads,
        num_key_value_heads=file.value("llama.attention.head_count_kv"),
        head_dim=size // heads,
        max_position_embeddings=file.value("llama.context_length"),
        rms_norm_eps=file.value("llama.attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": file.value("llama.rope.freq_base")},
        bos_token_id=file.value("tokenizer.ggml.bos_token_id"),
        eos_token_id=file.value("tokenizer.ggml.eos_token_id"),
        pad_token_id=file.value("tokenizer.ggml.padding_token_id"),
        tie_word_embeddings=True,
    )


def _tiny() -> Base:
    tokenizer = adapter_tokenizer.tiny()
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=TINY_SIZE,
        intermediate_size=2 * TINY_SIZE,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=2048,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        tie_word_embeddings=True,
    )
    return Base(LlamaForCausalLM(config).eval(), tokenizer, adapter_tokenizer.vocabulary_of(tokenizer)[:3])
