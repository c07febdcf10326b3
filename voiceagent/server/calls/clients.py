"""Who sent a request: a key of the server, or an address where there are no keys. Quotas are counted by client, and each call
belongs to one."""

from __future__ import annotations

from dataclasses import dataclass

from aiohttp import web


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request."""

    name: str
    """`key 2` for the second of the server's keys, else the address. Never the key."""
    is_operator: bool = False
    """Whether it may stop the server."""


NOBODY = Client("")
"""Used where nothing is known of the sender."""

CLIENT = web.RequestKey("client", Client)
"""The client that `Gate` has let in."""
