"""The `http:` part of `agent.yaml`: the pages that may call, and the server's certificate."""

from __future__ import annotations

from typing import Annotated

import msgspec


class HttpSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The server for clients that speak HTTP."""

    allowed_origins: Annotated[tuple[str, ...], msgspec.Meta(max_length=256)] = ()
    """Origins whose pages may call, such as `https://shop.example`, or `*` for any. The server's own page always may."""
    client_mcp_servers: Annotated[tuple[str, ...], msgspec.Meta(max_length=64)] = ()
    """MCP servers that a client may name in its session: addresses, or origins for any address there. Without: none."""
    tls_cert: str = ""
    """A PEM file with the certificate and those between it and the root (relative to this file); empty: HTTP, without TLS."""
    tls_key: str = ""
    """The PEM file of its private key; empty: the file of the certificate holds it, too."""
