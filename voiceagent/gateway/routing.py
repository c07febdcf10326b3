"""The worker that a request is for, from its method, path, query and key. Pure. What belongs to a call goes to the call's worker,
whose number stands in the call's id, the resume token, the client secret or the ticket. New calls go to the least loaded
worker."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from urllib.parse import parse_qs

from voiceagent.server.calls.call_ids import RESUME_SHAPE, SECRET_SHAPE, worker_of
from voiceagent.telephone.streams.vendors import VENDORS
from voiceagent.untrusted_json import read_json

_CALL = re.compile(r"/((?:rtc|whep)_[0-9a-f]{24})(?:/|$)")
_TICKET = re.compile(r"/telephony/[^/]+/(?:stream|after)/([^/]+)")
_WEBHOOK = re.compile(r"/telephony/([^/]+)(?:/status)?")
_CHAT_EVENT = re.compile(r"chatcmpl-[0-9a-f]{24}(?::|$)")
_BEGIN = frozenset(("/v1/realtime", "/v1/realtime/calls", "/whip"))
SECRETS_PATH = "/v1/realtime/client_secrets"
CHAT_PATH = "/v1/chat/completions"
DIAL_PATH = "/v1/voiceagent/dial"
_CALL_FIELDS = frozenset(vendor.call_id for vendor in VENDORS.values())


class RouteKind(Enum):
    """The way in which a worker is chosen."""

    OWNER = "owner"
    """The worker of a number. Where that is gone, any: it answers from the store, or says that there is no such call."""
    RESUMED = "resumed"
    """The same, and where that does not know the call, each other in turn: the call may go on there."""
    NEW = "new"
    """The least loaded; one that has no place is passed over."""
    HASHED = "hashed"
    """Requests that come again go to the same worker."""
    FIRST = "first"
    """The one with the lines to a trunk or PBX."""
    SEARCH = "search"
    """Each in turn, until one knows the call."""
    ANY = "any"


@dataclass(frozen=True, slots=True)
class Route:
    """The way of a request."""

    kind: RouteKind
    number: int = 0
    """The owner's."""
    key: bytes = b""
    """Requests with the same key go to the same worker."""


ANY, NEW, FIRST, SEARCH = (Route(kind) for kind in (RouteKind.ANY, RouteKind.NEW, RouteKind.FIRST, RouteKind.SEARCH))


def needs_body(method: str, path: str) -> bool:
    """True if the way depends on the body."""
    return path == CHAT_PATH or (method == "POST" and _WEBHOOK.fullmatch(path) is not None)


def route_of(
    method: str,
    path: str,
    query: Mapping[str, str],
    token: str,
    *,
    body: bytes = b"",
    last_event: str = "",
    is_socket: bool = False,
) -> Route:
    """The way of a request. `token` is what it presents as its key, `last_event` the last that it got of a stream."""
    if SECRET_SHAPE.fullmatch(token):
        return _owner(token)
    if found := _CALL.search(path):
        return _owner(found[1])
    if call_id := query.get("call_id", ""):
        return _owner(call_id)
    if RESUME_SHAPE.fullmatch(token):
        return Route(RouteKind.RESUMED, worker_of(token))
    if path in _BEGIN or (path == SECRETS_PATH and method == "POST"):
        return NEW
    if path == CHAT_PATH and method == "POST":
        return _owner(last_event) if _CHAT_EVENT.match(last_event) else _hashed(_conversation(token, body))
    if path == "/whep":
        return SEARCH
    if path == DIAL_PATH:
        return FIRST
    if found := _TICKET.fullmatch(path):
        return _owner(found[1])
    if found := _WEBHOOK.fullmatch(path):
        return NEW if is_socket else _hashed(_vendors_call(found[1], query, body))
    return ANY


def _owner(text: str) -> Route:
    return Route(RouteKind.OWNER, worker_of(text))


def _hashed(key: bytes) -> Route:
    return Route(RouteKind.HASHED, key=key) if key else NEW


def _conversation(token: str, body: bytes) -> bytes:
    """The beginning of a written conversation, which each of its requests repeats: what its first request ended with."""
    try:
        asked = read_json(body)
    except ValueError:
        return b""
    messages = asked.get("messages") if isinstance(asked, dict) else None
    if not isinstance(messages, list):
        return b""
    begun = hashlib.blake2b(token.encode(errors="surrogateescape"), digest_size=16)
    for message in messages:
        begun.update(repr(message).encode(errors="surrogateescape"))
        if isinstance(message, dict) and message.get("role") == "user":
            break
    return begun.digest()


def _vendors_call(vendor: str, query: Mapping[str, str], body: bytes) -> bytes:
    """The vendor's own id of a call, unchecked: a webhook that comes again must find the ticket that it got."""
    fields: Mapping[str, object] = query
    try:
        if body.lstrip()[:1] == b"{":
            read = read_json(body)
            fields = {**query, **read} if isinstance(read, dict) else query
        elif body:
            form = parse_qs(body.decode(), max_num_fields=200)
            fields = {**query, **{name: values[0] for name, values in form.items()}}
    except ValueError:
        return b""
    found = next((fields[name] for name in sorted(_CALL_FIELDS) if fields.get(name)), "")
    return f"{vendor}\0{found}".encode(errors="surrogateescape") if found else b""
