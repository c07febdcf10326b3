"""The second line of defence of secrets. Values that are known to be secret, because of where the settings and the environment
keep them, are removed from everything that is logged, sent to a language model or shown to a client. The first line is that no
secret gets there: errors of other libraries and bodies of other servers go only to the log."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

MIN_SECRET_CHARACTERS = 8
"""Shorter values are no real secrets, and removing them would make holes in other words."""
HIDDEN = "[secret]"
_NAME = re.compile(r"(keys?|tokens?|secrets?|passwords?|passwd|passphrase|credentials?|authorization)$", re.IGNORECASE)
_OUR_KEY = re.compile(r"\b(va_[0-9a-f]{8}_|ek_|rs_)[A-Za-z0-9_-]{20,}")
"""The shape of this server's own keys, client secrets and resume tokens, of which only hashes are known."""
_known: set[str] = set()


def keep_secret(*values: str) -> None:
    """Remove these values from now on."""
    for value in values:
        forms = {value, unquote(value), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
        _known.update(form for form in forms if len(form) >= MIN_SECRET_CHARACTERS)


def redacted(text: str) -> str:
    """The text without known secrets, and without what looks like a key of this server."""
    for secret in sorted(filter(text.__contains__, _known), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return _OUR_KEY.sub(HIDDEN, text)


def keep_secrets_of(settings: object, environment: Mapping[str, str]) -> None:
    """Remember the secrets in the settings, as they stand in a file, and in the environment."""
    keep_secret(*_of_environment(environment), *_of(settings, "", environment))


def _of_environment(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if _NAME.search(name):
            yield value
            yield from (part.strip() for part in value.split(","))
        elif "://" in value:
            yield from _of_address(value)


def _of(value: object, key: str, environment: Mapping[str, str]) -> Iterator[str]:
    """The secrets of a setting: values whose name calls them secret, variables that it names, parts of addresses."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _of(inner, key if key.endswith("_env") else str(name), environment)
    elif isinstance(value, list):
        for inner in value:
            yield from _of(inner, key, environment)
    elif isinstance(value, str):
        if key == "env" or key.endswith("_env"):
            held = environment.get(value, "")
            yield from (held, held.rpartition(" ")[2])  # a header's `Bearer KEY`
        elif _NAME.search(key):
            yield value
        for address in value.split(",") if "://" in value else ():
            yield from _of_address(address.strip())


def _of_address(url: str) -> Iterator[str]:
    """The password, also in the form of its header (RFC 7617), and the values of the query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    userinfo, at, _ = parts.netloc.rpartition("@")
    if at:
        yield from (userinfo, userinfo.partition(":")[2], base64.b64encode(unquote(userinfo).encode()).decode())
    yield from (value for _, value in parse_qsl(parts.query))
