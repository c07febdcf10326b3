"""Calls by the beginning of their ids, with or without what every id begins with, as people type them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

ID_BEGINS = "rtc_"
MAX_NAMED = 10
"""The number of calls that are named where the beginning of an id fits several."""


def matching(ids: Iterable[str], wanted: str) -> list[str]:
    """The id that is wanted, or else all that begin so."""
    known = sorted(ids)
    for whole in (wanted, f"{ID_BEGINS}{wanted}"):
        if whole in known:
            return [whole]
    return [call_id for call_id in known if wanted and call_id.startswith((wanted, f"{ID_BEGINS}{wanted}"))]


def several(found: Sequence[str], wanted: str) -> str:
    """The line for an id that fits several calls."""
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    return f"{len(found)} calls begin with {wanted!r}: {', '.join(found[:MAX_NAMED])}{more}; write more of the id"
