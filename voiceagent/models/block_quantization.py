"""Weights in whole-number blocks, as onnxruntime's MatMulNBits and GatherBlockQuantized read them (onnxruntime,
docs/ContribOperators.md): each row in blocks of 32 values of 8 bits, a scale a block, and no zero points: 128 stands for 0. Every
machine gets the same bytes, because all arithmetic is element by element. (With 4 bits a model of 135 million parameters chooses
another word in half of all places.)"""

from __future__ import annotations

import numpy as np

from voiceagent.models.made_files import Array

BLOCK = 32


def in_8_bits(weight: Array) -> tuple[Array, Array]:
    """Weights [rows, columns] as (uint8 [rows, blocks, 32], float32 scales [rows, blocks])."""
    blocks = _blocks(weight)
    scales = (np.abs(blocks).max(-1) / np.float32(127)).astype(np.float32)
    steps = np.clip(np.rint(_divided(blocks, scales)), -127, 127)
    return (steps + 128).astype(np.uint8), scales


def _blocks(weight: Array) -> Array:
    rows, columns = weight.shape
    return weight.reshape(rows, columns // BLOCK, BLOCK).astype(np.float32)


def _divided(blocks: Array, scales: Array) -> Array:
    safe = np.where(scales == 0, np.float32(1), scales)
    found: Array = blocks / safe[..., None]
    return found
