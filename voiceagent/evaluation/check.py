"""Runs the checks of the bundled models' quality: each part measures its figures on held-out data."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from voiceagent.evaluation.figures import Figure

CHECKS = {
    "stt": ("voiceagent.evaluation.check_speech", "check_stt"),
    "voice": ("voiceagent.evaluation.check_speech", "check_voice"),
    "lm": ("voiceagent.evaluation.check_lm", "check"),
}
"""Part → the module and function that measure it; imported when asked for, since each loads its engine."""


def check(part: str) -> tuple[Figure, ...]:
    """Measure one part of `CHECKS`. Takes minutes. Raises ModelError when a model is missing or does not load."""
    module, function = CHECKS[part]
    figures: Iterable[Figure] = getattr(importlib.import_module(module), function)()
    return tuple(figures)
