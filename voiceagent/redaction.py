"""The second line of defence of secrets: values that are known to be secret, by where the settings and the environment keep them,
are taken out of what is logged, told to a language model or shown to a client. The first line is that none gets there: errors of
other libraries and bodies of other servers are told to nobody but the log."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

MIN_SECRET_CHARACTERS = 8
"""What is shorter is no secret worth the name, and taking it out would make holes in other words."""
HIDDEN = "[secret]"
_NAME = re.compile(r"(keys?|tokens?|secrets?|passwords?|passwd|passphrase|credentials?|authorization)$", re.IGNORECASE)
_known: set[str] = set()


def keep_secret(*values: str) -> None:
    """From now on nobody is told of these."""
    for value in values:
        forms = {value, unquote(value), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
        _known.update(form for form in forms if len(form) >= MIN_SECRET_CHARACTERS)


def redacted(text: str) -> str:
    """The text without what is known to be secret."""
    for secret in sorted(filter(text.__contains__, _known), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text


def keep_secrets_of(settings: object, environment: Mapping[str, str]) -> None:
    """Keep what the settings, as they stand in a file, and the environment hold of secrets."""
    keep_secret(*_of_environment(environment), *_of(settings, "", environment))


def _of_environment(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if _NAME.search(name):
            yield value
            yield from (part.strip() for part in value.split(","))
        elif "://" in value:
            yield from _of_address(value)


def _of(value: object, key: str, environment: Mapping[str, str]) -> Iterator[str]:
    """A setting's secrets: what its name calls one, what variables hold that it names, what stands in addresses."""
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
    """The password, also as the header that it becomes (RFC 7617), and what the query says."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    userinfo, at, _ = parts.netloc.rpartition("@")
    if at:
        yield from (userinfo, userinfo.partition(":")[2], base64.b64encode(unquote(userinfo).encode()).decode())
    yield from (value for _, value in parse_qsl(parts.query))
