"""The `http:` part of `agent.yaml`: the pages that may call."""

from __future__ import annotations

from typing import Annotated

import msgspec


class HttpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The server for clients that speak HTTP."""

    allowed_origins: Annotated[tuple[str, ...], msgspec.Meta(max_length=256)] = ()
    """Origins whose pages may call, such as `https://shop.example`, or `*` for any. The server's own page always may."""
