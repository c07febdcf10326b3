"""Weights as integers of 8 bits, as onnxruntime reads them (its docs/ContribOperators.md). Either each row is in blocks of 32
values, with one scale a block and 128 for 0 (MatMulNBits, GatherBlockQuantized), or each row has one scale
(MatMulIntegerToFloat). Every machine gets the same bytes, because all arithmetic is element by element. (With 4 bits a model of
135 million parameters chooses another word in half of all places.)"""

from __future__ import annotations

import numpy as np

from voiceagent.models.made_files import Array

BLOCK = 32
ROWS, ROW_SCALES = "weight_rows", "weight_row_scales"
"""The names of the two arrays of in_rows in a graph."""


def in_rows(weight: Array) -> tuple[Array, Array]:
    """Weights [rows, columns] as (int8 [columns, rows], float32 scales [rows])."""
    values = weight.astype(np.float32)
    scales = _scales(values)
    steps = np.clip(np.rint(values / _without_zero(scales)[:, None]), -127, 127)
    return np.ascontiguousarray(steps.astype(np.int8).T), scales


def in_8_bits(weight: Array) -> tuple[Array, Array]:
    """Weights [rows, columns] as (uint8 [rows, blocks, 32], float32 scales [rows, blocks])."""
    rows, columns = weight.shape
    blocks = weight.reshape(rows, columns // BLOCK, BLOCK).astype(np.float32)
    scales = _scales(blocks)
    steps = np.clip(np.rint(blocks / _without_zero(scales)[..., None]), -127, 127)
    return (steps + 128).astype(np.uint8), scales


def _scales(values: Array) -> Array:
    scales: Array = (np.abs(values).max(-1) / np.float32(127)).astype(np.float32)
    return scales


def _without_zero(scales: Array) -> Array:
    return np.where(scales == 0, np.float32(1), scales)
