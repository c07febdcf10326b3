"""Weights in whole-number blocks, as onnxruntime's MatMulNBits and GatherBlockQuantized read them (ONNX Runtime, ContribOperators.md):
each row in blocks of 32 values, a scale a block, 4 bits packed in pairs or 8 bits, and no zero points, so that the middle (8 or
128) stands for 0. Every machine gets the same bytes: all arithmetic is element by element, sums go value by value."""

from __future__ import annotations

import numpy as np

from voiceagent.models.made_files import Array

BLOCK = 32
_CANDIDATES = tuple(1.0 - 0.025 * step for step in range(13))
"""Of the largest value in a block, what the last step stands for: cutting the extremes off makes all others finer."""


def in_8_bits(weight: Array) -> tuple[Array, Array]:
    """Weights [rows, columns] as (uint8 [rows, blocks, 32], float32 scales [rows, blocks])."""
    blocks = _blocks(weight)
    scales = (np.abs(blocks).max(-1) / np.float32(127)).astype(np.float32)
    steps = np.clip(np.rint(_divided(blocks, scales)), -127, 127)
    return (steps + 128).astype(np.uint8), scales


def in_4_bits(weight: Array) -> tuple[Array, Array]:
    """Weights [rows, columns] as (uint8 [rows, blocks, 16], the first of each pair in the lower bits; float32 scales
    [rows, blocks]). Of several scales a block gets the one with the least squared error."""
    blocks = _blocks(weight)
    at = np.abs(blocks).argmax(-1)[..., None]
    extreme = np.take_along_axis(blocks, at, -1)[..., 0]
    best_scale = np.zeros(extreme.shape, np.float32)
    least = np.full(extreme.shape, np.inf, np.float32)
    for part in _CANDIDATES:
        # The range is -8 to 7: the extreme, whatever its sign, takes the side that has one step more.
        scale = (extreme * np.float32(part) / np.float32(-8)).astype(np.float32)
        steps = np.clip(np.rint(_divided(blocks, scale)), -8, 7).astype(np.float32)
        error = _sum_of_squares(steps * scale[..., None] - blocks)
        better = error < least
        best_scale = np.where(better, scale, best_scale)
        least = np.where(better, error, least)
    steps = np.clip(np.rint(_divided(blocks, best_scale)), -8, 7) + 8
    pairs = steps.astype(np.uint8)
    return pairs[..., 0::2] | (pairs[..., 1::2] << 4), best_scale


def _blocks(weight: Array) -> Array:
    rows, columns = weight.shape
    return weight.reshape(rows, columns // BLOCK, BLOCK).astype(np.float32)


def _divided(blocks: Array, scales: Array) -> Array:
    safe = np.where(scales == 0, np.float32(1), scales)
    found: Array = blocks / safe[..., None]
    return found


def _sum_of_squares(values: Array) -> Array:
    """Over the last axis, in order: numpy's own sum orders by the machine's vector width."""
    total = np.zeros(values.shape[:-1], np.float32)
    for index in range(values.shape[-1]):
        total += values[..., index] * values[..., index]
    return total
