"""The requests about a SIP call of OpenAI's Realtime API: accept or reject one that rings, refer one that is up."""

from __future__ import annotations

from typing import Annotated

import msgspec
from aiohttp import web

from voiceagent.json_types import JsonObject
from voiceagent.server.calls.quotas import CLIENT
from voiceagent.server.http.problems import Problem
from voiceagent.telephone.sip.dialling import line_of
from voiceagent.untrusted_json import read_json, read_struct


class Reject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The refusal of a call."""

    status_code: Annotated[int, msgspec.Meta(ge=400, le=699)] = 603
    """SIP's status for the caller."""


class Refer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The transfer of a call."""

    target_uri: str
    """An address of SIP, or `tel:` and a number."""


async def refer(request: web.Request) -> web.Response:
    """Transfer a call. The answer comes once somebody has taken it, or has not."""
    line = line_of(request)
    try:
        asked = read_struct(await request.read(), Refer)
    except ValueError as error:
        raise Problem(400, "invalid_body", f'The body cannot be read ({error}); expected {{"target_uri": "sip:…"}}.') from error
    await line.refer(request.match_info["id"], asked.target_uri, request[CLIENT])
    return web.Response()


async def accept(request: web.Request) -> web.Response:
    """Take a call that rings, with the settings of its session."""
    line, session = line_of(request), await _session(request)
    await line.accept(request.match_info["id"], session, request[CLIENT])
    return web.Response()


async def reject(request: web.Request) -> web.Response:
    """Refuse a call that rings."""
    line = line_of(request)
    try:
        asked = read_struct(await request.read() or b"{}", Reject)
    except ValueError as error:
        raise Problem(400, "invalid_body", f'The body cannot be read ({error}); expected {{"status_code": 603}}.') from error
    await line.reject(request.match_info["id"], asked.status_code)
    return web.Response()


async def _session(request: web.Request) -> JsonObject:
    try:
        session = read_json(await request.read() or b"{}")
    except ValueError as error:
        raise Problem(400, "invalid_session", f"The session is not valid JSON ({error}).") from error
    if not isinstance(session, dict):
        raise Problem(400, "invalid_session", "The session must be a JSON object.")
    return session
