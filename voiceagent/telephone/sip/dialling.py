"""The server's SIP line as a part of the application, and the route through which the operator lets the agent call somebody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
from aiohttp import web

from voiceagent.server.access.key_ring import OPERATOR_KEYS_VARIABLE
from voiceagent.server.calls.calls import Calls
from voiceagent.server.calls.quotas import CLIENT, Client
from voiceagent.server.http.problems import Problem
from voiceagent.task_owner import running
from voiceagent.telephone.sip.line import GetStartCall, SipLine, SipService
from voiceagent.untrusted_json import read_struct

LINE = web.AppKey("sip line", SipLine)


class Dial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to call an address, with the instructions for the call."""

    to: str
    """A SIP address."""
    instructions: str = ""
    """Instructions for this call, in place of the agent's own."""


@asynccontextmanager
async def kept_line(
    app: web.Application, service: SipService | None, calls: Calls, start_call: GetStartCall
) -> AsyncIterator[None]:
    """Keep the line up, if one is configured."""
    if service is None:
        yield
        return
    line = app[LINE] = SipLine(service, calls, start_call)
    async with running(line.run(), "sip line"):
        yield


def line_of(request: web.Request) -> SipLine:
    """The server's line. Raises Problem."""
    line = request.app.get(LINE)
    if line is None:
        raise Problem(404, "no_sip", "No SIP trunk or PBX is configured: set telephony.sip in agent.yaml; see docs/telephony.md.")
    return line


async def dial(request: web.Request) -> web.Response:
    """Call somebody. The answer comes once they have taken the call, or have not."""
    client = request[CLIENT]
    if not client.is_operator:
        raise Problem(
            403, "operator_only", f"Only the operator may have the agent call somebody; send a key of {OPERATOR_KEYS_VARIABLE}."
        )
    line = line_of(request)
    try:
        asked = read_struct(await request.read(), Dial)
    except ValueError as error:
        raise Problem(400, "invalid_body", f'The body cannot be read ({error}); expected {{"to": "sip:…"}}.') from error
    session = {"instructions": asked.instructions} if asked.instructions else {}
    call_id = await line.dial(asked.to, session, Client(f"telephone sip, {client.name}", is_telephone=True))
    return web.json_response({"id": call_id, "to": asked.to}, status=201)
