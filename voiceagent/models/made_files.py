"""The type that makers of models share."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
"""Weights: float32 unless said otherwise, such as the bytes of a quantized block, with which numpy computes too."""
