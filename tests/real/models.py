"""Published models by name; a test that needs one is skipped where it is not in the models cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from voiceagent.errors import ModelError
from voiceagent.models.registry import resolve


def published(name: str) -> Path:
    """The model's folder."""
    try:
        return resolve(name)
    except ModelError as error:
        pytest.skip(str(error))
