"""Hints for `Annotated`. They say what a tool's argument is if its type does not, so that callers get the time to say all of it.

def find(order: Annotated[str, Digits(5)], mail: Annotated[str, Email], name: Annotated[str, Spelled]) -> ...
"""

from __future__ import annotations

import msgspec

MOST_SPELLED = 64

Email = msgspec.Meta(extra_json_schema={"format": "email"})
"""An e-mail address."""
Phone = msgspec.Meta(extra_json_schema={"format": "phone"})
"""A telephone number."""
Spelled = msgspec.Meta(extra_json_schema={"minLength": 2, "maxLength": MOST_SPELLED})
"""A name or a word that callers spell."""


def Digits(least: int, most: int | None = None) -> msgspec.Meta:
    """A number that is said digit by digit: of so many, or of `least` to `most`."""
    return msgspec.Meta(pattern=rf"^\d{{{least}}}$" if most is None else rf"^\d{{{least},{most}}}$")
