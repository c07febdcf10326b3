"""No body is ever decompressed: a few kilobytes can expand to gigabytes, and inflating them holds up every call. A compressed
body is refused before anything else of the request is checked."""

from __future__ import annotations

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from voiceagent.server.http.problems import Problem


@web.middleware
async def refuse_encodings(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raises Problem (415) for a body with a content or transfer coding (RFC 9110 §8.4, RFC 9112 §6.1)."""
    codings = [*_codings(request, hdrs.CONTENT_ENCODING, "identity"), *_codings(request, hdrs.TRANSFER_ENCODING, "chunked")]
    if codings:
        raise unsupported_encoding(codings[0])
    return await handler(request)


def unsupported_encoding(coding: str) -> Problem:
    """The refusal of a body, or a part of one, with such a coding."""
    return Problem(
        415, "unsupported_encoding", f"The body is encoded as {coding[:40]!r}; send it as it is, without compression or encoding."
    )


def _codings(request: web.Request, header: str, accepted: str) -> list[str]:
    named = (part.strip().lower() for value in request.headers.getall(header, ()) for part in value.split(","))
    return [coding for coding in named if coding not in (accepted, "")]
