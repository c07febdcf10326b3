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
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_AS_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_OPENS = ord("[")
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
        signs = _STRING.sub("", text).encode(errors="replace").translate(_AS_ONE_KIND, _NO_BRACKETS)
        level = 1
        for sign in signs.replace(b"[]", b""):  # without the innermost level, of which there may be much
            level += 1 if sign == _OPENS else -1
            if level > MAX_LEVELS:
                raise NestingError
    return text
