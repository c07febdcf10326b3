"""The micro Whisper's network. The weights live in transformers' Whisper, so that CTranslate2's converter reads them; the
forward pass is written out here, because training needs the cross-attention weights and any length of features.
"""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import WhisperConfig, WhisperForConditionalGeneration

from models.train.stt_tokenizer import END_OF_TEXT, NO_TIMESTAMPS, START, VOCABULARY

MEL_BANDS = 80
HOP_SAMPLES = 320
POSITION_SAMPLES = 2 * HOP_SAMPLES
MAX_POSITIONS = 500
MAX_TOKENS = 448


def new_model(width: int, encoder_layers: int, decoder_layers: int, heads: int) -> Any:
    """An untrained Whisper with this project's vocabulary."""
    config = WhisperConfig(
        vocab_size=VOCABULARY,
        num_mel_bins=MEL_BANDS,
        encoder_layers=encoder_layers,
        decoder_layers=decoder_layers,
        encoder_attention_heads=heads,
        decoder_attention_heads=heads,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        d_model=width,
        max_source_positions=MAX_POSITIONS,
        max_target_positions=MAX_TOKENS,
        dropout=0.0,
        decoder_start_token_id=START,
        bos_token_id=END_OF_TEXT,
        eos_token_id=END_OF_TEXT,
        pad_token_id=END_OF_TEXT,
        suppress_tokens=None,
        begin_suppress_tokens=None,
    )
    return WhisperForConditionalGeneration(config)


def alignment_heads(decoder_layers: int) -> list[tuple[int, int]]:
    """The (layer, head) pairs of cross-attention that training ties to word times."""
    return [(decoder_layers - 1, 0), (decoder_layers - 1, 1), (0, 0)]


def _split(x: Tensor, heads: int) -> Tensor:
    batch, length, width = x.shape
    return x.view(batch, length, heads, width // heads).transpose(1, 2)


def _attend(module: Any, x: Tensor, source: Tensor, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Multi-head attention and its weights. Written out because the fused kernel's backward pass is slow on CPUs."""
    heads = module.num_heads
    query, key = _split(module.q_proj(x), heads), _split(module.k_proj(source), heads)
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-1, -2)
    weights = torch.softmax(scores if mask is None else scores + mask, -1)
    value = _split(module.v_proj(source), heads)
    return module.out_proj((weights @ value).transpose(1, 2).flatten(2)), weights


def _feed_forward(layer: Any, x: Tensor) -> Tensor:
    out: Tensor = layer.fc2(F.gelu(layer.fc1(layer.final_layer_norm(x))))
    return out


def encode(model: Any, features: Tensor) -> Tensor:
    """Log-mel features (B, MEL_BANDS, T) → states (B, T / 2, width)."""
    encoder = model.model.encoder
    x = F.gelu(encoder.conv2(F.gelu(encoder.conv1(features)))).permute(0, 2, 1)
    x = x + encoder.embed_positions.weight[: x.shape[1]]
    for layer in encoder.layers:
        h = layer.self_attn_layer_norm(x)
        x = x + _attend(layer.self_attn, h, h)[0]
        x = x + _feed_forward(layer, x)
    states: Tensor = encoder.layer_norm(x)
    return states


def decode(model: Any, tokens: Tensor, states: Tensor, dropout: float = 0.0) -> tuple[Tensor, list[Tensor]]:
    """Tokens (B, L) and encoder states → logits (B, L, vocabulary) and each layer's cross-attention (B, heads, L, T / 2)."""
    decoder = model.model.decoder
    x = decoder.embed_tokens(tokens) + decoder.embed_positions.weight[: tokens.shape[1]]
    future = torch.full((tokens.shape[1], tokens.shape[1]), float("-inf"), dtype=x.dtype).triu(1)
    attention: list[Tensor] = []
    x = F.dropout(x, dropout, model.training)
    for layer in decoder.layers:
        h = layer.self_attn_layer_norm(x)
        x = x + F.dropout(_attend(layer.self_attn, h, h, future)[0], dropout, model.training)
        mixed, weights = _attend(layer.encoder_attn, layer.encoder_attn_layer_norm(x), states)
        x = x + F.dropout(mixed, dropout, model.training)
        attention.append(weights)
        x = x + F.dropout(_feed_forward(layer, x), dropout, model.training)
    return F.linear(decoder.layer_norm(x), decoder.embed_tokens.weight), attention


@torch.no_grad()
def transcribe(model: Any, features: Tensor, most_tokens: int = 60) -> list[list[int]]:
    """Greedy decoding of a batch: the text tokens of each clip."""
    states = encode(model, features)
    tokens = torch.tensor([[START, NO_TIMESTAMPS]] * len(features))
    ended = torch.zeros(len(features), dtype=torch.bool)
    for _ in range(most_tokens):
        following = decode(model, tokens, states)[0][:, -1, : END_OF_TEXT + 1].argmax(-1)
        following[ended] = END_OF_TEXT
        tokens = torch.cat([tokens, following[:, None]], 1)
        ended |= following == END_OF_TEXT
        if bool(ended.all()):
            break
    return [[t for t in row if t < END_OF_TEXT] for row in tokens[:, 2:].tolist()]
