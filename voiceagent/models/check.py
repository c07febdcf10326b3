"""Runs the checks of the bundled models' quality: each part measures its figures on held-out data."""

from __future__ import annotations

import importlib
from collections.abc import Iterable

from voiceagent.models.figures import Figure

CHECKS = {
    "stt": ("voiceagent.models.check_speech", "check_stt"),
    "voice": ("voiceagent.models.check_speech", "check_voice"),
    "lm": ("voiceagent.models.check_lm", "check"),
}
"""Part → the module and function that measure it; imported when asked for, since each loads its engine."""


def check(part: str) -> tuple[Figure, ...]:
    """Measure one part of `CHECKS`. Takes minutes. Raises ModelError when a model is missing or does not load."""
    module, function = CHECKS[part]
    figures: Iterable[Figure] = getattr(importlib.import_module(module), function)()
    return tuple(figures)
