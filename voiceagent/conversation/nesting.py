"""How deep JSON nests. What can be read may nest deeper than Python can copy, compare or write again. Pure."""

from __future__ import annotations

from itertools import chain

MAX_LEVELS = 64
"""Of lists and objects within each other: more than anybody means, and far less than Python's recursion limit."""


def nests_deeper(value: object, levels: int = MAX_LEVELS) -> bool:
    """Whether JSON that was read holds lists and objects within each other more than so many levels deep."""
    layer: list[dict[object, object] | list[object]] = [[value]]
    for _ in range(levels + 1):
        children = chain.from_iterable([one.values() if isinstance(one, dict) else one for one in layer])
        layer = [child for child in children if isinstance(child, (dict, list))]
        if not layer:
            return False
    return True
