"""How deep JSON nests. What can be read may nest deeper than Python can copy, compare or write again. Pure."""

from __future__ import annotations

from collections.abc import Iterable

MAX_LEVELS = 64
"""Of lists and objects within each other: more than anybody means, and far less than Python's recursion limit."""


def nests_deeper(value: object, levels: int = MAX_LEVELS) -> bool:
    """Whether JSON that was read holds lists and objects within each other more than so many levels deep."""
    layer = [value]
    for _ in range(levels):
        layer = [child for one in layer for child in _children(one)]
        if not layer:
            return False
    return any(isinstance(one, dict | list) for one in layer)


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
