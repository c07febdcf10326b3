"""Passes requests on to workers, and their answers back. A request's body is read first, as it is small; an answer is passed on
piece by piece, and a WebSocket as it is. A new call that a worker has no place for goes to the next one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec
from aiohttp import hdrs, web

from voiceagent.gateway import tunnel
from voiceagent.gateway.members import Member, Members
from voiceagent.gateway.placement import JustPlaced, by_hash, by_load, load
from voiceagent.gateway.routing import Route, RouteKind, needs_body, route_of
from voiceagent.gateway.upstream import Headers, NoConnectionError, UpstreamAnswer, UpstreamError, ask
from voiceagent.server.http.auth import key_of
from voiceagent.server.http.behind_front import KEY_HEADER, PEER_HEADER
from voiceagent.server.http.connection import peer_of
from voiceagent.server.http.problems import Problem
from voiceagent.server.http.slowing import PAUSE_S, Slowing
from voiceagent.task_owner import TaskOwner

log = logging.getLogger(__name__)

NO_PLACE = frozenset(("server_full", "memory_full", "busy", "draining", "not_ready", "no_media_port", "server_stopping"))
"""The codes of refusals after which a call goes to another worker."""
MAX_WHOLE_BYTES = 1_048_576
"""An answer up to this length is read before it is passed on, so that a client that reads slowly keeps no worker waiting."""
MAX_PROBLEM_BYTES = 65_536
READ_TIMEOUT_S = 10.0
"""A client that takes nothing of a longer answer for so long is given up."""
RETRY_AFTER_S = 2
WORKER_LOST = "The process that had this call has ended; try again."
_OF_THE_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade", "expect", "content-length")
)
_OURS = frozenset((PEER_HEADER.lower(), KEY_HEADER.lower()))


class Proxy:
    """One per front."""

    def __init__(self, members: Members, key: str = "", region: str = "") -> None:
        """`key` is the cluster's, which workers ask for over TCP. `region` is the label of the place where this front runs."""
        self._members = members
        self._key = key
        self._region = region
        self._placed = JustPlaced()
        self._slowing = Slowing()
        self._tunnels = TaskOwner()

    async def close(self) -> None:
        """End what is still passed on."""
        await self._tunnels.close()

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        """Answer a request by a worker's answer. Raises Problem where no worker answers."""
        body = await request.read()
        is_socket = request.headers.get(hdrs.UPGRADE, "").lower() == "websocket"
        route = route_of(
            request.method,
            request.path,
            request.query,
            key_of(request),
            body=body if needs_body(request.method, request.path) else b"",
            last_event=request.headers.get("Last-Event-ID", ""),
            is_socket=is_socket,
        )
        answer = await self._asked(request, route, self.headers(request, is_socket=is_socket), body)
        if answer.status == 101:
            return await tunnel.carry(request, answer, self._tunnels, self._members.vanishing(answer.address))
        try:
            if await self._is_guessing(request, answer):
                return _slowed().response()
            return await _relayed(request, answer)
        finally:
            await answer.close()

    async def every(
        self, request: web.Request, members: Sequence[Member], accept: str = ""
    ) -> dict[int, tuple[UpstreamAnswer, bytes]]:
        """The answers of several workers to the same request, with their bodies, by the workers' numbers. The first is asked
        alone: a client whose key it refuses is refused once. A worker that does not answer is left out. `accept` takes the
        place of what the client accepts. Raises Problem where none answers."""
        body, headers = await request.read(), self.headers(request)
        if accept:
            headers = [*((name, value) for name, value in headers if name.lower() != "accept"), (hdrs.ACCEPT, accept)]
        found: dict[int, tuple[UpstreamAnswer, bytes]] = {}

        async def answer_of(member: Member) -> None:
            try:
                answer = await ask(member.address, request.method, request.raw_path, headers, body)
                try:
                    found[member.number] = answer, await answer.body(4 * MAX_WHOLE_BYTES)
                finally:
                    await answer.close()
            except UpstreamError as error:
                log.warning("worker %d did not answer %s: %s", member.number, request.path, error)

        rest = list(members)
        while rest and not found:
            await answer_of(rest.pop(0))
        if not found:
            raise no_worker()
        first, _ = next(iter(found.values()))
        if await self._is_guessing(request, first):
            raise _slowed()
        if first.status < 300:
            await asyncio.gather(*map(answer_of, rest))
        return dict(sorted(found.items()))

    def headers(self, request: web.Request, *, is_socket: bool = False) -> Headers:
        """The headers of a request as its worker gets them: with the client's address, without those of the connection."""
        own = [(PEER_HEADER, request.remote or "")]
        if self._key:
            own.append((KEY_HEADER, self._key))
        own += [(hdrs.CONNECTION, "Upgrade"), (hdrs.UPGRADE, "websocket")] if is_socket else [(hdrs.CONNECTION, "close")]
        given = ((name.decode(), value.decode("utf-8", "surrogateescape")) for name, value in request.raw_headers)
        return [*((name, value) for name, value in given if name.lower() not in _OF_THE_HOP | _OURS), *own]

    async def _asked(self, request: web.Request, route: Route, headers: Headers, body: bytes) -> UpstreamAnswer:
        """The answer of the first worker that has one to give; that of the last one where none has."""
        refused: UpstreamAnswer | None = None
        for member in self._candidates(route):
            if refused is not None and not _has_room(route, member):
                continue
            if route.kind in (RouteKind.NEW, RouteKind.HASHED):
                self._placed.add(member.number, asyncio.get_running_loop().time())
            try:
                answer = await ask(member.address, request.method, request.raw_path, headers, body)
                if not await _is_passed_over(route, answer):
                    return answer
                refused = answer
            except NoConnectionError as error:
                log.warning("worker %d is gone: %s", member.number, error)
                self._members.lost(member)
            except UpstreamError as error:
                log.warning("worker %d broke off: %s", member.number, error)
                if route.kind in _OF_A_WORKER:
                    raise Problem(503, "worker_lost", WORKER_LOST, retry_after_s=RETRY_AFTER_S) from error
        if refused is None:
            raise no_worker()
        return refused

    def _candidates(self, route: Route) -> list[Member]:
        """The workers to be asked, one after the other."""
        living = self._members.living()
        placed = self._placed.counts(asyncio.get_running_loop().time())
        if route.kind is RouteKind.FIRST:
            return list(living[:1])
        if route.kind is RouteKind.HASHED:
            return by_hash(living, route.key)
        others = by_load(living, placed, self._region)
        if route.kind in _OF_A_WORKER:
            owner = [member for member in living if member.number == route.number and member.has_calls]
            return owner + [member for member in others if member not in owner]
        return others

    async def _is_guessing(self, request: web.Request, answer: UpstreamAnswer) -> bool:
        """A refusal of a key or a webhook, by whichever worker, is counted by the client's address, and slowed. Returns True if
        the client is to come back later."""
        refused = answer.status == 401 or (answer.status in (403, 409) and request.path.startswith("/telephony/"))
        return refused and not await self._slowing.refused(peer_of((request.remote or "",)))


def no_worker() -> Problem:
    """No worker answers."""
    return Problem(
        503, "not_ready", "No worker of this server answers at the moment; try again soon.", retry_after_s=RETRY_AFTER_S
    )


def _slowed() -> Problem:
    message = "Too many requests with a wrong key; send `Authorization: Bearer KEY` with a key of this server."
    return Problem(429, "too_many_wrong_keys", message, retry_after_s=round(PAUSE_S))


_OF_A_WORKER = (RouteKind.OWNER, RouteKind.RESUMED)
_PASSED_OVER = {RouteKind.SEARCH: 404, RouteKind.RESUMED: 401, RouteKind.NEW: 503, RouteKind.HASHED: 503}
"""The status with which a worker says that another one may know or do more."""


def _has_room(route: Route, member: Member) -> bool:
    """Returns whether another worker is asked after one has refused."""
    if route.kind is RouteKind.RESUMED:
        return member.has_calls
    return route.kind is RouteKind.SEARCH or (member.takes_calls and load(member) < 1.0)


async def _is_passed_over(route: Route, answer: UpstreamAnswer) -> bool:
    """Returns whether another worker may have a better answer. Raises UpstreamError."""
    if answer.status != _PASSED_OVER.get(route.kind):
        return False
    body = await answer.body(MAX_PROBLEM_BYTES)
    await answer.close()
    return answer.status != 503 or _code(body) in NO_PLACE


def _code(body: bytes) -> str:
    try:
        return msgspec.json.decode(body, type=_Refusal).error.code
    except ValueError:
        return ""


class _RefusalError(msgspec.Struct, frozen=True):
    code: str = ""


class _Refusal(msgspec.Struct, frozen=True):
    error: _RefusalError = _RefusalError()


async def _relayed(request: web.Request, answer: UpstreamAnswer) -> web.StreamResponse:
    """The answer, on its way to the client."""
    headers = [(name, value) for name, value in answer.headers if name.lower() not in _OF_THE_HOP]
    length = answer.length
    if not answer.has_body or (length is not None and length <= MAX_WHOLE_BYTES):
        try:
            body = await answer.body(MAX_WHOLE_BYTES)
        except UpstreamError as error:
            raise Problem(503, "worker_lost", WORKER_LOST, retry_after_s=RETRY_AFTER_S) from error
        if not answer.has_body and length is not None:
            headers.append((hdrs.CONTENT_LENGTH, str(length)))
        return web.Response(status=answer.status, reason=answer.reason, headers=headers, body=body)
    response = web.StreamResponse(status=answer.status, reason=answer.reason, headers=headers)
    response.content_length = length
    await response.prepare(request)
    try:
        async for piece in answer.pieces():
            async with asyncio.timeout(READ_TIMEOUT_S):
                await response.write(piece)
        async with asyncio.timeout(READ_TIMEOUT_S):
            await response.write_eof()
    except UpstreamError as error:
        log.warning("an answer to %s broke off: %s", request.path, error)
        if request.transport is not None:  # the end of a body must not follow
            request.transport.close()
    except TimeoutError:
        log.info("a client does not read its answer to %s", request.path)
        if request.transport is not None:
            request.transport.abort()
    return response
