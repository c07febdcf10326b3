"""Whisper models of the published shapes with random weights, in CTranslate2's 8-bit format: what they write is noise, but they
cost what the published ones cost, and need no download. Made once, kept under the cache folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ctranslate2.specs import WhisperSpec
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import FeedForwardSpec

CACHE_DIR = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "voiceagent-bench"
MEL_BANDS = 80
ENCODER_POSITIONS = 1500
DECODER_POSITIONS = 448
END_OF_TEXT = 50257
START = (50258, 50259, 50359, 50363)
"""Start of transcript, English, transcribe, no timestamps."""
START_OF_PREVIOUS = 50361
SPECIAL = {
    END_OF_TEXT: "<|endoftext|>",
    50258: "<|startoftranscript|>",
    50259: "<|en|>",
    50358: "<|translate|>",
    50359: "<|transcribe|>",
    50360: "<|startoflm|>",
    START_OF_PREVIOUS: "<|startofprev|>",
    50362: "<|nospeech|>",
    50363: "<|notimestamps|>",
}
VOCABULARY = 51865


@dataclass(frozen=True, slots=True)
class WhisperShape:
    """The sizes of a published Whisper (Radford et al., arXiv 2212.04356, table 1)."""

    name: str
    width: int
    layers: int
    heads: int


SHAPES = (WhisperShape("base", 512, 6, 8), WhisperShape("small", 768, 12, 12))


def random_whisper(shape: WhisperShape) -> Path:
    """The folder of a model of this shape; made in some seconds when it is not there yet."""
    folder = CACHE_DIR / f"whisper-{shape.name}-random-weights"
    if (folder / "model.bin").is_file():
        return folder
    spec = _Filler(shape).spec()
    spec.validate()
    spec.optimize(quantization="int8")
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    return folder


class _Filler:
    """Fills a specification with small random weights."""

    def __init__(self, shape: WhisperShape) -> None:
        self._shape = shape
        self._rng = np.random.default_rng(shape.width)

    def spec(self) -> WhisperSpec:
        shape, width = self._shape, self._shape.width
        spec = WhisperSpec(shape.layers, shape.heads, shape.layers, shape.heads)
        spec.register_vocabulary([SPECIAL.get(token, f"<{token}>") for token in range(VOCABULARY)])
        spec.config.alignment_heads = [(shape.layers - 1, head) for head in range(4)]
        spec.config.suppress_ids = spec.config.suppress_ids_begin = []
        spec.config.lang_ids = [50259]
        encoder, decoder = spec.encoder, spec.decoder
        for conv, channels in ((encoder.conv1, MEL_BANDS), (encoder.conv2, width)):
            conv.weight, conv.bias = self._random(width, channels, 3), self._random(width)
        encoder.position_encodings.encodings = self._random(ENCODER_POSITIONS, width)
        decoder.position_encodings.encodings = self._random(DECODER_POSITIONS, width)
        decoder.embeddings.weight = self._random(VOCABULARY, width)
        self._linear(decoder.projection, VOCABULARY, width, bias=False)
        for side in (encoder, decoder):
            self._norm(side.layer_norm)
            for layer in side.layer:
                self._attention(layer.self_attention, (3 * width, width))
                self._feed_forward(layer.ffn)
        for layer in decoder.layer:
            self._attention(layer.attention, (width, 2 * width, width))
        return spec

    def _random(self, *size: int) -> np.ndarray:
        return self._rng.normal(0, 0.02, size).astype(np.float32)

    def _norm(self, norm: LayerNormSpec) -> None:
        norm.gamma = np.ones(self._shape.width, np.float32)
        norm.beta = np.zeros(self._shape.width, np.float32)

    def _linear(self, linear: LinearSpec, outputs: int, inputs: int, *, bias: bool = True) -> None:
        linear.weight = self._random(outputs, inputs)
        if bias:
            linear.bias = self._random(outputs)

    def _attention(self, attention: MultiHeadAttentionSpec, outputs: tuple[int, ...]) -> None:
        self._norm(attention.layer_norm)
        for linear, size in zip(attention.linear, outputs, strict=True):
            self._linear(linear, size, self._shape.width)

    def _feed_forward(self, ffn: FeedForwardSpec) -> None:
        self._norm(ffn.layer_norm)
        self._linear(ffn.linear_0, 4 * self._shape.width, self._shape.width)
        self._linear(ffn.linear_1, self._shape.width, 4 * self._shape.width)
