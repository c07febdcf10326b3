"""The request that begins a call: an SDP offer, alone or in a form (RFC 7578) with the settings of its session. A body has at
most 128 kB and is read as a whole; UTF-8 is the only encoding that is decoded."""

from __future__ import annotations

from email.errors import MessageError
from email.message import Message
from email.parser import BytesHeaderParser

from aiohttp import hdrs, web
from aiohttp.typedefs import Handler

from voiceagent.server.http.problems import Problem
from voiceagent.untrusted_json import read_json


@web.middleware
async def refuse_encodings(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Raises Problem (415) for a body with a content or transfer coding (RFC 9110 §8.4, RFC 9112 §6.1), before anything else of
    the request is checked. No body is ever decompressed: a few kilobytes can expand to gigabytes, and inflating them holds up
    every call."""
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


MAX_PARTS = 8
MAX_PART_HEAD_BYTES = 2_048
CHARSETS = ("utf-8", "utf8", "us-ascii", "ascii")
"""The accepted charsets. Some others that Python knows take a second for 100 kB."""
PLAIN = ("", "7bit", "8bit", "binary", "identity")


async def read_offer(request: web.Request) -> tuple[str, dict[str, object]]:
    """The SDP offer of a request, and the session settings with it (empty if there are none). Raises Problem."""
    if request.content_type not in ("application/sdp", "multipart/form-data"):
        raise Problem(
            415,
            "unsupported_media_type",
            f"The content type is {request.content_type[:60]!r}; send the offer as application/sdp, "
            "or as multipart/form-data with the fields sdp and session.",
        )
    try:
        body = await request.read()
    except web.RequestPayloadError as error:
        raise _unreadable("its length or its chunks are wrong") from error
    header = request.headers.get(hdrs.CONTENT_TYPE, "")
    session: dict[str, object] = {}
    if request.content_type == "application/sdp":
        offer = _text(body, _message(header))
    else:
        fields = form_fields(body, header)
        offer, session = fields.get("sdp", ""), _session(fields.get("session", ""))
    if not offer.strip():
        raise Problem(400, "invalid_offer", "The offer is empty; expected the SDP of an audio call.", param="sdp")
    return offer, session


def form_fields(body: bytes, content_type: str) -> dict[str, str]:
    """The fields of a multipart form. Raises Problem for a body that is no form, or whose parts are encoded."""
    boundary = _message(content_type).get_boundary()
    if not boundary or len(boundary) > 70:
        raise _unreadable("its content type names no boundary of at most 70 characters")
    parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode(errors="replace"), MAX_PARTS + 2)[1:]
    if len(parts) < 2 or len(parts) > MAX_PARTS + 1 or not parts[-1].startswith(b"--"):
        raise _unreadable(f"it is no form of at most {MAX_PARTS} parts with the boundary of its content type")
    return dict(_field(part) for part in parts[:-1])


def _field(part: bytes) -> tuple[str, str]:
    head, between, content = part.partition(b"\r\n\r\n")
    if not between or len(head) > MAX_PART_HEAD_BYTES:
        raise _unreadable(f"a part of the form has no headers, or more than {MAX_PART_HEAD_BYTES} bytes of them")
    try:
        headers: Message = BytesHeaderParser().parsebytes(head.strip() + b"\r\n\r\n")
        name = headers.get_param("name", header="content-disposition")
    except (MessageError, ValueError) as error:
        raise _unreadable("the headers of a part of the form are wrong") from error
    for header in (hdrs.CONTENT_ENCODING, hdrs.CONTENT_TRANSFER_ENCODING):
        coding = str(headers.get(header, "")).strip().lower()
        if coding not in PLAIN:
            raise unsupported_encoding(coding)
    if not isinstance(name, str):
        raise _unreadable("a part of the form has no name")
    return name, _text(content, headers)


def _text(content: bytes, headers: Message) -> str:
    charset = headers.get_param("charset", "utf-8")
    if not isinstance(charset, str) or charset.lower() not in CHARSETS:
        raise _unreadable("its character set is not UTF-8")
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _unreadable(f"it is not UTF-8 at byte {error.start}") from error


def _message(content_type: str) -> Message:
    message = Message()
    message[hdrs.CONTENT_TYPE] = content_type
    return message


def _session(text: str) -> dict[str, object]:
    try:
        session = read_json(text or "{}")
    except ValueError as error:
        raise Problem(400, "invalid_session", f"The session is not valid JSON ({error}).", param="session") from error
    if not isinstance(session, dict):
        raise Problem(400, "invalid_session", "The session must be a JSON object.", param="session")
    return session


def _unreadable(why: str) -> Problem:
    return Problem(400, "invalid_body", f"The body cannot be read ({why}); expected an SDP offer.")
