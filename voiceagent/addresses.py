"""Checks addresses that operators set, before the first request. An address with a password is refused, because it would appear
in logs and in messages. Secrets belong into environment variables, which the settings name."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,15}://", re.IGNORECASE)


def check_address(url: str, *, secrets_go: str, query: bool = True) -> str:
    """The address. Raises ValueError unless it is an http(s) URL without user name and password, and, unless `query` is set,
    without a query. The message begins with what the address is and never holds what may be a secret. `secrets_go` says where
    secrets belong."""
    parts = _parts(url)
    if parts is not None and parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc:
        if query or not (parts.query or parts.fragment):
            return url
        raise ValueError(f"is {shown(url)} with a query, expected none; {secrets_go}")
    what = "one with an @ in it" if "@" in url else repr(shown(url))[:200]
    raise ValueError(f"is {what}, expected http://… or https://… without a password in it; {secrets_go}")


def is_loopback(host: str) -> bool:
    """True for names and addresses that only this machine can reach."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def shown(url: str) -> str:
    """An address for messages: without user name, password, query and fragment."""
    scheme = _SCHEME.match(url)
    begins = scheme.group() if scheme else ""
    return begins + re.split("[?#]", url[len(begins) :].rpartition("@")[2], maxsplit=1)[0]


def _parts(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None
    except ValueError:
        return None
