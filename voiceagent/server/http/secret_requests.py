"""`POST /v1/realtime/client_secrets`: a program with a key asks for a client secret, which it gives to a page. The form is
OpenAI's. What OpenAI has not (an origin, one use, settings that the client may not change) stands in `voiceagent`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Literal

import msgspec
from aiohttp import hdrs, web

from voiceagent.json_types import JsonObject
from voiceagent.realtime.fixed_settings import settings_named
from voiceagent.realtime.openai_session import MAX_SESSION_BYTES
from voiceagent.server.access.client_secrets import DEFAULT_S, MAX_S, MIN_S, ClientSecrets
from voiceagent.server.access.origins import Origins, checked_origin
from voiceagent.server.calls.quotas import CLIENT
from voiceagent.server.http.problems import Problem
from voiceagent.untrusted_json import read_struct

SECRETS_PATH = "/v1/realtime/client_secrets"
MAX_FIXED = 256
MAX_PARAMETERS = 32
ParameterName = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]
ParameterText = Annotated[str, msgspec.Meta(max_length=500)]
_PATH = r"^[a-z_]{1,40}(\.[a-z_]{1,40}){0,6}$"

ShowSession = Callable[[JsonObject], JsonObject]


def shown_as_asked(session: JsonObject) -> JsonObject:
    """The session as it was asked for."""
    return {"id": "", "object": "realtime.session", "type": "realtime", **session}


class ExpiresAfter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The life of a secret."""

    seconds: Annotated[int, msgspec.Meta(ge=MIN_S, le=MAX_S)] = DEFAULT_S
    anchor: Literal["created_at"] = "created_at"


class SecretTerms(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds of a secret that OpenAI's form has no words for."""

    origin: Annotated[str, msgspec.Meta(max_length=300)] | None = None
    """The only origin whose pages may use it."""
    once: bool = False
    """True if it is good for one call."""
    fixed: Annotated[tuple[Annotated[str, msgspec.Meta(pattern=_PATH)], ...], msgspec.Meta(max_length=MAX_FIXED)] | None = None
    """Paths of the settings that the client may not change; None: all that stand in `session`."""
    parameters: Annotated[dict[ParameterName, ParameterText], msgspec.Meta(max_length=MAX_PARAMETERS)] = {}
    """Facts of the call for the agent's tools, such as the customer's number. The client does not see them."""


class SecretRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of the request."""

    expires_after: ExpiresAfter = ExpiresAfter()
    session: dict[str, object] = {}
    voiceagent: SecretTerms = SecretTerms()


class SecretRequests:
    """Answers the requests of programs with a key."""

    def __init__(
        self, secrets: ClientSecrets, origins: Origins, show_session: ShowSession, require_ready: Callable[[], object]
    ) -> None:
        """`require_ready` raises Problem while no call can be answered: only then are the agent's tools known."""
        self._secrets = secrets
        self._origins = origins
        self._show_session = show_session
        self._require_ready = require_ready

    async def issue(self, request: web.Request) -> web.Response:
        """Answer with a new secret, shown this once."""
        owner = request[CLIENT].owner
        self._secrets.admit(owner)
        self._require_ready()
        asked = _read(await request.read())
        origin = self._origin(asked.voiceagent.origin)
        named = tuple(settings_named(asked.session))
        if len(named) > MAX_FIXED:
            raise _invalid(f"session holds {len(named)} settings; expected at most {MAX_FIXED}.", "session")
        fixed = named if asked.voiceagent.fixed is None else asked.voiceagent.fixed
        shown = self._show_session(asked.session)
        lifetime_s = asked.expires_after.seconds
        once = asked.voiceagent.once
        parameters = asked.voiceagent.parameters
        value = self._secrets.issue(owner, asked.session, fixed, origin, lifetime_s, once=once, parameters=parameters)
        body = {
            "value": value,
            "expires_at": int(time.time()) + lifetime_s,
            "session": shown,
            "voiceagent": {"origin": origin or None, "once": once, "fixed": fixed},
        }
        return web.json_response(body, headers={hdrs.CACHE_CONTROL: "no-store"})

    async def revoke(self, request: web.Request) -> web.Response:
        """Forget all secrets of the key that asks. Calls that were begun with them go on."""
        return web.json_response({"revoked": self._secrets.revoke(request[CLIENT].owner)})

    def _origin(self, asked: str | None) -> str:
        if not asked:
            return ""
        param = "voiceagent.origin"
        try:
            origin = checked_origin(asked)
        except ValueError as error:
            raise _invalid(f"{asked[:80]!r} is no origin: {error}.", param) from error
        if not self._origins.names(origin):
            raise _invalid(
                f"Pages of {origin} may not call this server, so the secret would be of no use; name the origin in "
                "http.allowed_origins in agent.yaml.",
                param,
            )
        return origin


def _read(body: bytes) -> SecretRequest:
    try:
        asked = read_struct(body or b"{}", SecretRequest)
    except ValueError as error:
        problem, _, path = str(error).partition(" - at `$")
        raise _invalid(f"The request for a client secret cannot be read: {problem}.", path.strip(".`") or None) from error
    session = asked.session
    if len(msgspec.json.encode(session)) > MAX_SESSION_BYTES:
        raise _invalid(f"session must have at most {MAX_SESSION_BYTES} bytes.", "session")
    if "voiceagent" in session:
        raise _invalid("session.voiceagent is the server's own; put `voiceagent` beside `session`.", "session.voiceagent")
    return asked


def _invalid(message: str, param: str | None) -> Problem:
    return Problem(400, "invalid_client_secret_request", message, param=param)
