"""The answer to a client when a request fails: OpenAI's error body `{"error": {message, type, code, param}}`, one clear line,
never a traceback. Handlers raise `Problem`. The middleware turns `Problem`, aiohttp's own errors and unexpected ones into
answers."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.typedefs import Handler

from voiceagent.errors import VoiceAgentError
from voiceagent.json_types import JsonObject

log = logging.getLogger(__name__)

_CODES = {404: "not_found", 405: "method_not_allowed", 413: "request_too_large"}


class Problem(VoiceAgentError):
    """A request that is answered with an error. `retry_after_s` is the time after which the client may try again."""

    def __init__(
        self, status: int, code: str, message: str, *, param: str | None = None, retry_after_s: int | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s

    def body(self) -> JsonObject:
        """The body of the answer."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "code": self.code, "param": self.param}}

    def response(self) -> web.Response:
        """The answer."""
        headers = {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return web.json_response(self.body(), status=self.status, headers=headers)


@web.middleware
async def answer_problems(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every failure of a request with an error body. An unexpected error is logged in full and reported in brief."""
    try:
        return await handler(request)
    except Problem as problem:
        return problem.response()
    except web.HTTPException as error:
        if error.status < 400:
            raise
        return _from_http(request, error).response()
    except Exception as error:
        if isinstance(error, ConnectionError) and (request.transport is None or request.transport.is_closing()):
            return web.Response(status=400)  # the client has gone while it sent the body
        log.exception("%s %s failed", request.method, request.path)
        return Problem(500, "internal_error", "The server failed on this request; its log says why.").response()


def _from_http(request: web.Request, error: web.HTTPException) -> Problem:
    code = _CODES.get(error.status, "http_error")
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return Problem(413, code, "The body is too large: at most 128 kB are read.")
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        return Problem(405, code, f"{request.method[:20]} is not possible on {request.path[:100]}; use {allowed}.")
    if error.status == 404:
        return Problem(404, code, f"There is nothing at {request.path[:100]}.")
    return Problem(error.status, code, f"{error.reason}.")
