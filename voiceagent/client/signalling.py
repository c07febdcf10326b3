"""The HTTP requests of a caller: its offer, its WebSocket, and what the server says about the agent. Every error is one line."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import aiohttp
from aiortc import RTCIceServer

from voiceagent.errors import MediaError
from voiceagent.json_types import JsonObject
from voiceagent.media.outgoing_events import encoded
from voiceagent.untrusted_json import read_loose_json, read_struct

ANSWER_TIMEOUT_S = 15.0
HEARTBEAT_S = 2.0
"""A WebSocket whose server sends nothing for so long asks it. It is lost if no answer comes in half of that."""
EXPECTED = "expected a voiceagent server's, such as http://127.0.0.1:8080"


@dataclass(frozen=True, slots=True)
class SignallingAnswer:
    """A server's answer to a request."""

    status: int
    body: str
    location: str
    """The resource that was made; empty when none was."""


class CallOverError(MediaError):
    """A call that was to be taken up again is over."""


class NoServerError(MediaError):
    """The machine answers, and no server listens there."""


async def answer_to(url: str, token: str | None, offer: str, after: str = "") -> SignallingAnswer:
    """The server's answer to an SDP offer. With a resume token, `after` is the last event that came. Raises MediaError when it is
    refused; CallOverError if that is because the call is over."""
    path = "/v1/realtime/calls" + (f"?after={after}" if after else "")
    answered = await _request(url, token, "POST", path, offer.encode())
    if after and answered.status == 401:
        raise CallOverError(f"{url}: the call cannot be taken up again: {_problem(answered)}")
    if answered.status not in (200, 201):
        raise MediaError(f"{url}: the server refused the call ({answered.status}): {_problem(answered)}")
    return answered


async def about(url: str, token: str | None) -> JsonObject:
    """The server's description of the agent and its models; empty if the server gives none. Raises MediaError when it cannot be
    reached or refuses the key."""
    answered = await _request(url, token, "GET", "/v1/voiceagent/about")
    if answered.status in (401, 403, 429, 503):
        raise MediaError(f"{url}: the server refused the call ({answered.status}): {_problem(answered)}")
    try:
        found = read_loose_json(answered.body) if answered.status == 200 else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


async def ice_servers(url: str, token: str | None) -> list[RTCIceServer]:
    """The STUN and TURN servers that the server names, with a credential; none where it does not tell. Raises MediaError when it
    cannot be reached."""
    answered = await _request(url, token, "GET", "/v1/voiceagent/ice_servers")
    try:
        told: JsonObject = read_struct(answered.body, dict)
        return [RTCIceServer(**server) for server in told["iceServers"]] if answered.status == 200 else []
    except (ValueError, KeyError, TypeError):
        return []


async def client_secret(url: str, token: str | None, session: JsonObject) -> str | None:
    """A client secret, with which one call begins with these settings of its session; None where the server gives none. Raises
    MediaError when it cannot be reached or refuses the key."""
    body = encoded({"session": session, "voiceagent": {"once": True}}).encode()
    answered = await _request(url, token, "POST", "/v1/realtime/client_secrets", body, kind="application/json")
    if answered.status in (401, 503):
        raise MediaError(f"{url}: the server refused the call ({answered.status}): {_problem(answered)}")
    try:
        told: JsonObject = read_struct(answered.body, dict)
        return str(told["value"]) if answered.status == 200 else None
    except (ValueError, KeyError, TypeError):
        return None


async def hang_up(url: str, token: str | None, location: str) -> None:
    """Let the server free a call at once. Raises MediaError."""
    await _request(url, token, "DELETE", location)


async def open_socket(http: aiohttp.ClientSession, url: str, token: str | None, after: str) -> aiohttp.ClientWebSocketResponse:
    """A call's WebSocket. The arguments and errors are those of `answer_to`."""
    address = f"{url.replace('http', 'ws', 1)}/v1/realtime?voiceagent_events=true{f'&after={after}' if after else ''}"
    with _in_one_line(url):
        try:
            return await http.ws_connect(address, headers=_authorization(token), heartbeat=HEARTBEAT_S)
        except aiohttp.WSServerHandshakeError as error:
            if after and error.status == 401:
                raise CallOverError(f"{url}: the call cannot be taken up again over the WebSocket") from error
            raise MediaError(f"{url}: the server refused the WebSocket ({error.status})") from error


async def _request(
    url: str, token: str | None, method: str, path: str, body: bytes | None = None, kind: str = "application/sdp"
) -> SignallingAnswer:
    headers = _authorization(token) | ({"Content-Type": kind} if body else {})
    with _in_one_line(url):
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(ANSWER_TIMEOUT_S)) as session,
            session.request(method, f"{url}{path}", data=body, headers=headers) as response,
        ):
            return SignallingAnswer(response.status, await response.text(errors="replace"), response.headers.get("Location", ""))


def _authorization(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


@contextmanager
def _in_one_line(url: str) -> Iterator[None]:
    """Raises MediaError in place of aiohttp's errors."""
    try:
        yield
    except aiohttp.InvalidURL as error:
        raise MediaError(f"{url!r} is not a URL; {EXPECTED}") from error
    except TimeoutError as error:
        raise MediaError(f"{url}: no answer within {ANSWER_TIMEOUT_S:g} s; {EXPECTED}") from error
    except aiohttp.ClientConnectorCertificateError as error:
        raise MediaError(f"{url}: its certificate is not trusted ({error.certificate_error})") from error
    except aiohttp.ClientConnectorSSLError as error:
        raise MediaError(f"{url}: does not speak TLS there; write http:// if it is a server without a certificate") from error
    except aiohttp.ClientConnectorError as error:
        detail = error.strerror or str(error)
        kind = NoServerError if error.errno == errno.ECONNREFUSED else MediaError
        raise kind(f"{url}: no server there ({detail}); start one with `voiceagent serve`") from error
    except (aiohttp.ClientError, UnicodeError, ValueError) as error:
        raise MediaError(f"{url}: no answer that can be read ({str(error) or type(error).__name__}); {EXPECTED}") from error


def _problem(answered: SignallingAnswer) -> str:
    try:
        told: JsonObject = read_struct(answered.body, dict)
        message = str(told["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return f"this is no voiceagent server; {EXPECTED}"
    return f"{message} Give the key with --token or $VOICEAGENT_KEY." if answered.status == 401 else message
