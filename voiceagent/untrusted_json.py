"""Reads JSON from outside. Its nesting is bounded before it is parsed: a parser recurses at each level, and a finalizer that the
garbage collector runs near Python's limit fails with an error that nobody can catch."""

from __future__ import annotations

import json
import re
from typing import TypeVar

import msgspec

MAX_LEVELS = 64
"""The most lists and objects within each other."""
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NO_BRACKET = re.compile(r"[^\[\]{}]+")
_Kind = TypeVar("_Kind")


class NestingError(ValueError):
    """JSON nests deeper than `MAX_LEVELS`."""

    def __init__(self) -> None:
        super().__init__(f"it nests deeper than {MAX_LEVELS} levels; make it flatter")


def read_json(data: str | bytes) -> object:
    """The value, by the letter of RFC 8259. Raises ValueError."""
    return msgspec.json.decode(_shallow(data))


def read_struct(data: str | bytes, kind: type[_Kind]) -> _Kind:
    """The value, of the given type. Raises ValueError; it is msgspec.ValidationError for JSON of another type."""
    return msgspec.json.decode(_shallow(data), type=kind)


def read_loose_json(data: str | bytes) -> object:
    """The value as models and other servers write it: NaN and halves of a character pass. Raises ValueError."""
    value: object = json.loads(_shallow(data))
    return value


def _shallow(data: str | bytes) -> str:
    """The text. Raises NestingError, and UnicodeDecodeError."""
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    if text.count("[") + text.count("{") > MAX_LEVELS:
        level = 0
        for sign in _NO_BRACKET.sub("", _STRING.sub("", text)):
            level += 1 if sign in "[{" else -1
            if level > MAX_LEVELS:
                raise NestingError
    return text
