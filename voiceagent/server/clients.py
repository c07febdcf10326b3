"""Who asks: a key of the server, or an address where there are no keys. Quotas are counted, and calls are owned, by that."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web


@dataclass(frozen=True, slots=True)
class Client:
    """One request's sender."""

    name: str
    """`key 2` for the second of the server's keys, else the address. Never the key."""
    is_operator: bool = False
    """Whether it may stop the server."""


NOBODY = Client("")
"""Where nothing is known of the sender."""

CLIENT = web.RequestKey("client", Client)
"""Whom `Gate` has let in."""
