"""Fixtures of the tests that fetch models."""

from __future__ import annotations

import time

import pytest


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waits between attempts, and chunks smaller than the tests' files."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 100_000)
