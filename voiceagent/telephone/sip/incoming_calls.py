"""Calls that ring and wait for the operator's program, which accepts or rejects them by their id. The webhook
`realtime.call.incoming` of OpenAI's Realtime API tells it of each, signed as Standard Webhooks says
(https://www.standardwebhooks.com). It is sent again while it is not taken and the call rings."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Iterable

import httpx2
import msgspec

from voiceagent.errors import VoiceAgentError
from voiceagent.server.http.problems import Problem
from voiceagent.telephone.sip import janus_messages as janus
from voiceagent.telephone.sip.call import SipCall

SECRET_PREFIX = "whsec_"
"""The beginning of a secret in base64."""
BACK_OFF_S = (0.5, 1.0, 2.0, 4.0)
"""Waits after each attempt that failed; after the last of them the webhook is given up."""
TIMEOUT_S = 5.0
AGAIN = (408, 425, 429)
"""Statuses below 500 that may change; after any other one of 4xx the webhook is given up at once."""

SipHeaders = Iterable[tuple[str, str]]


class WebhookError(VoiceAgentError):
    """The operator's program has not taken the webhook."""


def secret_bytes(secret: str) -> bytes:
    """The bytes that sign. Raises ValueError for a secret with the prefix that is no base64."""
    if not secret.startswith(SECRET_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError(f"a secret that begins with {SECRET_PREFIX} must go on in base64") from error


def signature(webhook_id: str, at_s: int, body: bytes, secret: bytes) -> str:
    """`v1,…`: HMAC-SHA256 over the id, the time and the body."""
    digest = hmac.new(secret, f"{webhook_id}.{at_s}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def incoming_call(call_id: str, headers: SipHeaders) -> bytes:
    """The body of the webhook."""
    event = {
        "object": "event",
        "id": f"evt_{secrets.token_hex(12)}",
        "type": "realtime.call.incoming",
        "created_at": int(time.time()),
        "data": {"call_id": call_id, "sip_headers": [{"name": name, "value": value} for name, value in headers]},
    }
    return msgspec.json.encode(event)


async def send(url: str, secret: bytes, body: bytes, is_wanted: Callable[[], bool]) -> None:
    """Send the webhook until it is taken, while it `is_wanted`. Raises WebhookError."""
    webhook_id = f"wh_{secrets.token_hex(12)}"
    problem = ""
    async with httpx2.AsyncClient(timeout=TIMEOUT_S, follow_redirects=False) as client:
        for wait_s in (*BACK_OFF_S, None):
            at_s = int(time.time())
            headers = {
                "Content-Type": "application/json",
                "webhook-id": webhook_id,
                "webhook-timestamp": str(at_s),
                "webhook-signature": signature(webhook_id, at_s, body, secret),
            }
            try:
                response = await client.post(url, content=body, headers=headers)
            except httpx2.HTTPError as error:
                problem, may_change = type(error).__name__, True
            else:
                if response.is_success:
                    return
                status = response.status_code
                problem, may_change = f"status {status}", status >= 500 or status in AGAIN
            if wait_s is None or not may_change:
                break
            await asyncio.sleep(wait_s)
            if not is_wanted():
                return
    raise WebhookError(f"the webhook was not taken ({problem})")


# --- calls that ring --------------------------------------------------------------------------------------------------


class RingingCall:
    """A call that nobody has taken yet."""

    def __init__(self, line: SipCall, incoming: janus.Incoming) -> None:
        self.line = line
        self.incoming = incoming
        self._settled: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @property
    def is_settled(self) -> bool:
        """True once it is known what becomes of the call."""
        return self._settled.done()

    def settle(self, why: str = "") -> None:
        """It is accepted or rejected; or nobody will do that, and `why`."""
        if not self._settled.done():
            self._settled.set_result(why)

    async def wait(self, timeout_s: float) -> str:
        """Wait until it is settled. Returns the reason if nobody has accepted or rejected it."""
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(self._settled)
        except TimeoutError:
            self.settle()
            return f"nobody accepted it within {timeout_s:g} s"


class RingingCalls:
    """The ringing calls by their ids."""

    def __init__(self) -> None:
        self._by_id: dict[str, RingingCall] = {}

    def add(self, call_id: str, ringing: RingingCall) -> None:
        """A call rings."""
        self._by_id[call_id] = ringing

    def find(self, call_id: str) -> RingingCall:
        """The call, which still rings. Raises Problem (404)."""
        ringing = self._by_id.get(call_id)
        if ringing is None or ringing.is_settled:
            message = f"No call {call_id[:40]!r} rings; it was accepted, rejected or given up, or never was."
            raise Problem(404, "call_not_found", message, param="id")
        return ringing

    def remove(self, call_id: str) -> None:
        """The call rings no more."""
        self._by_id.pop(call_id, None)
