"""The type that makers of models share."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
"""Weights: float32 unless said otherwise. The type of the elements is open, because packed weights are whole numbers."""
