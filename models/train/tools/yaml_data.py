"""The YAML files beside this module."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml


@cache
def read(name: str) -> Any:
    """A file's content; whoever reads it leaves it as it is."""
    return yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))


def words(name: str) -> list[str]:
    """One of the lists of words."""
    found: list[str] = read("words")[name]
    return found


def cap(text: str) -> str:
    """With a capital in front."""
    return text[:1].upper() + text[1:]
