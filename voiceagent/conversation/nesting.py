"""How deep JSON nests. JSON that can be parsed may nest deeper than Python can copy, compare or write again. Pure."""

from __future__ import annotations

from itertools import chain

MAX_LEVELS = 64
"""Most levels of lists and objects within each other. Real data have fewer, and Python's recursion limit is far higher."""


def nests_deeper(value: object, levels: int = MAX_LEVELS) -> bool:
    """Whether parsed JSON has more than this many levels of lists and objects within each other."""
    layer: list[dict[object, object] | list[object]] = [[value]]
    for _ in range(levels + 1):
        children = chain.from_iterable([one.values() if isinstance(one, dict) else one for one in layer if one])
        layer = [child for child in children if isinstance(child, (dict, list))]
        if not layer:
            return False
    return True
